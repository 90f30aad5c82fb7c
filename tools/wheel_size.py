#!/usr/bin/env python3
"""Checks that the one wheel in a folder is at most 8 MB, and prints its path's size."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT_MB = 8.0


def main(folder: str) -> int:
    wheels = list(Path(folder).glob("*.whl"))
    if len(wheels) != 1:
        print(f"wheel_size: expected one wheel in {folder}, found {len(wheels)}")
        return 1
    size = wheels[0].stat().st_size / 1e6
    print(f"{wheels[0].name}: {size:.2f} MB (limit {LIMIT_MB:g} MB)")
    return 1 if size > LIMIT_MB else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
