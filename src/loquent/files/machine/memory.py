"""Memory use: of the process, and of the tensors that autograd saves for a backward pass."""

from __future__ import annotations

import resource
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor


def rss() -> int:
    """The resident memory of this process in bytes; its peak on systems that report only that."""
    statm = Path("/proc/self/statm")
    if statm.is_file():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> bool:
    """Start a new peak of the resident memory of this process; whether this system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_rss() -> int:
    """The largest resident memory of this process in bytes since `forget_peak`, on Linux."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def available() -> int | None:
    """The bytes of memory that new processes can use, in a container at most its own; None if unknown."""
    meminfo, group = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
    if not meminfo.is_file():
        return None
    free = _entries(meminfo)["MemAvailable:"] * 1024
    try:
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        return min(free, max(0, limit - used + _entries(group / "memory.stat")["inactive_file"]))
    except (OSError, ValueError):  # no container, or one without a limit
        return free


def bytes_of_arrays(holder: Any) -> int:
    """The bytes of the arrays that are attributes of an object; 0 for None."""
    return 0 if holder is None else sum(x.nbytes for x in vars(holder).values() if isinstance(x, np.ndarray))


def free(device: torch.device) -> int | None:
    """The bytes of memory that can be used on a device; None if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return available() if device.type == "cpu" else None


def _entries(file: Path) -> dict[str, int]:
    """The numbers of a file of the kernel whose lines are a name and a number."""
    return {line.split()[0]: int(line.split()[1]) for line in file.read_text(encoding="utf-8").splitlines()}


class Saved:
    """A context that counts the bytes that autograd saves: `live` is the current number, `peak` the largest.

    A storage that several saved tensors share counts once.

    Args:
        without: data pointers of storages that do not count, such as those of the parameters.
        vocabulary: `logits` counts the tensors of this many columns. Matrices of this many rows, which are
            gradients of an output layer, do not count.
        weights: shapes of float32 matrices. `casts` counts 16-bit tensors of these shapes, as autocast makes
            of weights: their number does not grow with the rows.
    """

    def __init__(
        self,
        without: frozenset[int] = frozenset(),
        vocabulary: int = 0,
        weights: frozenset[tuple[int, ...]] = frozenset(),
    ) -> None:
        self.without, self.live, self.peak = without, 0, 0
        self.vocabulary, self.logits = vocabulary, Saved(without) if vocabulary else self
        self.weights, self.casts = weights, Saved(without) if weights else self
        self._uses: dict[int, int] = {}
        self._hooks: Any = None

    def __enter__(self) -> Saved:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, tensor: Tensor) -> _SavedTensor:
        saved = _SavedTensor(tensor)
        if not self.vocabulary or self.vocabulary not in tensor.shape:
            cast = tensor.element_size() == 2 and {tensor.shape, tensor.shape[::-1]} & self.weights
            (self.casts if cast else self)._count(saved)
        elif tensor.shape[-1] == self.vocabulary:
            self.logits._count(saved)
        return saved

    def _count(self, saved: _SavedTensor) -> None:
        storage = saved.tensor.untyped_storage()
        pointer, size = storage.data_ptr(), storage.nbytes()
        if pointer not in self.without:
            if not self._uses.get(pointer):
                self.live += size
                self.peak = max(self.peak, self.live)
            self._uses[pointer] = self._uses.get(pointer, 0) + 1
            weakref.finalize(saved, self._release, pointer, size)

    @staticmethod
    def _unpack(saved: _SavedTensor) -> Tensor:
        return saved.tensor

    def _release(self, pointer: int, size: int) -> None:
        self._uses[pointer] -= 1
        if not self._uses[pointer]:
            self.live -= size


class _SavedTensor:
    """A saved tensor; autograd drops it when the graph is freed."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
