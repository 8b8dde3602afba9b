"""Stop forcing as a Gymnasium wrapper, for learners of other libraries (PPO+SF, arXiv:2211.01994)."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from loquent.adapters.gymnasium import Environment
from loquent.core.task import Task
from loquent.errors import BadSetting


class StopForcing(gym.Wrapper[Any, Any, Any, Any]):
    """Executes the action that ends the episode with success where the task has one (`Task.finishing`).

    For training only. `info` also has `force_stop`; after a forced stop `executed_action`, which a learner
    stores in place of its own action, with the policy's own log-probability; and after the end
    `accuracy_nosf`: 1.0 for a success without a forced stop, else 0.0.

    Raises:
        BadSetting: the environment is not one of Loquent in the index or text form, or its task does not
            define `finishing`.

    Example:
        >>> env = StopForcing(gymnasium.make("loquent/Blocks-v0"))
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        own = env.unwrapped
        if not isinstance(own, Environment) or own.form == "token":
            raise BadSetting(
                f"stop forcing needs an environment of loquent in the index or text form, got {own}"
            )
        if type(own.task).finishing is Task.finishing:
            raise BadSetting(
                f"stop forcing needs a task that defines which answer ends an episode with success; "
                f"{own.task.identity} does not; leave the wrapper out"
            )
        self._own = own

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Execute the action, or the finishing one."""
        finishing = self._own.finishing()
        forced = finishing is not None and not bool(finishing == action)
        seen, reward, terminated, truncated, info = self.env.step(finishing if forced else action)
        info["force_stop"] = forced
        if forced:
            info["executed_action"] = finishing
        if terminated or truncated:
            info["accuracy_nosf"] = float(bool(info.get("is_success")) and not forced)
        return seen, reward, terminated, truncated, info
