"""A process with limits for the first use of untrusted input, such as a template or a tokenizer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files

RUNNER = Path(__file__).with_name("limited_worker.py")
PATIENCE = 120  # seconds of wall-clock time; generous, for a busy machine
QUIET = {"TOKENIZERS_PARALLELISM": "false", "RUST_BACKTRACE": "0", "HF_HUB_OFFLINE": "1"}


class Failed(Exception):
    """The process gave no result, with the reason.

    A failure must not be cached, because the machine may be less busy the next time.
    """


def run(worker: Path, job: Any, *, seconds: int, memory: int) -> dict[str, Any]:
    """What `answer(job)` of a worker's file returns in a process of its own.

    The bounds on processor time and memory are those of Linux; macOS does not bound memory, and Windows has
    only the clock.

    Args:
        job: a JSON value.
        seconds: of processor time.
        memory: bytes of address space.

    Raises:
        Failed: the process exceeded a limit or PATIENCE, ended by an error, or answered {"error": ...}.
    """
    order = json.dumps({"job": job, "seconds": seconds, "bytes": memory}, default=str)
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(RUNNER), str(worker)],
            input=order + "\n",
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            encoding="utf-8",
            errors="replace",
            env=os.environ | QUIET,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"it did not finish within {PATIENCE} s") from None
    if hasattr(signal, "SIGXCPU") and done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Failed("it did not finish within its few seconds of processor time")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        if "memory allocation of" in done.stderr:  # how Rust ends a process
            raise Failed(f"it needs more than {memory >> 20:,} MiB of memory")
        raise Failed(f"its process ended with code {done.returncode} ({last})")
    result: dict[str, Any] = json_files.loads(done.stdout)
    if "error" in result:
        raise Failed(result["error"])
    return result
