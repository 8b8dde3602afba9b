"""The decoding settings of a recipe.

They are apart from the decoding loop, so that a recipe can be read without torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.registry import is_import_name
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting

SIDES = ("left", "right")
OURS = "ours"  # the engine that runs the learner's own module


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How a language model decodes its answers."""

    method: str = setting(
        "sample",
        "sample tokens, take the most probable token, or search with beams",
        choices=("sample", "greedy", "beam"),
    )
    temperature: float = setting(1.0, "divides the logits; sampling only", low=1e-3, high=1e3)
    top_k: int = setting(0, "sample from the k most probable tokens, 0: from all; sampling only", low=0)
    top_p: float = setting(
        1.0,
        "sample from the nucleus of this probability mass, 1: from all tokens; sampling only",
        source="1904.09751 eq. 2",
        low=0.0,
        high=1.0,
    )
    min_new_tokens: int = setting(
        0, "shortest answer in tokens; an answer from a set of legal words may be shorter", low=0
    )
    max_new_tokens: int = setting(
        48, "longest answer in tokens; decoding stops there", source="2210.01241 table 4 (IMDB)", low=1
    )
    max_prompt_tokens: int = setting(
        0,
        "longest prompt in tokens; a longer one loses its oldest turns, then tokens of the newest text; 0: "
        "what the context allows",
        source="2210.01241 table 4 (IMDB): 64",
        low=0,
    )
    truncation_side: str = setting(
        "left",
        "the side on which a text loses tokens if it is too long for a prompt, in decoding and in learning",
        source="2210.01241 tables 16, 27 and 29: right",
        choices=SIDES,
    )
    beams: int = setting(4, "number of beams; beam search only", low=1)
    legal: bool = setting(
        False,
        "draw only the texts of legal actions, word for word, where the task has a set of actions; learning "
        "then takes probabilities among the allowed tokens",
    )
    live: int = setting(64, "rows decoded at once", low=1)
    compile: bool = setting(
        False,
        "compile the steps of decoding with torch: slow to begin, then faster for few rows; no beam search",
    )

    engine: str = setting(
        OURS,
        "who draws the tokens: ours, or the module:Name of a class derived from loquent.models.engine.Engine",
    )

    @property
    def text(self) -> str:
        """The method with the settings that shape it, such as "sampled, temperature 0.7, top-k 20"."""
        if self.method == "greedy":
            return "greedy"
        if self.method == "beam":
            return f"beam search, {self.beams} beams"
        limits = [f"top-k {self.top_k}"] * (self.top_k > 0) + [f"top-p {self.top_p:g}"] * (self.top_p < 1)
        return ", ".join(["sampled", f"temperature {self.temperature:g}", *limits])

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.engine != OURS and not is_import_name(self.engine):
            raise BadSetting(
                f"engine = {self.engine!r} must be {OURS!r} or of the form module:Name; name the class of an "
                "engine"
            )
        if self.min_new_tokens > self.max_new_tokens:
            raise BadSetting(
                f"min_new_tokens = {self.min_new_tokens} is more than max_new_tokens = "
                f"{self.max_new_tokens}; it must be at most max_new_tokens; lower it"
            )
        if self.compile and self.method == "beam":
            raise BadSetting(
                "compile = true does not serve method = beam; it is for the methods greedy and sample; set "
                "compile to false"
            )


def check_sampling(decoding: Decoding | None, why: str) -> None:
    """Raise BadSetting if answers in training are not sampled; `why` is a clause about the learner."""
    if decoding is not None and decoding.method != "sample":
        raise BadSetting(
            f"decoding.method = {decoding.method!r} does not sample, {why}; set decoding.method to 'sample' "
            "(evaluation.method may be any)"
        )
