"""Scripts of the built-in world: a friendly writer, and the rules that judge."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.core.agent import Question
from loquent.errors import BrokenAgent
from loquent.tasks.comments.language import judging, posts
from loquent.tasks.comments.players.seats import Player, state_of
from loquent.tasks.comments.task import AGENT, MODERATOR, VOTER


class Friendly(Player):
    """Writes a friendly reply to a built-in post."""

    kind, seats = "comments/friendly", (AGENT,)

    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """The replies; BrokenAgent for a post that is not built in."""
        found = []
        for question in asked:
            parent = state_of(question).parent
            text = posts.friendly(parent)
            if text is None:
                raise BrokenAgent(
                    f"{question.game}: the post {parent!r:.80} is not built in; this script replies to "
                    "built-in posts only"
                )
            found.append(text)
        return found


class Rules(Player):
    """Judges by the rules of the built-in world, any text."""

    kind, seats = "comments/rules", (MODERATOR, VOTER)

    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """Labels by word lists, or votes by what readers approve of."""
        states = [state_of(question) for question in asked]
        if seat == MODERATOR:
            return [str(judging.label(state.comment)) for state in states]
        return ["1" if judging.approval(state.parent, state.comment) > 0 else "-1" for state in states]
