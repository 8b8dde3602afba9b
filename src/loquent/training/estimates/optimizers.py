"""The bytes and the seconds of an optimizer's step, measured on few numbers, for a dry run without steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from loquent.pretrained.learning.optimization import exact_copies, make_optimizer, take_step
from loquent.training.estimates.slices import time_call

NUMBERS = 1 << 18  # of a measured step


class OptimizerNeeds(NamedTuple):
    """What learning keeps beside parameters and gradients, and the time of one step.

    `state` has the bytes of the optimizer, which checkpoints keep, and `copies` those of an update.
    """

    state: int
    copies: int
    seconds: float


def probe(algorithm: Any, policy: nn.Module) -> OptimizerNeeds:
    """The needs of an algorithm's steps, from steps on few numbers of each type and device."""
    learned = list(algorithm.parameters.values())
    kinds: Counter[tuple[torch.dtype, torch.device]] = Counter()
    for parameter in learned:
        kinds[parameter.dtype, parameter.device] += parameter.numel()
    copies = algorithm.working_copies * sum(p.nbytes for p in policy.parameters() if p.requires_grad)
    size, seconds = 0, 0.0
    for (dtype, device), count in kinds.items() if algorithm.gradient is not None else ():
        parameter = nn.Parameter(torch.zeros(NUMBERS, dtype=dtype, device=device))
        optimizer = make_optimizer({"probe": parameter}, algorithm.config)
        parameter.grad = torch.ones_like(parameter)
        take_step(optimizer)  # the first step makes the state
        seconds += time_call(partial(take_step, optimizer))[0] * count / NUMBERS
        state = [part for entry in optimizer.state.values() for part in entry.values()]
        kept = [part for part in (*state, *exact_copies(optimizer).values()) if isinstance(part, Tensor)]
        size += sum(part.nbytes for part in kept if part.numel() == NUMBERS) * count // NUMBERS
    return OptimizerNeeds(size, copies, seconds)


@contextmanager
def without_steps(algorithm: Any) -> Iterator[None]:
    """Inside, the optimizer makes no step: no weight changes, and no state is allocated."""
    if algorithm.gradient is None:
        yield
        return
    algorithm.gradient.changes_parameters = False
    try:
        yield
    finally:
        algorithm.gradient.changes_parameters = True
