"""The estimate for a learner of actions: its arrays are counted, and two short updates are measured."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from loquent.machine.memory import rss
from loquent.models.asking.actor import AskingActor
from loquent.recipes import Recipe
from loquent.training.trainer import Trainer

EVALUATED = 64  # episodes


def estimate_fields(recipe: Recipe, checkpoints: int, at_most: int) -> dict[str, Any]:
    """The fields of an `Estimate`.

    The estimate itself takes seconds, and the memory of the network and its replay.

    Args:
        recipe: of an algorithm that collects its own episodes.
        checkpoints: the number of checkpoints at the end.
        at_most: the largest number of checkpoints at one time.
    """
    settings, config = recipe.training, recipe.config
    trainer, seconds = _measured(recipe)
    asking = isinstance(trainer.actor, AskingActor)
    model = None if asking else trainer.actor.model  # of Stable-Baselines3
    policy = trainer.actor.policy if model is None else model.policy
    weights = sum(tensor.nbytes for tensor in policy.state_dict().values())
    replays = [getattr(model, "replay_buffer", None)] if model is not None else trainer.algorithm.arrays()
    memory = {
        "runtime": rss(),
        "weights": weights,
        "gradients": weights,
        "optimizer": 2 * weights,
        "replay": sum(map(_arrays, replays)),
        "collection": _arrays(getattr(model, "rollout_buffer", None)),
    }
    checkpoint = 3 * weights + memory["replay"]
    return {
        "parameters": {"network": sum(p.numel() for p in policy.parameters())},
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
            "actions": config.steps,
            "updates": settings.updates,
            "games": config.games,
            "width": trainer.actor.inputs.width
            if model is None
            else int(np.prod(model.observation_space.shape)),
            "seeds": 1,
            "rows": len(trainer.rows),
        },
        "device": str(trainer.actor.device),
    }


def _measured(recipe: Recipe) -> tuple[Trainer, dict[str, float]]:
    """A trainer with the shortest updates, and the seconds of the whole run by part."""
    settings, short = recipe.training, recipe.config.shortest()
    before = time.perf_counter()
    trainer = Trainer(replace(recipe, config=short))
    start = time.perf_counter() - before
    trainer.update()  # the first call of every operation takes longer
    before = time.perf_counter()
    trainer.update()
    action = (time.perf_counter() - before) / short.steps
    before = time.perf_counter()
    episodes = min(EVALUATED, settings.final_episodes)
    trainer.evaluate(settings.final_split, episodes)
    evaluation = (time.perf_counter() - before) / episodes
    in_training = settings.evaluations * settings.evaluate_episodes
    return trainer, {
        "start": start,
        "play": action * recipe.config.steps * settings.updates,
        "evaluate": evaluation * (in_training + settings.final_episodes),
    }


def _arrays(buffer: Any) -> int:
    """The bytes of the arrays of a replay or a collection, when it is full."""
    if buffer is None:
        return 0
    return sum(value.nbytes for value in vars(buffer).values() if isinstance(value, np.ndarray))
