"""The view of an observation as a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

from loquent.core.task import Observation, Task
from loquent.data.features.spaces import AnyText, check_lengths

LONGEST_TEXT = 1 << 20  # characters


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict": the texts `parent` and `comment`."""
    return spaces.Dict({name: AnyText(LONGEST_TEXT) for name in ("parent", "comment")}), dictionary


def dictionary(observation: Observation) -> dict[str, Any]:
    """An element of the view "dict"; BadRow where a text is too long for its space."""
    view = {name: observation.fields[name] for name in ("parent", "comment")}
    check_lengths("a text", view.values(), LONGEST_TEXT)
    return view
