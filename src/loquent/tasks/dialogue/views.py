"""The view of an observation as a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

from loquent.core.task import Observation, Task
from loquent.data.features.spaces import AnyText, check_lengths
from loquent.tasks.dialogue.game.rules import TURNS

LONGEST_TEXT = 1 << 20  # characters


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict": `caption`, `history` (a question and its answer a line, oldest first), `left`."""
    texts = {name: AnyText(LONGEST_TEXT) for name in ("caption", "history")}
    return spaces.Dict({**texts, "left": spaces.Discrete(TURNS + 1)}), dictionary


def dictionary(observation: Observation) -> dict[str, Any]:
    """An element of the view "dict"; BadRow where a text is too long for its space."""
    fields = observation.fields
    history = "\n".join(f"{asked} {answer}" for asked, answer in fields["history"])
    view = {"caption": fields["caption"], "history": history}
    check_lengths("a text", view.values(), LONGEST_TEXT)
    return {**view, "left": fields["left"]}
