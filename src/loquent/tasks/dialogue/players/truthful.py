"""The answerer and the judge of the built-in world, who know its scenes and its language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Question
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.tasks.dialogue.game import ranking
from loquent.tasks.dialogue.game.options import BUILTIN
from loquent.tasks.dialogue.players.seats import Player, require_no_cutoff
from loquent.tasks.dialogue.scenes import questions, scene
from loquent.tasks.dialogue.sources import builtin
from loquent.tasks.dialogue.state import JUDGING, State
from loquent.tasks.dialogue.task import ANSWERER, JUDGE

PERCENTILE, DISTANCE = "percentile", "distance"


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The options of every judge."""

    measure: str = setting(
        PERCENTILE,
        "percentile: the rank of the image; distance: minus the squared error of the guess",
        source="§5.3",
        choices=(PERCENTILE, DISTANCE),
    )
    pool: str = setting(
        "validation",
        "the file whose images the image is ranked among",
        choices=("train", "validation", "test"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)


class Truthful(Player):
    """Answers each question about a built-in scene truthfully; "i can't tell" to any other text."""

    kind, seats = "dialogue/truthful", (ANSWERER,)

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        _require_scenes(self)

    def text(self, question: Question, state: State) -> str:
        """The truthful answer; BadSetting for an image that is not a built-in scene."""
        if question.row is None or "subject" not in question.row:
            raise BadSetting(
                f"{self.name}: this image is none of the built-in scenes; choose another answerer"
            )
        return questions.answer(state.question, builtin.scene_of(question.row))


class Judge(Player):
    """The judge's numbers: the measure before the first question, and its change with each answer.

    A subclass defines `guess`.
    """

    Options: ClassVar[type] = JudgeOptions
    seats = (JUDGE,)

    def text(self, question: Question, state: State) -> str:
        """The number as a text that keeps every digit."""
        assert question.row is not None
        if self.options.measure == DISTANCE:
            require_no_cutoff(self, "measure = 'distance'")
        image = self.task.image(question.row)
        now = self.measure(state.caption, state.history, image)
        return repr(now - state.initial - sum(state.progress) if state.stage == JUDGING else now)

    def measure(self, caption: str, history: Sequence[tuple[str, str]], image: NDArray[np.floating]) -> float:
        """The percentile or the closeness of the guess after a history; raises as `ranking`."""
        guess = self.guess(caption, history)
        if self.options.measure == DISTANCE:
            return ranking.closeness(guess, image)
        return self.task.pool(self.options.pool).percentile(guess, image)

    def guess(self, caption: str, history: Sequence[tuple[str, str]]) -> NDArray[np.floating]:
        """f[width]: the guessed features of the image."""
        raise NotImplementedError


class Guesser(Judge):
    """Knows how built-in scenes are made: its guess is their mean, given the caption and the answers."""

    kind = "dialogue/guesser"

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        _require_scenes(self)

    def guess(self, caption: str, history: Sequence[tuple[str, str]]) -> NDArray[np.floating]:
        """f64[64]: the mean features of the scenes that fit; zeros for a caption of another world."""
        stated = questions.captions().get(questions.normalise(caption))
        if stated is None:
            return np.zeros(scene.WIDTH)
        subject, number, value = stated
        beliefs = np.full((scene.PROPERTIES, scene.VALUES), 1.0 / scene.VALUES)
        beliefs[number] = np.eye(scene.VALUES)[value]
        for asked, answer in history:
            _learn(beliefs, subject, asked, answer)
        return scene.features(subject, beliefs)


def _learn(beliefs: NDArray[np.float64], subject: str, asked: str, answer: str) -> None:
    """Restrict the beliefs by an answer, unless it contradicts all that is left."""
    meaning = questions.parse(asked, subject)
    if meaning is None:
        return
    fits = np.ones(scene.VALUES)
    line = questions.normalise(answer)
    if meaning.value is None:
        named = questions.value_in(answer, subject, meaning.number)
        fits = fits if named is None else np.eye(scene.VALUES)[named]
    elif line == questions.YES:
        fits = np.eye(scene.VALUES)[meaning.value]
    elif line == questions.NO:
        fits = 1.0 - np.eye(scene.VALUES)[meaning.value]
    left = beliefs[meaning.number] * fits
    if left.sum() > 0:
        beliefs[meaning.number] = left / left.sum()


def _require_scenes(player: Player) -> None:
    if player.task.options.source != BUILTIN:
        raise BadSetting(
            f"{player.name} knows the built-in scenes only, and the task has source = "
            f"{player.task.options.source!r}; set task.answerer and task.judge to dialogue/recorded, "
            "dialogue/remote, dialogue/answerer or dialogue/judge"
        )
