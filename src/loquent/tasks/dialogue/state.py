"""The state of a game, a value."""

from __future__ import annotations

from dataclasses import dataclass

OPENING, ASKING, ANSWERING, JUDGING = "opening", "asking", "answering", "judging"


@dataclass(frozen=True)
class State:
    """Questions with answers so far, and who speaks next.

    `stage` is "opening" (the judge gives the first percentile), "asking", "answering" or "judging".
    `progress` has one number for each judged answer.
    """

    caption: str
    image: str = ""  # what the image shows, or its name
    stage: str = OPENING
    history: tuple[tuple[str, str], ...] = ()
    question: str = ""  # asked and not yet answered
    initial: float = 0.0
    progress: tuple[float, ...] = ()
    ended: str = ""
