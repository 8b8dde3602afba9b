"""What `torchrun` says in environment variables about the processes that it has started."""

from __future__ import annotations

import os

from loquent.errors import BadSetting

PATIENCE = 600.0  # the most seconds that a process waits for the others


def start_count() -> int:
    """The number of processes that `torchrun` has started."""
    return _number("WORLD_SIZE", 1)


def assists() -> bool:
    """Whether `torchrun` has started this process beside the first one of a run."""
    return start_count() > 1 and _number("RANK", 0) > 0


def refuse_several(what: str) -> None:
    """Raise BadSetting if `torchrun` has started several processes for what one does."""
    if (count := start_count()) > 1:
        raise BadSetting(
            f"{what}: {count} processes train one run together; start one process, or each run for itself"
        )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "") or str(default)
    if not text.isdecimal():
        raise BadSetting(f"the environment variable {name} is {text!r:.80}, not a number; unset it")
    return int(text)
