"""How a term's score becomes a reward: clipping, normalisation, placement on tokens, or a potential."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, fields
from typing import Any

from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting

RAW = "/raw"  # suffix of a term's name: its raw score, stored where the reward may differ from it


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Settings of `rewards.NAME` besides `weight`, `of`, `key` and the metric's options; applied in order."""

    clip: tuple[float, ...] = setting(
        (), "[low, high]: clip scores to this range; .inf leaves a side open; empty: no clipping"
    )
    normalization: str = setting(
        "none",
        "give the learner (score - mean) / deviation: batch: of one collection; running: of all "
        "collections so far",
        choices=("none", "running", "batch"),
    )
    place: str = setting(
        "answer",
        "answer: all on the last token; sentence, token: at each end of one, the change of the "
        "score of the text so far",
        choices=("answer", "sentence", "token"),
    )
    potential: bool = setting(
        False,
        "treat the score as a potential phi of the text so far; the reward is gamma phi(s') - phi(s)",
        source="Ng, Harada, Russell 1999",
    )

    def __post_init__(self) -> None:
        bounds = self.clip
        if not isinstance(bounds, tuple) or not all(
            isinstance(x, int | float) and not isinstance(x, bool) and not math.isnan(x) for x in bounds
        ):
            raise BadSetting(f"clip = {bounds!r}: must be two numbers, as in [0.0, 1.0]")
        if bounds and not (len(bounds) == 2 and bounds[0] < bounds[1]):
            raise BadSetting(f"clip = {list(bounds)}: must be two numbers, the lower first, as in [0.0, 1.0]")
        if not isinstance(self.potential, bool):
            raise BadSetting(f"potential = {self.potential!r}: must be true or false")
        check_ranges(self)
        if self.potential and self.normalization != "none":
            why = "a potential must depend on the text alone, and normalization changes during training"
            raise BadSetting(
                f"potential = True and normalization = {self.normalization!r}: {why}; leave one out"
            )

    @property
    def for_learners(self) -> bool:
        """Whether the reward depends on more than the episode; only a training loop can then compute it."""
        return self.potential or self.normalization != "none"

    @property
    def changes(self) -> bool:
        """Whether the reward may differ from the score; the raw score is then stored too."""
        return bool(self.clip) or self.for_learners

    def clip_score(self, score: float | None) -> float | None:
        """The score clipped to its bounds; None stays None."""
        if score is None or not self.clip:
            return score
        return min(max(score, self.clip[0]), self.clip[1])


def is_reward(name: str, names: Container[str]) -> bool:
    """Whether a value of a turn counts in the return: not a raw score, nor a part (NAME/PART) of another."""
    return not name.endswith(RAW) and name.rpartition("/")[0] not in names


FIXED = "use fixed statistics, as cider has with a corpus and bert_score with idf: task"

NAMES = tuple(field.name for field in fields(Counting))


def counting(options: dict[str, Any], name: str) -> Counting:
    """Remove the settings of `Counting` from the options of the term `name`, and build it from them.

    Raises:
        BadSetting: a value has the wrong type or is outside its range.
    """
    settings: dict[str, Any] = {key: options.pop(key) for key in NAMES if key in options}
    if isinstance(settings.get("clip"), list):
        settings["clip"] = tuple(settings["clip"])
    try:
        return Counting(**settings)
    except BadSetting as error:
        raise BadSetting(f"rewards.{name}: {error}") from error
