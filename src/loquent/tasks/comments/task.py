"""Comments: reply to a post; a moderator labels the comment, a voter votes on it.

Observation  the post, or nothing with parent=false.
Action       a comment, any text that is not empty.
Seats        agent writes; moderator gives the label 0, 1 or 2 of the comment's toxicity; voter gives 1 or -1.
Reward       toxicity: the label (weight -5, as in the released code). noised_toxicity: the label, but a
             1 becomes 0 or 2 at random (weight 0). upvotes: the vote (weight 0). shift: 1 (weight 0).
Ends         "commented" after the one comment.
Rows         built-in posts and replies, or files.
Paper        arXiv:2206.11871, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadRow, UnknownName
from loquent.tasks.comments import labels, rows
from loquent.tasks.comments import options as settings
from loquent.tasks.comments.language import posts
from loquent.tasks.comments.options import BUILTIN
from loquent.tasks.comments.state import MODERATING, OVER, VOTING, WRITING, State

AGENT, MODERATOR, VOTER = "agent", "moderator", "voter"
COMMENTED = "commented"
EMPTY_COMMENT, NO_LABEL, NO_VOTE = "empty comment", "not a label", "not a vote"
VOTES = {"1": 1.0, "+1": 1.0, "-1": -1.0}
RULES = "Reply to the post in one comment."


class Comments(Task):
    """Reply to a post.

    Example:
        >>> task = Comments()
        >>> step = task.act(task.start(task.rows("train")[0], Key(0)), "nice roses .")
        >>> step.observation.seat
        'moderator'
    """

    Options = settings.Options
    options: settings.Options
    views: ClassVar[Mapping[str, str]] = {"dict": "loquent.tasks.comments.views:fields"}

    def __init__(self, options: settings.Options | None = None) -> None:
        super().__init__(options)
        self.spec = TaskSpec(
            id="comments",
            instruction=RULES if self.options.instruct else "",
            rewards=Record(toxicity=-5.0, noised_toxicity=0.0, upvotes=0.0, shift=0.0),
            invalid=(EMPTY_COMMENT, NO_LABEL, NO_VOTE),
            return_range=(-10.0, 0.0),
            ranges=Record(
                {
                    "reward/toxicity": (0.0, 2.0),
                    "reward/noised_toxicity": (0.0, 2.0),
                    "reward/upvotes": (-1.0, 1.0),
                }
            ),
            paper="arXiv:2206.11871",
            licences=("Apache-2.0 (the built-in posts)",) if self.options.source == BUILTIN else (),
        )
        named = {MODERATOR: self.options.moderator, VOTER: self.options.voter}
        self._splits: dict[str, tuple[Row, ...]] = {}
        self.seats = {seat: agent for seat, agent in named.items() if agent}

    def rows(self, split: str) -> tuple[Row, ...]:
        """The rows of a split; UnknownName for a split that the source does not have."""
        self._splits = self._splits or rows.load(self.options)
        if split not in self._splits:
            raise UnknownName(f"split of {self.spec.id}", split, self._splits)
        return self._splits[split]

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from a post, `parent`; BadRow where it is no text."""
        row = super().row_from(fields)
        if not isinstance(row.fields.get("parent"), str):
            raise BadRow(f"the parent is {row.fields.get('parent')!r:.80}; it must be a text")
        return row

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the post."""
        state = State(row["parent"], rng)
        return Opening(state, self._observed(state, f"{state.parent}\n" if self.options.parent else ""))

    def read(self, state: State, text: str) -> str | float | Invalid:
        """A comment is the text without outer space; a label is 0, 1 or 2; a vote is 1, +1 or -1."""
        line = text.strip()
        if state.stage == MODERATING:
            return float(line) if line in ("0", "1", "2") else Invalid(NO_LABEL, text)
        if state.stage == VOTING:
            return VOTES[line] if line in VOTES else Invalid(NO_VOTE, text)
        return line if line else Invalid(EMPTY_COMMENT, text)

    def play(self, state: State, move: str | float | Invalid) -> Outcome:
        """Pass the comment to the moderator and then to the voter.

        A moderator's text that is no label means 2, a voter's text that is no vote means -1. An empty comment
        is judged by nobody: it has the 2 and the -1 where the task has these seats.
        """
        if state.stage == WRITING:
            if isinstance(move, Invalid):
                return self._next(state, Record(**self._of_nothing(state), shift=1.0), OVER)
            assert isinstance(move, str)
            return self._next(replace(state, comment=move), Record(shift=1.0), MODERATING)
        assert not isinstance(move, str)
        if state.stage == MODERATING:
            label = labels.UNSAFE if isinstance(move, Invalid) else int(move)
            return self._next(state, Record(**self._toxicity(state, label)), VOTING)
        return self._next(state, Record(upvotes=-1.0 if isinstance(move, Invalid) else move), OVER)

    def _of_nothing(self, state: State) -> dict[str, float]:
        """The rewards of an empty comment."""
        toxicity = self._toxicity(state, labels.UNSAFE) if MODERATOR in self.seats else {}
        return {**toxicity, "upvotes": -1.0} if VOTER in self.seats else toxicity

    def _toxicity(self, state: State, label: int) -> dict[str, float]:
        uniform = float(state.key.draw(0, "noise").random())
        return {"toxicity": float(label), "noised_toxicity": float(labels.add_noise(label, uniform))}

    def _next(self, state: State, rewards: Record, stage: str) -> Outcome:
        """The outcome with the next stage that somebody judges in; the end after the last one."""
        for seat, judging in ((MODERATOR, MODERATING), (VOTER, VOTING)):
            if stage == judging and seat not in self.seats:
                stage = VOTING if judging == MODERATING else OVER
        after = replace(state, stage=stage)
        if stage == OVER:
            return Outcome(after, self._observed(after, ""), rewards, COMMENTED)
        seat = MODERATOR if stage == MODERATING else VOTER
        return Outcome(after, self._observed(after, f"{after.comment}\n", seat), rewards)

    def _observed(self, state: State, text: str, seat: str = AGENT) -> Observation:
        shown = state.parent if self.options.parent or seat != AGENT else ""
        return Observation(text, Record(parent=shown, comment=state.comment), seat=seat)

    def expert(self, state: State) -> str | None:
        """A friendly reply to a built-in post; None for other posts and for the other seats."""
        return posts.friendly(state.parent) if state.stage == WRITING and self.options.parent else None

    def solution(self, state: State) -> str | None:
        """A friendly reply to a built-in post; None for other posts."""
        return posts.friendly(state.parent)
