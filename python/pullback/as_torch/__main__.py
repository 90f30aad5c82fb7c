"""`python -m pullback.as_torch program.py arguments`: see `pullback.as_torch`."""

import os
import runpy
import sys
from multiprocessing import forkserver

from . import install

_USAGE = "usage: python -m pullback.as_torch (program.py | -m module | -c code) [argument ...]"


def main(args: list[str]) -> None:
    if not args or args[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stdout if args else sys.stderr)
        raise SystemExit(0 if args else 2)
    if args[0] in ("-m", "-c") and len(args) < 2:
        print(_USAGE, file=sys.stderr)
        raise SystemExit(2)
    install()
    # What the server has loaded, its processes need not load again.
    forkserver.set_forkserver_preload(["pullback.as_torch._preloaded"])
    if args[0] == "-m":
        sys.argv = args[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    elif args[0] == "-c":
        sys.argv = ["-c", *args[2:]]
        sys.path.insert(0, "")
        exec(compile(args[1], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = args
        sys.path.insert(0, os.path.dirname(os.path.abspath(args[0])))
        runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
