"""Agents that were trained on recorded dialogues: an answerer, and a judge with a guesser of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Question
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.tasks.dialogue.players.seats import Player
from loquent.tasks.dialogue.players.truthful import Judge, JudgeOptions
from loquent.tasks.dialogue.state import State
from loquent.tasks.dialogue.task import ANSWERER, JUDGE


@dataclass(frozen=True, kw_only=True)
class AnswererOptions:
    """The options of dialogue/answerer."""

    path: str = setting(why="the folder that learned.training.train_answerer wrote", file=True)


@dataclass(frozen=True, kw_only=True)
class LearnedJudgeOptions(JudgeOptions):
    """The options of dialogue/judge."""

    path: str = setting(why="the folder that learned.training.train_guesser wrote", file=True)

    def __post_init__(self) -> None:
        check_ranges(self)


class Answerer(Player):
    """Writes the answer that a trained network finds most likely, token by token."""

    Options: ClassVar[type] = AnswererOptions
    kind, seats, reads_row = "dialogue/answerer", (ANSWERER,), False

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        from loquent.tasks.dialogue.learned.seats import TrainedAnswerer

        self.trained = TrainedAnswerer.load(Path(self.options.path).expanduser())

    def text(self, question: Question, state: State) -> str:
        """The most likely answer."""
        assert question.row is not None
        image = self.task.image(question.row)
        _check_width(self.trained.network.sizes.image, len(image), self.name)
        return self.trained.answer(state.caption, state.history, state.question, image)


class LearnedJudge(Judge):
    """Ranks the image by the guess of a trained network."""

    Options: ClassVar[type] = LearnedJudgeOptions
    kind, seats = "dialogue/judge", (JUDGE,)

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        from loquent.tasks.dialogue.learned.seats import TrainedGuesser

        self.trained = TrainedGuesser.load(Path(self.options.path).expanduser())

    def measure(self, caption: str, history: Sequence[tuple[str, str]], image: NDArray[np.floating]) -> float:
        """The percentile or the closeness of the guess; BadSetting for an image of another width."""
        _check_width(self.trained.network.sizes.image, len(image), self.name)
        return super().measure(caption, history, image)

    def guess(self, caption: str, history: Sequence[tuple[str, str]]) -> NDArray[np.floating]:
        """f32[width]: the network's prediction."""
        return self.trained.guess(caption, history)


def _check_width(trained: int, width: int, name: str) -> None:
    if trained != width:
        raise BadSetting(
            f"{name}: its network knows images of {trained} numbers, and those of this task have {width}; "
            "train it on images of the same width"
        )
