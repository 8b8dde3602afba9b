"""A process with limits for the first use of untrusted input, such as a template or a tokenizer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files

RUNNER = Path(__file__).with_name("sandbox_worker.py")
PATIENCE = 120  # seconds of wall-clock time; generous, for a busy machine
QUIET = {"TOKENIZERS_PARALLELISM": "false", "RUST_BACKTRACE": "0", "HF_HUB_OFFLINE": "1"}


class Failed(Exception):
    """The process gave no result, with the reason.

    A failure must not be cached, because the machine may be less busy the next time.
    """


def run(worker: Path, job: Any, *, seconds: int, memory: int) -> dict[str, Any]:
    """What `answer(job)` of a worker's file returns in a process of its own, as in `Kept.ask`."""
    kept = Kept(worker, memory)
    try:
        return kept.ask(job, seconds)
    finally:
        kept.close()


class Kept:
    """A process with limits that answers many jobs, by the function `answer` of a worker's file.

    It starts with the first job, and anew after a failure. The bounds on processor time and memory are those
    of Linux; macOS does not bound memory, and Windows has only the clock.

    Args:
        memory: bytes of address space.
    """

    def __init__(self, worker: Path, memory: int) -> None:
        self._worker, self._memory = worker, memory
        self._process: subprocess.Popen[str] | None = None
        self._owner, self._lock = 0, threading.Lock()

    def ask(self, job: Any, seconds: int) -> dict[str, Any]:
        """What `answer(job)` returns.

        Args:
            job: a JSON value.
            seconds: of processor time.

        Raises:
            Failed: the process exceeded a limit or PATIENCE, ended by an error, or answered {"error": ...}.
        """
        order = json.dumps({"job": job, "seconds": seconds, "bytes": self._memory}, default=str)
        with self._lock:
            process = self._started()
            clock = threading.Timer(PATIENCE, process.kill)
            clock.start()
            try:
                line = _answered(process, order)
            finally:
                late = not clock.is_alive()
                clock.cancel()
            ended = not line.endswith("\n")
            result: dict[str, Any] = {} if ended else json_files.loads(line)
            if ended or "error" in result:  # what it holds in memory goes with it
                reason = self._reason(process, late) if ended else result["error"]
                self.close()
                raise Failed(reason)
        return result

    def close(self) -> None:
        """End the process, if this one has started it."""
        if self._process is not None:
            _end(self._process, self._owner)
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._owner != os.getpid():  # a fork has its own
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(RUNNER), str(self._worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=os.environ | QUIET,
            )
            weakref.finalize(self, _end, self._process, self._owner)
        return self._process

    def _reason(self, process: subprocess.Popen[str], late: bool) -> str:
        """Why a process gave no answer."""
        try:
            _, stderr = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            late, stderr = True, ""
        code = process.returncode
        if late:
            return f"it did not finish within {PATIENCE} s"
        if hasattr(signal, "SIGXCPU") and code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "it did not finish within its few seconds of processor time"
        if "memory allocation of" in stderr:  # how Rust ends a process
            return f"it needs more than {self._memory >> 20:,} MiB of memory"
        last = (stderr.strip().splitlines() or [""])[-1][:200]
        return f"its process ended with code {code} ({last})"


def _answered(process: subprocess.Popen[str], order: str) -> str:
    """The line that a process answers to an order; an incomplete one if it ends before."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(order + "\n")
        process.stdin.flush()
    except OSError:  # it has ended
        return ""
    return process.stdout.readline()


def _end(process: subprocess.Popen[str], owner: int) -> None:
    """End a process of this one, and wait for it."""
    if owner != os.getpid():
        return
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):  # an order that it did not read
                stream.close()
    process.wait()
