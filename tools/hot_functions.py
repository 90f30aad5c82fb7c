#!/usr/bin/env python3
"""Writes `crates/python/link/hot.ld`, which lets the linker put together what small operators and transforms run.

    python tools/hot_functions.py PACKAGE [--only PATTERN,…] [--out FILE]

PACKAGE is a folder with an unpacked wheel that was built with symbols (CARGO_PROFILE_RELEASE_STRIP=none). The rows of
the benchmark run in it under `valgrind --tool=callgrind`, and functions are taken in order of instructions per byte
until together they have run most of them. Before them come those that an import runs: scattered, each would bring 64 KB
of the file into memory. Names stand without the hash that the compiler gives them, so that the list
outlives changes of the code and of the compiler; a name that is gone matches nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = (
    "add8,chain20,fill,grad,jvp,vjp,vmap,vmap_grad,jvp_vmap,hessian10,jacrev,jacfwd,backward20,dual20,"
    "function*,grad_functions,*functions*,numpy_*"
)
# The part of the instructions that the functions run together.
MOST = 0.85
# Bytes of all functions of one name above which an import's use of one is no reason to take them.
LARGE = 32_000
# How a line of costs begins: with a line of source, or how far it is from the one before.
POSITIONS = tuple("0123456789+-*")
HASH = re.compile(r"17h[0-9a-f]{16}E.*$")


def pattern(symbol: str) -> str:
    """A symbol without its hash, for the linker to match."""
    return HASH.sub("17h*", symbol)


def instructions(profile: Iterable[str]) -> Counter[str]:
    """How many instructions each function of a callgrind profile ran itself."""
    count: Counter[str] = Counter()
    function, called = "", False
    for line in profile:
        if line.startswith("fn="):
            function = line[3:].rstrip("\n").split("'")[0]
        elif line.startswith("calls="):
            called = True
        elif line[:1] in POSITIONS:
            # The line behind a call counts what the called function ran.
            if not called:
                count[pattern(function)] += int(line.split()[1])
            called = False
    return count


def sizes(symbols: Iterable[str]) -> Counter[str]:
    """Bytes of the functions that `nm -S` lists, by pattern."""
    count: Counter[str] = Counter()
    for line in symbols:
        parts = line.split()
        if len(parts) == 4 and parts[2] in "tTwW" and HASH.search(parts[3]):
            count[pattern(parts[3])] += int(parts[1], 16)
    return count


def chosen(run: Counter[str], size: Counter[str]) -> list[str]:
    """The functions with the most instructions per byte that ran `MOST` of all."""
    known = sorted((name for name in run if size[name]), key=lambda name: -run[name] / size[name])
    left = MOST * sum(run[name] for name in known)
    out = []
    for name in known:
        if left <= 0:
            break
        out.append(name)
        left -= run[name]
    return out


def started(run: Counter[str], size: Counter[str]) -> list[str]:
    """The functions that an import runs, the longest first."""
    return sorted((name for name in run if 0 < size[name] <= LARGE), key=lambda name: -size[name])


def script(names: list[str]) -> str:
    lines = [
        "/* Made by tools/hot_functions.py: functions that small operators and transforms run. */",
        "SECTIONS",
        "{",
        "  .text.hot :",
        "  {",
        *(f"    *(.text.{name})" for name in names),
        "  }",
        "}",
        "INSERT BEFORE .text;",
    ]
    return "\n".join(lines) + "\n"


def measured(package: Path, program: list[str]) -> Counter[str]:
    """The instructions of a Python program that uses the package."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        tool = ["valgrind", "--tool=callgrind", "--demangle=no", "--compress-strings=no"]
        environment = {**os.environ, "PYTHONPATH": str(package.resolve())}
        command = [*tool, f"--callgrind-out-file={profile}", sys.executable, *program]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        with profile.open() as lines:
            return instructions(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("--only", default=ROWS, help="rows of the benchmark to run")
    parser.add_argument("--out", type=Path, default=ROOT / "crates" / "python" / "link" / "hot.ld")
    args = parser.parse_args()
    libraries = list((args.package / "pullback").glob("_core*.so"))
    if len(libraries) != 1:
        print(f"hot_functions: expected one extension module in {args.package / 'pullback'}, found {len(libraries)}")
        return 1
    listed = subprocess.run(["nm", "-S", str(libraries[0])], check=True, capture_output=True, text=True).stdout
    size = sizes(listed.splitlines())
    if not size:
        print(f"hot_functions: {libraries[0]} has no symbols; build with CARGO_PROFILE_RELEASE_STRIP=none")
        return 1
    start = started(measured(args.package, ["-c", "import pullback"]), size)
    rows = [str(ROOT / "benches" / "rows.py"), "--only", args.only, "--rounds", "1"]
    hot = chosen(measured(args.package, rows), size)
    names = start + [name for name in hot if name not in set(start)]
    args.out.write_text(script(names))
    print(f"{args.out}: {len(names)} functions, {sum(size[name] for name in names):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
