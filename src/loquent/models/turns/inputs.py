"""The inputs of a network: arrays by name, made of an observation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core import registry
from loquent.core.seeding import Key
from loquent.core.task import Observation, Task
from loquent.core.values import digest
from loquent.data import features
from loquent.data.features.views import BATCH, View, warm
from loquent.errors import BadSetting
from loquent.models.turns.settings import VIEWS, NetworkSettings
from loquent.models.turns.words import Pieces, Vocabulary

Arrays = dict[str, NDArray[Any]]
START = Key(0, ("inputs",))


class Inputs:
    """The function from an observation to arrays; it reads nothing else.

    The arrays: `vector` f32[size] of a featurizer's view; `rows` int[R, C] or `image` uint8[H, W, 3] of the
    task's view; `words` i64[L], or `sentence` f32[d] of a featurizer; `numbers` f32[k]. Which of them exist
    depends on the settings.

    Raises:
        BadSetting: the task has no such view, or the view has another shape than the network needs.
    """

    def __init__(self, task: Task, settings: NetworkSettings) -> None:
        self.settings = settings
        self.vocabulary: Vocabulary | Pieces | None = None
        self.vector: View | None = None
        self.space: spaces.Box | None = None
        self._see: Callable[[Observation], NDArray[Any]] | None = None
        chosen = settings.resolved_features()
        self.featurizer = features.make(chosen) if chosen else None
        if settings.network == "vector":
            self.vector = features.view(task, self.featurizer)[1]
        else:
            self.space, self._see = _view(task, settings)
            if settings.network == "vilt":
                self.vocabulary = Pieces(settings.path, settings.revision, settings.words)
            elif not self.featurizer:
                self.vocabulary = Vocabulary(self._sentences(task), settings.words)

    def __call__(self, observation: Observation) -> Arrays:
        """The arrays of an observation.

        Raises:
            BadSetting: the observation lacks a field that the settings name, or it is no number.
        """
        arrays: Arrays = {}
        if self.vector is not None:
            arrays["vector"] = self.vector(observation)
        if self._see is not None:
            arrays["rows" if self.settings.network == "objects" else "image"] = self._see(observation)
            if self.vocabulary is not None:
                arrays["words"] = self.vocabulary(self.sentence(observation))
            elif self.featurizer is not None:
                arrays["sentence"] = self.featurizer.vector(self.sentence(observation))
        if self.settings.numbers:
            arrays["numbers"] = np.array(
                [_number(observation, name) for name in self.settings.numbers], dtype=np.float32
            )
        return arrays

    def sentence(self, observation: Observation) -> str:
        """The sentence of an observation: its text, or the fields that the settings name."""
        if self.settings.blind:
            return ""
        if not self.settings.text:
            return observation.text
        return " ".join(str(_field(observation, name)) for name in self.settings.text)

    def warm(self, task: Task, rows: Sequence[Any]) -> None:
        """Encode the sentences of episodes on some rows, always in the same batches."""
        if self.vector is not None:
            warm(task, self.vector, rows, START)
        elif self.featurizer is not None:
            for start in range(0, len(rows), BATCH):
                openings = (task.start(row, START).observation for row in rows[start : start + BATCH])
                self.featurizer.warm([self.sentence(observation) for observation in openings])

    @property
    def batched(self) -> bool:
        """Whether sentences are encoded by a network, which is faster and repeatable in fixed batches."""
        featurizer = self.vector.featurizer if self.vector else self.featurizer
        return featurizer is not None and featurizer.batched

    @property
    def identity(self) -> str:
        """An id of what the network reads, equal in every process."""
        own = {name: getattr(self.settings, name) for name in ("network", "view", "text", "numbers", "blind")}
        return digest(
            {
                **own,
                "space": str(self.space),
                "size": self.vector.size if self.vector else 0,
                "features": self.featurizer.identity if self.featurizer else "",
                "words": self.vocabulary.identity if self.vocabulary else "",
            }
        )

    def _sentences(self, task: Task) -> set[str]:
        return {self.sentence(task.start(row, START).observation) for row in task.rows("train")}


def _view(task: Task, settings: NetworkSettings) -> tuple[spaces.Box, Callable[[Observation], NDArray[Any]]]:
    """The space and the function of the view that the network reads."""
    name = settings.view or VIEWS[settings.network]
    if name not in task.views or name == "ansi":
        known = ", ".join(view for view in task.views if view != "ansi") or "none"
        raise BadSetting(
            f"network = {settings.network!r} reads the view {name!r}, which {task.identity} does not have; "
            f"its views: {known}; choose one with algorithm.view, or another network"
        )
    space, see = registry.import_name(task.views[name])(task)
    wanted = 2 if settings.network == "objects" else 3
    parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}
    boxes = {part: box for part, box in parts.items() if isinstance(box, spaces.Box)}
    fitting = [part for part, box in boxes.items() if len(box.shape) == wanted]
    if len(fitting) != 1:
        what = "one array of rows [R, C]" if wanted == 2 else "one image [H, W, 3]"
        raise BadSetting(
            f"the view {name!r} of {task.identity} gives {space}; network = {settings.network!r} needs {what}"
        )
    [part] = fitting
    return boxes[part], see if not part else lambda observation: see(observation)[part]


def _field(observation: Observation, name: str) -> Any:
    if name not in observation.fields:
        raise BadSetting(
            f"an observation has no field {name!r}; its fields: {', '.join(observation.fields) or 'none'}"
        )
    return observation.fields[name]


def _number(observation: Observation, name: str) -> float:
    value = _field(observation, name)
    if not isinstance(value, int | float):
        raise BadSetting(f"the field {name!r} is {value!r:.80}; algorithm.numbers needs numbers or booleans")
    return float(value)
