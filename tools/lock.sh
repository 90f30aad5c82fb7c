#!/bin/sh
# Writes requirements/*.txt from requirements/*.in: exact versions for every supported Python and platform.
set -eu
cd "$(dirname "$0")/../requirements"
export UV_CUSTOM_COMPILE_COMMAND="make lock"
compile() {
    uv pip compile --quiet --universal --python-version 3.10 --annotation-style line \
        --no-emit-index-url --no-emit-find-links "$@"
}
compile dev.in -o dev.txt
for set in build demo peers; do
    compile "$set.in" -c dev.txt -o "$set.txt"
done
