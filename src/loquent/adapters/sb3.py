"""The episodes of a table as a vector environment of Stable-Baselines3.

It starts a new episode where one has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from loquent.adapters.table import Table
from loquent.core.actions import ActionSet
from loquent.core.task import Observation
from loquent.data.features.views import View
from loquent.errors import LoquentError


class Games(VecEnv):
    """A vector environment over a table.

    The table is attached later; a policy that only acts needs the spaces alone. The info of an ended episode
    has `TimeLimit.truncated` = True where its last value is bootstrapped: in Loquent, only after "cut". Every
    info has `legal`, the legal actions after the step, as `Observation.legal` gives them.

    Args:
        places: the number of parallel episodes.
        see: the function from an observation to an array in `space`.
    """

    def __init__(
        self,
        places: int,
        space: spaces.Space[Any],
        see: Callable[[Observation], NDArray[Any]],
        actions: ActionSet,
    ) -> None:
        self.see, self.actions = see, actions
        self.table: Table | None = None
        self._chosen: NDArray[np.int64] = np.zeros(places, np.int64)
        super().__init__(places, space, spaces.Discrete(len(actions)))

    def attach(self, table: Table) -> None:
        """Use a table with the same number of parallel episodes; LoquentError for another number."""
        if table.places != self.num_envs:
            raise LoquentError(
                f"the table has {table.places} places, and the learner steps {self.num_envs}; make them equal"
            )
        self.table = table

    def reset(self) -> NDArray[Any]:
        """[places, ...]: the current observations. Episodes continue; none is restarted."""
        return np.stack([self.see(observation) for observation in self._attached.observations])

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store one action per episode."""
        self._chosen = np.asarray(actions).reshape(-1)

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, ends, and infos with the last observation of ended episodes."""
        steps = self._attached.act(self._chosen.tolist())
        infos: list[dict[str, Any]] = [
            {"legal": step.observation.legal}
            if step.last is None
            else {
                "legal": step.last.legal,
                "terminal_observation": self.see(step.last),
                "TimeLimit.truncated": step.bootstraps,
            }
            for step in steps
        ]
        observations = np.stack([self.see(step.observation) for step in steps])
        rewards = np.array([step.reward for step in steps], np.float32)
        ends = np.array([step.last is not None for step in steps])
        return observations, rewards, ends, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[places, actions]: True for legal actions."""
        return np.stack([self.actions.mask(observation.legal) for observation in self._attached.observations])

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """The method `action_masks`, which MaskablePPO calls; AttributeError for any other."""
        if method_name != "action_masks":
            raise AttributeError(method_name)
        return list(self.action_masks())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attributes `action_masks` and `render_mode` are None; AttributeError for any other."""
        if attr_name not in ("action_masks", "render_mode"):
            raise AttributeError(attr_name)
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises AttributeError: there is no attribute to set."""
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False for each episode: there are no wrappers."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Does nothing: no resource is open."""

    @property
    def _attached(self) -> Table:
        if self.table is None:
            raise LoquentError(
                "no table is attached, so there is nothing to reset or step; call attach first"
            )
        return self.table


def batch(see: Callable[[Observation], NDArray[Any]], observations: Sequence[Observation]) -> NDArray[Any]:
    """[n, ...]: observations as arrays.

    A view of vectors first encodes all their texts in one batch.
    """
    if isinstance(see, View):
        see.warm(observations)
    return np.stack([see(observation) for observation in observations])
