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
from loquent.metrics.judges import layers
from loquent.metrics.judges.layers import Network
from loquent.tasks.dialogue.learned import texts, training
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
    """Gives the answer that a trained network finds most likely."""

    Options: ClassVar[type] = AnswererOptions
    kind, seats, reads_row = "dialogue/answerer", (ANSWERER,), False

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        folder = Path(self.options.path).expanduser()
        self.network, note = layers.load(folder, ANSWERER)
        answers = note.get("answers")
        if not isinstance(answers, list) or not all(isinstance(text, str) for text in answers):
            raise BadSetting(f"{folder}: its answers are {answers!r:.80}; {layers.ADVICE}")
        if len(answers) != self.network.shape[1]:
            problem = f"{len(answers)} answers and {self.network.shape[1]} outputs of its network"
            raise BadSetting(f"{folder}: it has {problem}; {layers.ADVICE}")
        self.answers: list[str] = answers

    def text(self, question: Question, state: State) -> str:
        """The most likely answer."""
        assert question.row is not None
        inputs = texts.question_features(state.question, state.caption, self.task.image(question.row))
        _check_width(self.network, len(inputs), self.name)
        return self.answers[training.answer_number(self.network, inputs)]


class LearnedJudge(Judge):
    """Ranks the image by the guess of a trained network."""

    Options: ClassVar[type] = LearnedJudgeOptions
    kind, seats = "dialogue/judge", (JUDGE,)

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        self.network, _ = layers.load(Path(self.options.path).expanduser(), JUDGE)

    def guess(self, caption: str, history: Sequence[tuple[str, str]]) -> NDArray[np.floating]:
        """f32[width]: the network's prediction."""
        inputs = texts.history_features(caption, history)
        _check_width(self.network, len(inputs), self.name)
        return self.network(inputs[None])[0]


def _check_width(trained: Network, width: int, name: str) -> None:
    if trained.shape[0] != width:
        raise BadSetting(
            f"{name}: its network reads {trained.shape[0]} numbers, and this task gives {width}; train it on "
            "images of the same width"
        )
