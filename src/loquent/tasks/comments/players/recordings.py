"""The recorded comments with their labels and scores, in any seat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from loquent.core.agent import Question
from loquent.errors import BrokenAgent
from loquent.tasks.comments import rows
from loquent.tasks.comments.players.seats import Player, state_of
from loquent.tasks.comments.task import AGENT, MODERATOR, VOTER


class Recorded(Player):
    """Writes the comment of the row; judges a recorded comment by its own label, or by its own score.

    As a voter it gives 1 where one of the comment's scores, drawn at random, is above 0, else -1: the reward
    "upvotes real" of ILQL. It knows recorded comments only.
    """

    kind, seats = "comments/recorded", (AGENT, MODERATOR, VOTER)

    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """The recorded texts; BrokenAgent for a comment that is not recorded, or has no label or score."""
        return [getattr(self, f"_{seat}")(question) for question in asked]

    def _agent(self, question: Question) -> str:
        comment = None if question.row is None else question.row.get("comment")
        if not isinstance(comment, str):
            raise BrokenAgent(f"{question.game}: the row records no comment; choose another agent")
        return comment

    def _moderator(self, question: Question) -> str:
        return str(self._drawn(self._labels, question, "label"))

    def _voter(self, question: Question) -> str:
        return "1" if self._drawn(self._scores, question, "score") > 0 else "-1"

    def _drawn(self, known: dict[str, list[Any]], question: Question, name: str) -> Any:
        comment = state_of(question).comment
        if comment not in known:
            raise BrokenAgent(
                f"{question.game}: no row records a {name} of the comment {comment!r:.80}; this seat judges "
                "recorded comments only; choose comments/rules, comments/classifier or comments/remote"
            )
        values = known[comment]
        return values[int(question.key.generator().integers(len(values)))]

    @cached_property
    def _labels(self) -> dict[str, list[Any]]:
        return self._by_comment("label")

    @cached_property
    def _scores(self) -> dict[str, list[Any]]:
        return self._by_comment("score")

    def _by_comment(self, name: str) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = defaultdict(list)
        for split in rows.load(self.task.options).values():
            for row in split:
                if name in row.fields:
                    found[row["comment"]].append(row[name])
        return dict(found)
