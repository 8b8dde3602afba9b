"""The estimate for a learner of turns: two updates of a few episodes are measured."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch

from loquent.machine.memory import rss
from loquent.recipes import Recipe
from loquent.training.trainer import Trainer

FEW = 32  # episodes of a measured update
EVALUATED = 64  # episodes


def estimate_fields(recipe: Recipe, checkpoints: int, at_most: int) -> dict[str, Any]:
    """The fields of an `Estimate`; the arguments are those of `estimate.actions`.

    The estimate itself takes seconds, and the memory of the network and of a few episodes.
    """
    settings = recipe.training
    few = min(FEW, settings.episodes)
    before = time.perf_counter()
    trainer = Trainer(replace(recipe, training=replace(settings, episodes=few)))
    start = time.perf_counter() - before
    trainer.update()  # the first call of every operation takes longer
    trainer.seconds = {}
    batch, _ = trainer.next()
    before = time.perf_counter()
    trainer.algorithm.update(trainer.actor, batch)
    phases = {**trainer.seconds, "learn": time.perf_counter() - before}
    before = time.perf_counter()
    evaluated = min(EVALUATED, settings.final_episodes)
    trainer.evaluate(settings.final_split, evaluated)
    evaluation = (time.perf_counter() - before) / evaluated
    share = settings.episodes / few
    seconds = {
        "start": start,
        **{name: value * share * settings.updates for name, value in phases.items()},
        "evaluate": evaluation
        * (settings.evaluations * settings.evaluate_episodes + settings.final_episodes),
    }
    weights = sum(tensor.nbytes for tensor in trainer.actor.state_dict().values())
    arrays = [*batch.features.values(), *(x for x in vars(batch).values() if isinstance(x, torch.Tensor))]
    memory = {
        "runtime": max(0, rss() - weights),
        "weights": weights,
        "gradients": weights,
        "optimizer": 2 * weights,
        "collection": int(sum(array.nbytes for array in arrays) * share),
    }
    checkpoint = 3 * weights
    return {
        "parameters": {"network": sum(p.numel() for p in trainer.actor.policy.parameters())},
        "memory": memory,
        "peak": sum(memory.values()),
        "disk": {
            "checkpoint": checkpoint,
            "reference": 0,
            "checkpoints": checkpoint * checkpoints,
            "at_most": checkpoint * at_most,
        },
        "seconds": seconds,
        "total_seconds": sum(seconds.values()),
        "sizes": {
            "actions": int(len(batch) * share),
            "updates": settings.updates,
            "games": settings.episodes,
            "width": sum(x[0].numel() for x in batch.features.values()),
            "seeds": 1,
            "rows": len(trainer.rows),
        },
        "device": str(trainer.actor.device),
    }
