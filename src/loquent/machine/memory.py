"""What a piece of work holds in memory: the process, and what autograd saves for a backward pass."""

from __future__ import annotations

import resource
import sys
import weakref
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def rss() -> int:
    """The resident memory of this process now, in bytes; its peak where the system does not say."""
    statm = Path("/proc/self/statm")
    if statm.is_file():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Saved:
    """A context that counts the bytes saved for backward passes: `live` now, `peak` at most.

    Storages in `without` (the parameters', which are there anyway) do not count, and a storage that several
    saved tensors share counts once.
    """

    def __init__(self, without: frozenset[int] = frozenset()) -> None:
        self.without, self.live, self.peak = without, 0, 0
        self._held: dict[int, int] = {}
        self._hooks: Any = None

    def __enter__(self) -> Saved:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, tensor: Tensor) -> _Held:
        storage = tensor.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        held = _Held(tensor)
        if place not in self.without:
            if not self._held.get(place):
                self.live += size
                self.peak = max(self.peak, self.live)
            self._held[place] = self._held.get(place, 0) + 1
            weakref.finalize(held, self._release, place, size)
        return held

    @staticmethod
    def _unpack(held: _Held) -> Tensor:
        return held.tensor

    def _release(self, place: int, size: int) -> None:
        self._held[place] -= 1
        if not self._held[place]:
            self.live -= size


class _Held:
    """A saved tensor; autograd lets go of it when its graph is freed."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
