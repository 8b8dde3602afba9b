"""A suite whose runs are made in worker processes ends at once when it is stopped, and leaves no process."""

import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

LINE = ["quickstart", "--profile", "smoke", "--processes", "2", "task.limit=200", "base:training.updates=500"]


@pytest.mark.sweep("2")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_quickstart_ends_with_its_workers(tmp_path, command, stop):
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(*LINE, "--out", str(out)),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    workers = _wait(process, lambda: _importing(process.pid))
    for pid in workers:  # a terminal sends Ctrl-C to all processes; the parent alone handles it
        os.kill(pid, signal.SIGINT)
    _wait(process, (out / "base" / "config.yaml").exists)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGTERM)
    assert ("to go on, repeat the same command" in errors) == (stop == signal.SIGINT)
    assert "Traceback" not in errors
    assert "leaked" not in errors
    _wait(process, lambda: not _members(process.pid), running=False)


def _wait(process, condition, running=True):
    """What the condition gives, as soon as it holds."""
    limit = time.monotonic() + 300
    while not (result := condition()):
        assert process.poll() is None or not running, "the command has ended"
        assert time.monotonic() < limit
        time.sleep(0.05)
    return result


def _members(group):
    """The processes of a group that work, without the one that cleans up after them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, words = (folder / "stat").read_text(), (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        state, _, its_group = status.rpartition(")")[2].split()[:3]
        if int(its_group) == group and state != "Z" and b"resource_tracker" not in words:
            found.append(int(folder.name))
    return found


def _importing(parent):
    """The two workers as soon as both import, else none."""
    workers = [pid for pid in _members(parent) if pid != parent]
    ready = len(workers) == 2 and all("libtorch" in Path(f"/proc/{pid}/maps").read_text() for pid in workers)
    return workers if ready else []
