"""The dictionary `info` that an environment returns with each observation."""

from __future__ import annotations

from typing import Any

import numpy as np

from loquent.core.actions import MASK_LIMIT
from loquent.core.live import Live
from loquent.core.task import CUT, Task
from loquent.core.values import Record
from loquent.errors import LoquentError

SHOWN_LEGAL = 256  # `info` lists the legal texts of tasks with at most this number of actions


class InfoBuilder:
    """Builds `info` for one task; the keys are described in `gymnasium.Environment`.

    Args:
        masked: whether to add `action_mask`, as in the index form.
    """

    def __init__(self, task: Task, masked: bool) -> None:
        self._task, self._masked = task, masked
        constant = self._constants()
        self._legal, self._mask = constant.get("legal"), constant.get("action_mask")

    def build(self, game: Live, ended: str | None, rewards: Record, text: str | None) -> dict[str, Any]:
        """The info of the current step.

        Args:
            ended: the rule that ended the episode.
            rewards: the rewards of the step.
            text: the text of the answer; None if none was completed.
        """
        step = game.step
        observation = step.observation
        info: dict[str, Any] = {
            "ended": ended,
            "bootstrap": ended is None or ended == CUT,
            "rewards": dict(rewards),
            "turn": step.turn,
            "row": game.row.id,
            "split": game.split,
            "number": game.number,
            "seat": observation.seat,
            "observation": observation,
        }
        if text is not None:
            info["text"] = text
        if step.turn == 0 and (instruction := self._task.instruction(game.row, observation.seat)):
            info["instruction"] = instruction
        if observation.legal is not None:
            self._add_choices(info, observation.legal)
        else:
            if self._legal is not None:
                info["legal"] = self._legal
            if self._mask is not None:
                info["action_mask"] = self._mask.copy()
        if ended is not None and self._task.spec.success:
            info["is_success"] = self._task.is_success(ended)
        if own := self._task.info(step.state, ended):
            info.update(own)
        return info

    def _constants(self) -> dict[str, Any]:
        """`legal` and `action_mask` of a task whose actions are all legal at every step; else empty."""
        info: dict[str, Any] = {}
        try:
            self._add_choices(info, None)
        except LoquentError:
            return {}
        return info

    def _add_choices(self, info: dict[str, Any], legal: Any) -> None:
        """Add `legal` and `action_mask`."""
        actions = self._task.actions
        if actions is None:
            return
        size = len(actions)
        if size <= SHOWN_LEGAL:
            info["legal"] = actions.legal_texts(legal)
        if self._masked and size <= MASK_LIMIT:
            info["action_mask"] = actions.mask(legal).view(np.int8)
