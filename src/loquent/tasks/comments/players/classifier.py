"""A moderator or a voter by a classifier from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.agent import Question
from loquent.core.settings import setting
from loquent.core.task import Task
from loquent.core.values import EMPTY, Record
from loquent.metrics.judges import folders
from loquent.tasks.comments.players.seats import Player, comments_of
from loquent.tasks.comments.players.votes import Opinion, label_of, vote_of
from loquent.tasks.comments.task import MODERATOR, VOTER


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions:
    """The options of comments/classifier."""

    path: str = setting(
        why="a folder that learned.linear or learned.transformer wrote, or of a Hugging Face classifier",
        file=True,
    )
    labels: Record = setting(
        EMPTY, "seat moderator: 0, 1 or 2 by the name of each label; empty: the names are these numbers"
    )
    positive: str = setting("1", "seat voter: the label whose probability above 0.5 is an upvote")


class Classifying(Player):
    """Judges by the probabilities of a classifier."""

    Options: ClassVar[type] = ClassifierOptions
    kind, seats = "comments/classifier", (MODERATOR, VOTER)

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        self.classifier = folders.load(self.options.path)
        place = f"{self.name}: {self.options.path}"
        self._label = label_of(self.options.labels, place, self.classifier.independent)
        self._vote = vote_of(self.options.positive, place)

    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """Labels or votes; BadSetting where the labels of the classifier do not fit."""
        of = self._label if seat == MODERATOR else self._vote
        names = self.classifier.labels
        return [
            of(Opinion(dict(zip(names, row, strict=True))))
            for row in self.classifier(comments_of(asked)).tolist()
        ]
