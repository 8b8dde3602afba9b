"""Sentiment by a list of words: the balance of praise and blame in a text, from -1 to 1, with negations.

A word has the opposite sign if a negation is among the three words before it in the same clause ("never
dull", "not a very good film"). A text without a word of the list has no score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from loquent.core.guards import opening
from loquent.core.metric import Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadRow, BadSetting
from loquent.metrics.sentiment.opinion_words import NEGATIVE, NEGATORS, POSITIVE
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import is_punctuation, judged_texts, words

REACH = 3  # the number of words after a negation whose sign it inverts
BUILT_IN = {**dict.fromkeys(POSITIVE, 1.0), **dict.fromkeys(NEGATIVE, -1.0)}


@dataclass(frozen=True, kw_only=True)
class LexiconOptions:
    """Options of the metric and reward `lexicon`."""

    path: str = setting(
        "",
        "a file of lines `word number`, above 0 for praise and below 0 for blame; empty: the built-in list",
        file=True,
    )
    include_prompt: bool = setting(True, "score the prompt and the answer together, not the answer alone")


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Per sample (praise - blame) / (praise + blame); for the corpus the mean of the samples with a score."""

    weights: Mapping[str, float]
    include_prompt: bool = True
    name: ClassVar[str] = "lexicon"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = (-1.0, 1.0)
    keys: ClassVar[tuple[str, ...]] = ("lexicon/balance",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions, after their prompts if `include_prompt`."""
        texts = judged_texts(samples.predictions, samples.prompts, self.include_prompt)
        return with_means({self.keys[0]: [balance(text, self.weights) for text in texts]})


@takes(LexiconOptions)
def lexicon(context: Context, options: LexiconOptions) -> Lexicon:
    """(praise - blame) / (praise + blame) by a list of words, with negations.

    Raises:
        BadSetting: the file cannot be read.
        BadRow: a line is not a word and a number, or a word occurs twice; the message names file and line.
    """
    return Lexicon(read(options.path) if options.path else BUILT_IN, options.include_prompt)


def balance(text: str, weights: Mapping[str, float] = BUILT_IN) -> float | None:
    """(praise - blame) / (praise + blame) of one text; None for a text without a word of the list."""
    praise = blame = 0.0
    inverted = 0  # the number of next words whose sign the last negation inverts
    for word in words(text):
        weight = weights.get(word, 0.0)
        if (weight > 0) != (inverted > 0):
            praise += abs(weight)
        else:
            blame += abs(weight)
        if is_punctuation(word):
            inverted = 0
        elif word in NEGATORS or word.replace("’", "'") in NEGATORS:
            inverted = REACH
        else:
            inverted = max(0, inverted - 1)
    return (praise - blame) / (praise + blame) if praise + blame else None


def read(path: str | Path) -> dict[str, float]:
    """The weights of a word list: one word and one number per line.

    After a tab, further columns are ignored. A line that begins with `#` is a comment.
    """
    try:
        lines = opening.whole(Path(path)).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"lexicon.path = {str(path)!r} cannot be read ({type(error).__name__}). Name a file of UTF-8 text"
        ) from error
    weights: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        columns = re.split(r"\t", line) if "\t" in line else line.rsplit(maxsplit=1)
        word = columns[0].strip().lower()
        weight = _number(columns[1]) if len(columns) > 1 else None
        if weight is None or not word:
            raise BadRow(
                f"{line!r} is not a word and a finite number, such as 'dull -1'", file=path, line=number
            )
        if weights.setdefault(word, weight) != weight:
            raise BadRow(
                f"{word!r} occurs twice, with {weights[word]} and {weight}; one number per word is allowed",
                file=path,
                line=number,
            )
    if not weights:
        raise BadRow("this list has no word; add a line such as 'dull -1'", file=path)
    return weights


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
