"""Sentiment by a list of words: how much of a text's praise and blame is praise, from -1 to 1, negations turned.

A word counts against its sign when a negation stands among the three words before it in the same clause ("never dull",
"not a very good film"). There is no score for a text without a word of the list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from loquent.errors import BadRow, BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.opinion_words import NEGATIVE, NEGATORS, POSITIVE
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, judged, mean, words
from loquent.settings import setting
from loquent.task import Row

REACH = 3  # words a negation turns
BUILT_IN = {**dict.fromkeys(POSITIVE, 1.0), **dict.fromkeys(NEGATIVE, -1.0)}


@dataclass(frozen=True, kw_only=True)
class LexiconOptions:
    """What the metric and reward `lexicon` may be told."""

    path: str = setting("", "a file of lines `word number`, above 0 for praise and below for blame; empty: our own short list")
    include_prompt: bool = setting(True, "judge the prompt and the answer, not the answer alone")


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Per sample (praise - blame) / (praise + blame); for the corpus the mean over the texts that have one."""

    weights: Mapping[str, float]
    include_prompt: bool = True
    name: ClassVar[str] = "lexicon"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("lexicon/balance",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions, after their prompts unless told otherwise."""
        scores = [balance(text, self.weights) for text in judged(predictions, prompts, self.include_prompt)]
        average = mean(scores)
        return Measured({self.keys[0]: scores}, {} if average is None else {self.keys[0]: average})


@takes(LexiconOptions)
def lexicon(context: Context, options: LexiconOptions) -> Lexicon:
    """(praise - blame) / (praise + blame) by a list of words, negations turned.

    Raises:
        BadSetting: there is no such file. BadRow: a line is no word and number, or a word stands twice; names file and line.
    """
    return Lexicon(read(options.path) if options.path else BUILT_IN, options.include_prompt)


def balance(text: str, weights: Mapping[str, float] = BUILT_IN) -> float | None:
    """(praise - blame) / (praise + blame) of one text; None when it holds no word of the list."""
    praise = blame = 0.0
    turned = 0  # words that the last negation still turns
    for word in words(text):
        weight = weights.get(word, 0.0)
        if (weight > 0) != (turned > 0):
            praise += abs(weight)
        else:
            blame += abs(weight)
        if is_punctuation(word):
            turned = 0
        elif word in NEGATORS or word.replace("’", "'") in NEGATORS:
            turned = REACH
        else:
            turned = max(0, turned - 1)
    return (praise - blame) / (praise + blame) if praise + blame else None


def read(path: str | Path) -> dict[str, float]:
    """A word list: one word and one number a line, further columns after a tab are left alone, `#` begins a comment."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"lexicon.path = {str(path)!r} cannot be read as UTF-8 text ({type(error).__name__})") from error
    weights: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        columns = re.split(r"\t", line) if "\t" in line else line.rsplit(maxsplit=1)
        word = columns[0].strip().lower()
        weight = _number(columns[1]) if len(columns) > 1 else None
        if weight is None or not word:
            raise BadRow(f"{line!r} is no word and finite number, as in 'dull -1'", file=path, line=number)
        if weights.setdefault(word, weight) != weight:
            raise BadRow(f"{word!r} stands twice, with {weights[word]} and {weight}", file=path, line=number)
    if not weights:
        raise BadRow("there is no word in this list", file=path)
    return weights


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
