"""The options of the reward and metric `llm_judge`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record
from loquent.errors import BadSetting

SCALE, PAIR = "scale", "pair"
RUBRIC = (
    "Consider whether the answer does what the prompt asks, and whether it is correct, relevant, complete "
    "and clearly written."
)
AUTO, NONE = "auto", "none"


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The options of the reward and metric `llm_judge`."""

    judge: Record = setting(
        why="the agent that judges, with its options: {kind: http, base_url: ..., model: ...} for an "
        "OpenAI-compatible endpoint, {kind: folder, path: ...} for a model folder",
    )
    form: str = setting(
        SCALE,
        "scale: a rating from `low` to `high`; pair: the answer against the row's first reference, asked in "
        "both orders: 1 for a win, 0.5 for a tie, 0 for a loss, and the mean of both",
        source="2306.05685 sec. 3.1 and 3.4",
        choices=(SCALE, PAIR),
    )
    rubric: str = setting(RUBRIC, "what a good answer is, in words, for the judge")
    low: float = setting(1.0, "form scale: the worst rating")
    high: float = setting(10.0, "form scale: the best rating", source="2306.05685 fig. 6")
    reference: bool = setting(False, "form scale: show the row's first reference to the judge")
    cache: str = setting(
        AUTO,
        "the folder of a cache of replies, by the content of the question and the judge; auto: in the "
        "user's cache; none: no cache",
    )
    most_requests: int = setting(
        0, "the budget of a run in questions, without those that the cache answers; 0: no limit", low=0
    )
    most_tokens: int = setting(
        0,
        "the budget of a run in tokens, read and drawn; what is in flight may exceed it; 0: no limit",
        low=0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise BadSetting(f"low = {self.low:g} and high = {self.high:g}: low must be below high")
        if self.form == PAIR and self.reference:
            raise BadSetting(
                "reference = true with form = 'pair', which shows the reference anyway; leave it out"
            )
        if not self.rubric.strip():
            raise BadSetting("rubric is empty; say what a good answer is")

    @property
    def reads_reference(self) -> bool:
        """Whether the judge reads references."""
        return self.reference or self.form == PAIR
