"""Several processes that learn one run together: each computes the gradient of some rows, and all take the
same step.

They are started by `torchrun`, or by any other way of making a process group. Everything else stays as it is
in one process: all draw the same rows, the first alone writes and evaluates. Without a group every function
here is that of one process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as group
from torch import Tensor

PATIENCE = timedelta(days=1)  # the others wait while the first evaluates


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """In the group that `torchrun` announces in the environment.

    Nothing where there is none, or where it has been joined already.

    Args:
        device: where the model will live. On CUDA without a number, each process of a machine takes a GPU of
            its own.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or group.is_initialized():
        yield
        return
    chosen = backend(device)
    if chosen == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    group.init_process_group(chosen, timeout=PATIENCE)
    try:
        yield
    finally:
        group.destroy_process_group()


def backend(device: torch.device) -> str:
    """What processes add their numbers with: NCCL where each has a GPU of its own.

    It takes no two on one, and nothing on the CPU.
    """
    return "nccl" if device.type == "cuda" and device.index is None else "gloo"


def size() -> int:
    """How many processes learn together."""
    return group.get_world_size() if group.is_available() and group.is_initialized() else 1


def rank() -> int:
    """The number of this one, from 0."""
    return group.get_rank() if size() > 1 else 0


def own_rows(rows: Tensor) -> Tensor:
    """The rows of a minibatch that are this process's: every n-th."""
    return rows[rank() :: size()]


def from_first(number: int) -> int:
    """What the first process says."""
    if size() == 1:
        return number
    said = _on_device(torch.tensor([number]))
    group.broadcast(said, 0)
    return int(said)


def sum_all(numbers: Tensor) -> Tensor:
    """Their sums over all processes."""
    if size() == 1:
        return numbers
    total = _on_device(numbers.clone())
    group.all_reduce(total)
    return total.to(numbers.device)


def add_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Give every parameter the sum of its gradients in all processes; one that has none in any keeps none."""
    if size() == 1:
        return
    every = list(parameters)
    has = sum_all(
        torch.tensor([parameter.grad is not None for parameter in every], dtype=torch.int32)
    ).tolist()
    for parameter in (one for one, count in zip(every, has, strict=True) if count):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad.copy_(sum_all(parameter.grad))


def _on_device(numbers: Tensor) -> Tensor:
    return numbers.cuda() if group.get_backend() == "nccl" else numbers.cpu()
