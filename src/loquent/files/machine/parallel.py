"""Data-parallel training of one run in several processes.

Each process computes the gradient of its rows of a minibatch, and all take the same gradient step. The
processes are started by `torchrun`, or by another program that creates a process group. All processes draw
the same rows and play the episodes together. The first one writes the files and orders the others what to
do. Without a process group each function works for a single process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as group
from torch import Tensor

from loquent.core.guards import json_files
from loquent.errors import LostProcess
from loquent.files.machine.launch import start_count
from loquent.files.machine.watch import Watch, connect

_watches: list[Watch] = []  # one, inside a process group that began here


@contextmanager
def process_group(device: torch.device, patience: float) -> Iterator[None]:
    """A context inside the process group that `torchrun` announces by environment variables.

    Without such a group, or when it is already initialized, the context does nothing.

    Args:
        device: the device of the model. On "cuda" without an index, each process takes its own GPU.
        patience: the most seconds that a process waits for the others.

    Raises:
        LostProcess: another process has ended, or did not come within the patience.
    """
    if start_count() < 2 or group.is_initialized():
        yield
        return
    name = backend(device)
    if name == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    limit = timedelta(seconds=patience)
    try:
        group.init_process_group(name, timeout=limit)
        watch = Watch(connect(limit), group.get_rank(), group.get_world_size(), limit)
    except (RuntimeError, ValueError, KeyError) as error:
        what = f"WORLD_SIZE = {start_count()}, but so many processes did not meet within {patience:g} s"
        raise LostProcess(f"{what} (parallel.patience); start them with torchrun: {error}") from error
    _watches.append(watch)
    try:
        with watch.watching():
            yield
    finally:
        _watches.remove(watch)
        group.destroy_process_group()


def order(what: str, **details: Any) -> None:
    """Tell the other processes what to do together with the first one, which calls this."""
    if size() > 1:
        _from_first(json.dumps({"what": what, **details}).encode())


def next_order() -> dict[str, Any]:
    """What the first process orders, in another process."""
    given: dict[str, Any] = json_files.loads(_from_first(b""))
    return given


def backend(device: torch.device) -> str:
    """The backend of the process group: NCCL when each process has its own GPU, otherwise Gloo.

    NCCL allows neither two processes on one GPU nor tensors on the CPU.
    """
    return "nccl" if device.type == "cuda" and device.index is None else "gloo"


def size() -> int:
    """The number of processes that train together."""
    return group.get_world_size() if group.is_available() and group.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return group.get_rank() if size() > 1 else 0


def own_rows(rows: Tensor) -> Tensor:
    """The rows of a minibatch that belong to this process: every n-th row."""
    return rows[rank() :: size()]


def own(minibatch: Any) -> Any:
    """The part of a minibatch that belongs to this process: every n-th element of a list, or every n-th unit.

    A minibatch that is no list has a length and `take`. Its `unit`, i64[N], says which rows stay together; by
    default each row is a unit.
    """
    if size() == 1:
        return minibatch
    if isinstance(minibatch, list):
        return minibatch[rank() :: size()]
    unit = getattr(minibatch, "unit", None)
    units = range(len(minibatch)) if unit is None else unit.tolist()
    places = {each: place for place, each in enumerate(dict.fromkeys(units))}
    mine = [row for row, each in enumerate(units) if places[each] % size() == rank()]
    return minibatch.take(torch.tensor(mine, dtype=torch.int64))


def gather(content: bytes) -> list[bytes]:
    """The contents of all processes, in the order of their numbers."""
    if size() == 1:
        return [content]
    lengths = torch.zeros(size(), dtype=torch.int64)
    lengths[rank()] = len(content)
    lengths = sum_all(lengths)
    padded = torch.zeros(int(lengths.max()), dtype=torch.uint8)
    padded[: len(content)] = torch.from_numpy(np.frombuffer(content, np.uint8).copy())
    padded = _on_device(padded)
    parts = [torch.empty_like(padded) for _ in range(size())]
    _meet(lambda: group.all_gather(parts, padded))
    return [
        part[:length].cpu().numpy().tobytes() for part, length in zip(parts, lengths.tolist(), strict=True)
    ]


def total(number: float) -> float:
    """The sum of a number over all processes."""
    return float(sum_all(torch.tensor(number, dtype=torch.float64)))


def sum_all(numbers: Tensor) -> Tensor:
    """The sums of the numbers over all processes."""
    return _reduce(numbers, "SUM")


def greatest_of_all(numbers: Tensor) -> Tensor:
    """The greatest of each number over all processes."""
    return _reduce(numbers, "MAX")


def all_names(names: Iterable[str]) -> list[str]:
    """The names that any process has, sorted: the same list in every process.

    A name has no line break.
    """
    if size() == 1:
        return sorted(names)
    own = torch.tensor(list("\n".join(["", *names]).encode()), dtype=torch.int32)
    length = int(greatest_of_all(torch.tensor(len(own))))
    table = torch.zeros(size(), length, dtype=torch.int32)
    table[rank(), : len(own)] = own
    lines = sum_all(table).to(torch.uint8).numpy().tobytes().decode().replace("\0", "").split("\n")
    return sorted({*lines} - {""})


def add_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Give every parameter the sum of its gradients over all processes.

    A parameter without a gradient in any process keeps none.
    """
    if size() == 1:
        return
    every = list(parameters)
    has_gradient = torch.tensor([parameter.grad is not None for parameter in every], dtype=torch.int32)
    counts = sum_all(has_gradient).tolist()
    for parameter in (parameter for parameter, count in zip(every, counts, strict=True) if count):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad.copy_(sum_all(parameter.grad))


def _reduce(numbers: Tensor, operation: str) -> Tensor:
    if size() == 1:
        return numbers
    total = _on_device(numbers.clone())
    _meet(lambda: group.all_reduce(total, getattr(group.ReduceOp, operation)))
    return total.to(numbers.device)


def _from_first(content: bytes) -> bytes:
    """The content that the first process has, in every process."""
    length = _on_device(torch.tensor([len(content)]))
    _meet(lambda: group.broadcast(length, 0))
    received = torch.zeros(int(length), dtype=torch.uint8)
    if rank() == 0:
        received = torch.from_numpy(np.frombuffer(content, np.uint8).copy())
    received = _on_device(received)
    _meet(lambda: group.broadcast(received, 0))
    return received.cpu().numpy().tobytes()


def _meet(call: Callable[[], object]) -> None:
    """Call a function of the group, which waits for the other processes."""
    _watches[0].meet(call) if _watches else call()


def _on_device(numbers: Tensor) -> Tensor:
    return numbers.cuda() if group.get_backend() == "nccl" else numbers.cpu()
