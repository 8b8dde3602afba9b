"""A slice of a run: a few rows collected and learned from, with the times and the memory they took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from loquent.files.machine.memory import Saved
from loquent.models.score import tokens as score
from loquent.pretrained.footprint import products
from loquent.training.estimates.estimate import Measurable


@dataclass(frozen=True)
class Slice:
    """A few rows collected and learned from: their times, and the bytes saved for the backward pass."""

    rows: int
    seconds: float
    phases: Mapping[str, float]
    """Seconds of "collect", "score" and "learn"."""
    saved: int
    """The most bytes saved at one time, in one micro-batch, without logits."""
    logits_saved: int
    """The most bytes of logits that are saved at one time, in one micro-batch or in one chunk of it."""
    casts: int
    """The most bytes of weights in another type that are saved at one time."""
    tokens: int
    """The padded tokens of the largest micro-batch."""
    actions: int
    """The action tokens of the whole slice."""
    width: int
    places: int
    """The tokens of the prepared batch with padding; a learner may leave out episodes."""
    batch_bytes: int


def measure(trainer: Measurable, rows: int, *, counting: bool) -> Slice:
    """Collect and learn from a number of rows.

    Args:
        trainer: of the recipe, with one epoch.
        rows: the episodes to collect; more, if `training.answers` asks for more on one row.
        counting: count the bytes saved for the backward pass. Counting takes time, so the times of a slice
            are only valid without it.
    """
    experience = trainer.experience
    rows = whole(rows, experience.settings.answers)
    experience.settings = replace(experience.settings, episodes=rows)
    parameters = frozenset(
        p.untyped_storage().data_ptr() for network in networks(trainer).values() for p in network.parameters()
    )
    weights = frozenset(
        tuple(p.shape)
        for network in networks(trainer).values()
        for p in network.parameters()
        if p.dim() > 1 and p.element_size() > 2
    )
    saved, phases = Saved(parameters, vocabulary_of(trainer), weights), {}
    phases["collect"], (batch, _) = time_call(experience.next)
    phases["score"] = experience.seconds.get("score", 0.0)
    phases["collect"] -= phases["score"]
    with saved if counting else nullcontext(), products(trainer.actor.policy, learns=True):
        phases["learn"], _ = time_call(lambda: trainer.algorithm.update(trainer.actor, batch))
    budget = trainer.recipe.config.token_budget
    micro_batches = score.micro_batches(batch, budget)
    support_bytes = batch.support.nbytes if batch.support else 0
    return Slice(
        rows=rows,
        seconds=sum(phases.values()),
        phases=phases,
        saved=saved.peak,
        logits_saved=saved.logits.peak,
        casts=saved.casts.peak if weights else 0,
        tokens=max(len(indices) * int(batch.real[indices].sum(1).max()) for indices in micro_batches),
        actions=int(batch.is_action.sum()),
        width=batch.tokens.shape[1],
        places=batch.tokens.numel(),
        batch_bytes=bytes_of(value for value in vars(batch).values() if isinstance(value, Tensor))
        + support_bytes,
    )


def whole(episodes: int, answers: int) -> int:
    """The least multiple of `answers` that is at least `episodes`."""
    return -(-episodes // answers) * answers


def vocabulary_of(trainer: Measurable) -> int:
    """The ids of the policy."""
    return int(trainer.actor.policy.get_input_embeddings().weight.shape[0])


def networks(trainer: Measurable) -> dict[str, nn.Module]:
    """Every network by role: those of the actor, and those that the algorithm keeps."""
    actor = trainer.actor
    roles = {"policy": actor.policy, "critic": actor.critic, "reference": actor.reference}
    parts = {id(part) for network in roles.values() if network is not None for part in network.modules()}
    others = {
        name: value
        for name, value in vars(trainer.algorithm).items()
        if isinstance(value, nn.Module) and id(value) not in parts and value is not actor
    }
    roles |= {"mask" if name == "masking_policy" else name: value for name, value in others.items()}
    return {name: network for name, network in roles.items() if network is not None}


def tensors(network: nn.Module) -> Iterable[Tensor]:
    """The parameters and buffers of a network."""
    return [*network.parameters(), *network.buffers()]


def unique(items: Iterable[Any]) -> list[Any]:
    """The items without repetitions of the same object."""
    return list({id(item): item for item in items}.values())


def bytes_of(items: Iterable[Tensor]) -> int:
    """The bytes of tensors; memory that several tensors share counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in items}.values())


def tree(value: Any) -> Iterable[Tensor]:
    """All tensors in a tree of mappings and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tree(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tree(item)


def time_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call took, with the work of the device, and its result."""
    before = time.perf_counter()
    result = call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - before, result
