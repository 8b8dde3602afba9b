"""The private names of Stable-Baselines3, which Loquent uses in this module alone.

The library offers them to its subclasses, without public names. They exist in stable-baselines3 >= 2.9, < 3,
the bounds in pyproject.toml, and were checked with 2.9.2. `tests/test_private_names.py` fails when one of
them changes. A `model` is a `BaseAlgorithm` of the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

COUNTERS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num", "exploration_rate")


def counters_of(model: Any) -> list[str]:
    """The names of the counters that a model has."""
    return [name for name in COUNTERS if hasattr(model, name)]


def begin(model: Any, steps: int) -> Any:
    """Prepare a model for `steps` further actions, without a reset of its counters; returns its callback."""
    _, callback = model._setup_learn(steps, reset_num_timesteps=False)
    return callback


def set_observations(model: Any, observations: NDArray[Any]) -> None:
    """Set the observations from which the next collection starts."""
    model._last_obs = observations


def observations(model: Any) -> NDArray[Any]:
    """The observations from which the next action is chosen."""
    current: NDArray[Any] = model._last_obs
    return current


def episode_starts(model: Any) -> NDArray[np.bool_] | None:
    """Whether each game is at its first observation; None before the first collection."""
    starts: NDArray[np.bool_] | None = model._last_episode_starts
    return starts


def set_episode_starts(model: Any, starts: NDArray[np.bool_]) -> None:
    """Set whether each game is at its first observation."""
    model._last_episode_starts = starts


def update_progress(model: Any) -> None:
    """Tell the schedules of a model which share of all actions remains."""
    model._update_current_progress_remaining(model.num_timesteps, model._total_timesteps)


def update_learning_rate(model: Any) -> None:
    """Set the optimizer's learning rate by its schedule."""
    model._update_learning_rate(model.policy.optimizer)


def count_updates(model: Any, number: int) -> None:
    """Add `number` to the counter of updates."""
    model._n_updates += number


def normalizer(model: Any) -> Any:
    """The environment that normalizes what the replay buffer returns, or None."""
    return model._vec_normalize_env
