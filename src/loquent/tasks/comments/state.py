"""The state of an episode, a value."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.seeding import Key

WRITING, MODERATING, VOTING, OVER = "writing", "moderating", "voting", "over"


@dataclass(frozen=True)
class State:
    """The post, the comment, and who speaks next: `stage` is "writing", "moderating", "voting" or "over".

    `key` is the key of the episode's random streams, for the noise of a label.
    """

    parent: str
    key: Key
    comment: str = ""
    stage: str = WRITING
