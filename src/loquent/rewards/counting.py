"""How a score counts as a reward: clipped, normalised, put on its tokens, or as a potential. What a recipe may say beside a weight."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from loquent.errors import BadSetting
from loquent.settings import check_ranges, setting

RAW = "/raw"  # behind a term's name: its score as it was measured, where something else counts


@dataclass(frozen=True, kw_only=True)
class Counting:
    """What `rewards.NAME` may hold beside its weight, `of`, `key` and the metric's own options; applied in this order."""

    clip: tuple[float, ...] = setting((), "[low, high]: a score outside counts as the nearer of the two; .inf leaves an end open; empty: no bounds")
    normalization: str = setting(
        "none",
        "(score - mean) / deviation for the learner: over its collection, or over all that it has collected so far",
        choices=("none", "running", "batch"),
    )
    place: str = setting(
        "answer",
        "where it stands for the learner: on the last token, or at every sentence's or token's end what that changed in the score of what was said",
        choices=("answer", "sentence", "token"),
    )
    potential: bool = setting(
        False, "the score is a potential phi of what was said so far, and gamma phi(s') - phi(s) the reward", source="Ng, Harada, Russell 1999"
    )

    def __post_init__(self) -> None:
        bounds = self.clip
        if not isinstance(bounds, tuple) or not all(isinstance(x, int | float) and not isinstance(x, bool) and not math.isnan(x) for x in bounds):
            raise BadSetting(f"clip = {bounds!r}: two numbers are right, as in [0.0, 1.0]")
        if bounds and not (len(bounds) == 2 and bounds[0] < bounds[1]):
            raise BadSetting(f"clip = {list(bounds)}: two numbers are right, the lower one first, as in [0.0, 1.0]")
        if not isinstance(self.potential, bool):
            raise BadSetting(f"potential = {self.potential!r}: true or false is right")
        check_ranges(self)
        if self.potential and self.normalization != "none":
            raise BadSetting("normalization moves with what is collected, and a potential is a function of what was said alone: leave one out")

    @property
    def for_learners(self) -> bool:
        """Whether what counts is more than a function of the episode: only a learner's loop has it."""
        return self.potential or self.normalization != "none"

    @property
    def changes(self) -> bool:
        """Whether what counts may be another number than the score, which is recorded beside it then."""
        return bool(self.clip) or self.for_learners

    def clipped(self, score: float | None) -> float | None:
        """The score within its bounds; None stays None."""
        if score is None or not self.clip:
            return score
        return min(max(score, self.clip[0]), self.clip[1])


FIXED = "statistics that are fixed are right, as cider has with a corpus and bert_score with idf: task"

NAMES = tuple(field.name for field in fields(Counting))


def counting(options: dict[str, Any], name: str) -> Counting:
    """Take what says how the term `name` counts out of its options.

    Raises:
        BadSetting: a value is not what it should be.
    """
    given: dict[str, Any] = {key: options.pop(key) for key in NAMES if key in options}
    if isinstance(given.get("clip"), list):
        given["clip"] = tuple(given["clip"])
    try:
        return Counting(**given)
    except BadSetting as error:
        raise BadSetting(f"rewards.{name}: {error}") from error
