"""Benchmarks of an iteration of PPO and NLPO at the size of a real model, with the peak of memory on a GPU.

The models have random weights in the shape of GPT-2 small or T5-base. The references are those of `learning`,
which make an iteration of PPO: a mask would only slow them down.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import learning
import measuring
import torch
import workloads
from references.learner import Settings
from references.modern_pair_loop import ModernPairLoop
from references.old_way import MINIBATCH, OldWay

from loquent.algorithms.policy_gradient import nlpo

STEPS = 2  # of the old way's learning steps that a round times


def iteration(
    rounds: int,
    *,
    size: str = "gpt2",
    shape: str = "gpt2",
    algorithm: str = "ppo",
    device: str = "cpu",
    dtype: str = "float32",
) -> dict[str, Any]:
    """Ours against RL4LMs' way (GPT-2), or against a plain modern loop (T5): prompt 64, 48 new tokens."""
    wide, episodes = (8, 4) if size == "quick" else (64, 32)
    settings = Settings(new=6 if size == "quick" else 48)
    ours = learning.Ours(size, wide, settings, episodes, device=device, shape=shape)
    if algorithm == "nlpo":
        ours.ppo = _masked(ours, settings)
    prompts = torch.tensor(workloads.prompts(size, episodes, wide), device=device)
    kind = OldWay if shape == "gpt2" else ModernPairLoop
    small = learning.Ours(size, wide, settings, 2, device=device, shape=shape)
    other = kind(workloads.network(size, shape, device=device), small.actor.critic.head, settings)
    checked = learning.agreement(small, other, wide + (shape == "t5"))
    if shape == "t5":  # a source ends with the token that begins a causal model's prompt
        prompts = prompts.roll(-1, 1)
    other = kind(copy.deepcopy(ours.actor.policy), ours.actor.critic.head, settings)
    if isinstance(other, OldWay):
        theirs, rest = _timed_learning(other, prompts, settings, episodes)
    else:
        theirs, rest = (lambda: other.learn(other.collect(prompts, learning.reward))), None
    with measuring.mixed(device, dtype):
        sides = measuring.alternate(ours.update, theirs, rounds)
        spent = None if rest is None else rest(rounds)
        peaks = {
            "peak_megabytes": _peak(ours.update, device),
            "reference_peak_megabytes": _peak(theirs, device),
        }
    if spent is not None:
        sides.reference = [
            tuple(a + b for a, b in zip(*pair, strict=True))
            for pair in zip(sides.reference, spent, strict=True)
        ]
    found = {"checked": checked, **measuring.summary(sides, episodes * settings.new, "tokens")}
    return {**found, "algorithm": algorithm, **({} if None in peaks.values() else peaks)}


def _masked(ours: learning.Ours, settings: Settings) -> nlpo.NLPO:
    names = ("epochs", "gamma", "lam", "clip", "value_coefficient", "beta", "learning_rate", "max_grad_norm")
    given = {name: getattr(settings, name) for name in names}
    config = nlpo.Config(minibatch=16, token_budget=2048, top_p=0.9, mu=5, **given)
    return nlpo.NLPO(config, ours.actor)


def _timed_learning(
    other: OldWay, prompts: torch.Tensor, settings: Settings, episodes: int
) -> tuple[Callable[[], None], Callable[[int], list[Any]]]:
    """An iteration with the first learning steps, and the times of the others, which all cost the same."""
    spent: list[tuple[float, float]] = []

    def theirs() -> None:
        rollout = other.collect(prompts, learning.reward)
        spent.append(measuring.timed(lambda: other.learn(rollout, STEPS)))

    def rest(rounds: int) -> list[Any]:
        share = settings.epochs * -(-episodes * settings.new // MINIBATCH) / STEPS
        return [tuple((share - 1) * seconds for seconds in during) for during in spent[-rounds:]]

    return theirs, rest


def _peak(work: Callable[[], Any], device: str) -> float | None:
    """The peak of memory in a call, in 10^6 bytes, with all that is held before it; None on a CPU."""
    if torch.device(device).type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return round(torch.cuda.max_memory_allocated() / 1e6, 1)
