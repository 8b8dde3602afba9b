"""Whether the processes of a run divide what they do now. It loads no libraries, as `parallel` does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_several: list[bool] = []


@contextmanager
def dividing(several: bool) -> Iterator[None]:
    """Inside, all processes do the same, and if they are `several`, divide among them what takes long."""
    _several.append(several)
    try:
        yield
    finally:
        _several.pop()


def divides() -> bool:
    """Whether the code that runs is inside `dividing`, in several processes."""
    return any(_several)
