"""The process that runs a part of Loquent on untrusted input, with limited time and memory, without files.

It runs as a script with the path of another file as its argument. It imports that file. For each JSON line
{"seconds", "bytes", "job"} it writes a line, the JSON object that the file's `answer(job)` returns, or
{"error": ...} if memory does not suffice.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from typing import Any


def limit(seconds: int, memory: int) -> None:
    """Limit the processor time and memory of this process and forbid files, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: only the parent's clock ends this process
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    total_seconds = int(used.ru_utime + used.ru_stime) + 1 + seconds
    for kind, maximum in (
        (resource.RLIMIT_CPU, total_seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        if kind != resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY:
            hard = maximum
        limits = (maximum if hard == resource.RLIM_INFINITY else min(maximum, hard), hard)
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit on address space
            resource.setrlimit(kind, limits)


def import_file(file: str) -> Any:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location("worker", file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    answer = import_file(sys.argv[1]).answer
    for line in sys.stdin:
        order = json.loads(line)
        limit(order["seconds"], order["bytes"])
        try:
            result = answer(order["job"])
        except MemoryError:
            result = {"error": f"it needs more than {order['bytes'] >> 20:,} MiB of memory"}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
    os._exit(0)  # freeing what was built takes time
