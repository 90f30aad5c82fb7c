"""Processes that `spawn` begins."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pullback import multiprocessing as mp


def write(k: int, folder: str) -> None:
    (Path(folder) / str(k)).write_text(str(k * k))


def fail(k: int) -> None:
    if k == 1:
        raise ValueError("this one failed")


def stop(k: int, how: int) -> None:
    if how < 0:
        os.kill(os.getpid(), -how)
    raise SystemExit(how)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_spawn(tmp_path: Path, method: str) -> None:
    mp.start_processes(write, (str(tmp_path),), nprocs=2, start_method=method)
    assert sorted(p.read_text() for p in tmp_path.iterdir()) == ["0", "1"]
    context = mp.start_processes(write, (str(tmp_path),), nprocs=3, join=False, start_method=method)
    assert len(context.pids()) == 3
    while not context.join():
        pass
    assert (tmp_path / "2").read_text() == "4"


def test_failures_have_the_text_of_the_process() -> None:
    with pytest.raises(mp.ProcessRaisedException, match=r"(?s)-- Process 1 terminated with.*this one failed") as found:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert found.value.error_index == 1 and found.value.error_pid is not None
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as exited:
        mp.start_processes(stop, (3,), start_method="fork")
    assert exited.value.exit_code == 3
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as killed:
        mp.start_processes(stop, (-signal.SIGKILL,), start_method="fork")
    assert killed.value.signal_name == "SIGKILL"


def test_strategies() -> None:
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="'file_descriptor' or 'file_system' is expected, got 'x'"):
        mp.set_sharing_strategy("x")
