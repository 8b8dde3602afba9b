"""The settings of decoding, which a recipe holds.

Apart from the loop that reads them, so that recipes are read without torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How answers are made from a model."""

    method: str = setting(
        "sample", "draw, take the likeliest token, or search with beams", choices=("sample", "greedy", "beam")
    )
    temperature: float = setting(1.0, "logits are divided by it; sampling only", low=1e-3, high=1e3)
    top_k: int = setting(0, "draw from so many likeliest tokens, 0: all; sampling only", low=0)
    top_p: float = setting(
        1.0,
        "draw from the nucleus of this mass, 1: all; sampling only",
        source="1904.09751 eq. 2",
        low=0.0,
        high=1.0,
    )
    min_new_tokens: int = setting(
        0, "no end before so many tokens (legal words may end where they end)", low=0
    )
    max_new_tokens: int = setting(
        48, "an answer is cut after so many tokens", source="2210.01241 table 4 (IMDB)", low=1
    )
    max_prompt_tokens: int = setting(
        0,
        "a longer prompt loses its oldest turns or tokens; 0: what the context has room for",
        source="2210.01241 table 4 (IMDB): 64",
        low=0,
    )
    beams: int = setting(4, "beams of the search; beam only", low=1)
    live: int = setting(64, "rows decoded at once", low=1)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.min_new_tokens > self.max_new_tokens:
            raise BadSetting(
                f"min_new_tokens = {self.min_new_tokens} is more than max_new_tokens = {self.max_new_tokens}"
            )
