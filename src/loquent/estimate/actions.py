"""The estimate of a learner of actions: its network and its memories are counted, and a first collection is
played and learned from.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from loquent.machine.memory import rss
from loquent.recipes import Recipe
from loquent.training.trainer import Trainer

EVALUATED = 64  # games


def measured(recipe: Recipe, kept: int, at_most: int) -> dict[str, Any]:
    """The fields of an `Estimate`, for so many checkpoints.

    Takes the memory of the network and its replay, and seconds.
    """
    config = recipe.config
    small = config.shortest()
    before = time.perf_counter()
    trainer = Trainer(replace(recipe, config=small))
    start = time.perf_counter() - before
    model = trainer.actor.model
    trainer.update()  # the first time everything takes longer
    before = time.perf_counter()
    trainer.update()
    action = (time.perf_counter() - before) / small.steps
    before = time.perf_counter()
    games = min(EVALUATED, recipe.training.final_episodes)
    trainer.evaluate(recipe.training.final_split, games)
    evaluation = (time.perf_counter() - before) / games
    weights = sum(tensor.nbytes for tensor in model.policy.state_dict().values())
    memory = {
        "runtime": rss(),
        "weights": weights,
        "gradients": weights,
        "optimizer": 2 * weights,
        "replay": _arrays(getattr(model, "replay_buffer", None)),
        "collection": _arrays(getattr(model, "rollout_buffer", None)),
    }
    settings = recipe.training
    watched = settings.evaluations * settings.evaluate_episodes
    seconds = {
        "start": start,
        "play": action * config.steps * settings.updates,
        "evaluate": evaluation * (watched + settings.final_episodes),
    }
    each = 3 * weights + memory["replay"]
    return {
        "parameters": {"network": sum(p.numel() for p in model.policy.parameters())},
        "memory": memory,
        "peak": sum(memory.values()),
        "disk": {"checkpoint": each, "reference": 0, "checkpoints": each * kept, "at_most": each * at_most},
        "seconds": seconds,
        "total_seconds": sum(seconds.values()),
        "sizes": {
            "actions": config.steps,
            "updates": settings.updates,
            "games": config.games,
            "width": int(np.prod(model.observation_space.shape)),
            "seeds": 1,
        },
        "device": str(trainer.actor.device),
    }


def _arrays(buffer: Any) -> int:
    """Bytes of the arrays of a replay or a collection, when it is full."""
    return (
        sum(value.nbytes for value in vars(buffer).values() if isinstance(value, np.ndarray))
        if buffer is not None
        else 0
    )
