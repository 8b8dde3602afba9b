"""Estimates for learners that choose among actions: two short updates are measured, and scaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from loquent.files.machine.memory import rss
from loquent.training.estimates.estimate import Estimate, Measurable, checkpoints, free
from loquent.training.estimates.slices import time_call
from loquent.training.recipes import Recipe

FEW = 32  # episodes of a measured update
EVALUATED = 64  # episodes


def of_played(recipe: Recipe, build: Callable[[Recipe], Any], *, rounds: bool = False) -> Estimate:
    """The estimate for a learner of batches of turns.

    The estimate itself takes seconds, and the memory of the network and of a few episodes.

    Args:
        rounds: whether an update learns from the turns of all updates so far, which it keeps.
    """
    settings = recipe.training
    few = min(FEW, settings.episodes)
    start, trainer = time_call(lambda: build(replace(recipe, training=replace(settings, episodes=few))))
    trainer.update()  # the first call of every operation takes longer
    experience = trainer.experience
    batch, _ = experience.next()
    experience.learn(batch)
    share = settings.episodes / few
    seconds = {"start": start, **_of_updates(recipe, experience.seconds, share)}
    if rounds:  # two updates were measured, and update i learns from i times the turns of one
        seconds["learn"] *= (settings.last_update + 1) / 4
    arrays = [*batch.features.values(), *(x for x in vars(batch).values() if isinstance(x, torch.Tensor))]
    size = int(share * (batch.nbytes if rounds else sum(array.nbytes for array in arrays)))
    return _estimate(
        recipe,
        trainer,
        trainer.actor.policy,
        seconds=seconds,
        kept={"replay": size * settings.last_update} if rounds else {"collection": size},
        sizes={
            "actions": int(len(batch) * share),
            "games": settings.episodes,
            "width": sum(x[0].numel() for x in batch.features.values()),
        },
    )


def of_live(recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
    """The estimate for a learner that steps its episodes itself.

    The estimate itself takes seconds, and the memory of the network and its replay.
    """
    config = recipe.config
    short = config.shortest()
    start, trainer = time_call(lambda: build(replace(recipe, config=short)))
    trainer.update()  # the first call of every operation takes longer
    trainer.update()
    algorithm, seconds = trainer.algorithm, trainer.experience.seconds
    return _estimate(
        recipe,
        trainer,
        algorithm.network,
        seconds={"start": start, **_of_updates(recipe, seconds, config.steps / short.steps)},
        kept=algorithm.buffer_bytes(),
        sizes={"actions": config.steps, "games": config.games, "width": algorithm.width},
    )


def _of_updates(recipe: Recipe, phases: Mapping[str, float], share: float) -> dict[str, float]:
    """The seconds of all updates by phase; `share`: how much longer an update is than the measured one."""
    return {name: value * share * recipe.training.last_update for name, value in phases.items()}


def _estimate(
    recipe: Recipe,
    trainer: Measurable,
    network: Any,
    *,
    seconds: Mapping[str, float],
    kept: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Estimate:
    """The estimate with the parts that all learners of actions share.

    Args:
        kept: bytes of what the learner keeps beside its networks, by name.
    """
    settings = recipe.training
    evaluated = min(EVALUATED, settings.final_episodes)
    evaluation = time_call(lambda: trainer.evaluate(settings.final_split, evaluated))[0] / evaluated
    episodes = settings.evaluations * settings.evaluate_episodes + settings.final_episodes
    seconds = {**seconds, "evaluate": evaluation * episodes}
    weights = sum(tensor.nbytes for tensor in network.state_dict().values())
    memory = {
        "runtime": max(0, rss() - weights),
        "weights": weights,
        "gradients": weights,
        "optimizer": 2 * weights,
        **kept,
    }
    checkpoint = 3 * weights + kept.get("replay", 0)
    at_end, at_most = checkpoints(recipe)
    return Estimate(
        parameters={"network": sum(p.numel() for p in network.parameters())},
        memory=memory,
        peak=sum(memory.values()),
        disk={
            "checkpoint": checkpoint,
            "reference": 0,
            "checkpoints": checkpoint * at_end,
            "at_most": checkpoint * at_most,
        },
        seconds=seconds,
        total_seconds=sum(seconds.values()),
        sizes={
            **sizes,
            "updates": settings.last_update,
            "seeds": 1,
            "rows": len(trainer.experience.rows),
        },
        device=str(trainer.actor.device),
        free=free(trainer.actor.device),
    )
