"""`chunk_size` keeps memory small: the promise for which it was made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, json, sys
from pathlib import Path
import pullback as pb
from pullback.func import jacfwd, jacrev, vmap

WIDE = 1 << 17
w = pb.ones(WIDE)

def f(x):
    return (w * x.sum()).cos()[:64] + x  # half a megabyte for each member

def peak(call):
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    resident = lambda key: next(
        int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key)
    ) / 1024
    before = resident("VmRSS:")
    out = call()
    return resident("VmHWM:") - before, out

x = pb.ones(64)
rows = pb.ones(64, 64)
calls = {
    "vmap": lambda size: vmap(f, chunk_size=size)(rows),
    "jacrev": lambda size: jacrev(f, chunk_size=size)(x),
    "jacfwd": lambda size: jacfwd(f, chunk_size=size)(x),
}
call = calls[sys.argv[1]]
call(1)
small, a = peak(lambda: call(2))
large, b = peak(lambda: call(None))
print(json.dumps([small, large, float((a - b).abs().max())]))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no peak of memory that can be set back")
@pytest.mark.parametrize("name", ["vmap", "jacrev", "jacfwd"])
def test_chunks_need_less_memory(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True)
    small, large, difference = json.loads(done.stdout)
    assert difference == 0
    assert large > 25 and small < large / 4, f"{small:.1f} MB in chunks of 2, {large:.1f} MB at once"
