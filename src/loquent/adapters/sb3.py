"""The games of a table as Stable-Baselines3 wants them: a vector environment with arrays, and its own reset after an end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from loquent.actions import ActionSet
from loquent.adapters.table import Table
from loquent.errors import LoquentError
from loquent.task import Observation


class Games(VecEnv):
    """A vector environment over a table that is brought later; until then it has spaces alone, which is enough to act.

    An ended game says `TimeLimit.truncated` where a value is bootstrapped behind it: by Loquent's rule, only after "cut".

    Args:
        places: how many games there will be.
        see: from an observation to an array of `space`.
    """

    def __init__(self, places: int, space: spaces.Space[Any], see: Callable[[Observation], NDArray[Any]], actions: ActionSet) -> None:
        self.see, self.actions = see, actions
        self.table: Table | None = None
        self._chosen: NDArray[np.int64] = np.zeros(places, np.int64)
        super().__init__(places, space, spaces.Discrete(len(actions)))

    def sit(self, table: Table) -> None:
        """Play at a table with as many games."""
        if table.places != self.num_envs:
            raise LoquentError(f"the table has {table.places} games, and the learner steps {self.num_envs}")
        self.table = table

    def reset(self) -> NDArray[Any]:
        """[places, ...]: what the games show. They go on where they stand: none is begun again."""
        return np.stack([self.see(observation) for observation in self._seated.observations])

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take one action for each game."""
        self._chosen = np.asarray(actions).reshape(-1)

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, ends, and for ended games the last observation."""
        moved = self._seated.act(self._chosen.tolist())
        told: list[dict[str, Any]] = [
            {} if one.last is None else {"terminal_observation": self.see(one.last), "TimeLimit.truncated": one.bootstraps} for one in moved
        ]
        seen = np.stack([self.see(one.observation) for one in moved])
        return seen, np.array([one.reward for one in moved], np.float32), np.array([one.last is not None for one in moved]), told

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[places, actions]: which actions are legal now."""
        return np.stack([self.actions.mask(observation.legal) for observation in self._seated.observations])

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """MaskablePPO asks for `action_masks`; the games have no other method."""
        if method_name != "action_masks":
            raise AttributeError(method_name)
        return list(self.action_masks())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The games have no attribute but `action_masks` and `render_mode`."""
        if attr_name not in ("action_masks", "render_mode"):
            raise AttributeError(attr_name)
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: games have nothing to set."""
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Games have no wrappers."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _seated(self) -> Table:
        if self.table is None:
            raise LoquentError("no table has been brought: these games can be neither reset nor stepped")
        return self.table


def batch(see: Callable[[Observation], NDArray[Any]], observations: Sequence[Observation]) -> NDArray[Any]:
    """[n, ...]: the pictures of some observations; a view that can encodes their texts together."""
    if hasattr(see, "warm"):
        see.warm(observations)
    return np.stack([see(observation) for observation in observations])
