#!/bin/sh
# Prints a Python interpreter that can build and run pullback: $PYTHON, or the first of the usual names.
set -eu
fits='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$python" -c "$fits" >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "pullback: install Python 3.10 or later with its venv module (or set PYTHON to one)" >&2
exit 1
