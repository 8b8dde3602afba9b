"""Exact match and token F1 of short answers (SQuAD, arXiv:1606.05250): the best over the references.

An answer is normalised first: lower case, without ASCII punctuation, without the articles a, an and the, single spaces. F1 is the
harmonic mean of precision and recall of its words, as bags. Two answers that both normalise to nothing are equal.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import averaged, each
from loquent.task import Row

ARTICLE = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class NoOptions:
    """`exact_match` and `token_f1` take no options."""


@dataclass(frozen=True)
class Answers:
    """The best of `score(said, wanted)`, on words of normalised answers, over the references of a sample."""

    name: str
    score: Callable[[list[str], list[str]], float]
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references."""
        read = cache(normalised)
        return averaged({self.name: each(lambda said, own: max(self.score(read(said), read(text)) for text in own), predictions, references)})


@takes(NoOptions)
def exact_match(context: Context, options: NoOptions) -> Answers:
    """1 where the normalised answer equals a normalised reference, else 0 (SQuAD)."""
    return Answers("exact_match", _equal)


@takes(NoOptions)
def token_f1(context: Context, options: NoOptions) -> Answers:
    """F1 of the words of an answer against its best reference, normalised (SQuAD)."""
    return Answers("token_f1", _f1)


def normalised(answer: str) -> list[str]:
    """The words of an answer in lower case, without punctuation and articles."""
    return ARTICLE.sub(" ", answer.lower().translate(PUNCTUATION)).split()


def _equal(said: list[str], wanted: list[str]) -> float:
    return float(said == wanted)


def _f1(said: list[str], wanted: list[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted))
