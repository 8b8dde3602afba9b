"""Self-BLEU (Zhu et al. 2018, arXiv:1802.01886): the mean BLEU of each answer against all others.

    BLEU = exp(min(0, 1 - r / c)) * (prod over n of p_n)^(1/N)

p_n is the share of an answer's n-grams that another answer has, where an n-gram counts at most as often as
the other answer with the highest count has it. If no n-gram matches, p_n is 0.1 / (number of n-grams), as in
Texygen (nltk's `method1`). Without a common word the score is 0. c is the answer's length, r the closest
length of another answer.

The scores equal nltk's sentence_bleu against all others. Only the two highest counts of each n-gram are kept,
so the cost is linear in the number of answers, not quadratic.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from loquent.core.metric import SHARES, Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.diversity.diversity import Gram, ngrams
from loquent.metrics.text import words

NO_HIT = 0.1  # the hits of an order above 1 without a match


@dataclass(frozen=True, kw_only=True)
class SelfBleuOptions:
    """Options of the metric `self_bleu`."""

    n: int = setting(4, "the largest n of the n-grams, in words and punctuation marks", low=1, high=8)


@dataclass(frozen=True)
class SelfBleu:
    """A corpus score from 0 (nothing in common) to 1 (all answers equal).

    It is absent for fewer than two non-empty answers.
    """

    n: int = 4
    name: ClassVar[str] = "self_bleu"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    range: ClassVar[Range] = SHARES

    @property
    def keys(self) -> tuple[str, ...]:
        """The only key of this metric."""
        return (self.name,)

    @property
    def corpus_only(self) -> tuple[str, ...]:
        """All keys: a single text has no such score."""
        return self.keys

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions against each other; references, prompts and rows are not read."""
        scores = self_bleus([answer for answer in map(words, samples.predictions) if answer], self.n)
        return Measured(corpus={self.name: fmean(sorted(scores))} if scores else {})


@takes(SelfBleuOptions)
def self_bleu(context: Context, options: SelfBleuOptions) -> SelfBleu:
    """The mean BLEU of each answer against all others: high where answers are similar.

    References are not read.
    """
    return SelfBleu(options.n)


def self_bleus(texts: Sequence[Sequence[str]], n: int = 4) -> list[float]:
    """The BLEU of each text against the others; an empty list for fewer than two texts."""
    if len(texts) < 2:
        return []
    by_order = [
        _precisions([Counter(ngrams(text, order)) for text in texts], NO_HIT if order > 1 else 0.0)
        for order in range(1, n + 1)
    ]
    lengths = sorted(map(len, texts))
    scores = []
    for text, precisions in zip(texts, zip(*by_order, strict=True), strict=True):
        if not precisions[0]:
            scores.append(0.0)
            continue
        brevity = min(0.0, 1.0 - _closest(len(text), lengths) / len(text))
        scores.append(math.exp(brevity + math.fsum(math.log(precision) for precision in precisions) / n))
    return scores


def _precisions(counts: Sequence[Counter[Gram]], no_hit: float) -> list[float]:
    """For each text the share of its n-grams that another text has; `no_hit` hits if there are none."""
    # the highest count, its text, and the highest count of the others
    highest: dict[Gram, tuple[int, int, int]] = {}
    for owner, own in enumerate(counts):
        for gram, count in own.items():
            first, holder, second = highest.get(gram, (0, -1, 0))
            highest[gram] = (count, owner, first) if count > first else (first, holder, max(second, count))
    precisions = []
    for owner, own in enumerate(counts):
        hits = sum(
            min(count, highest[gram][2 if highest[gram][1] == owner else 0]) for gram, count in own.items()
        )
        precisions.append((hits or no_hit) / max(1, own.total()))
    return precisions


def _closest(length: int, lengths: Sequence[int]) -> int:
    """The length of another text that is closest to `length`; of two equally close lengths, the shorter one.

    `lengths` are the sorted lengths of all texts, including this text's own.
    """
    at = bisect_left(lengths, length)
    if lengths[at + 1 : at + 2] == [length]:
        return length
    neighbours = [*lengths[max(at - 1, 0) : at], *lengths[at + 1 : at + 2]]
    return min(neighbours, key=lambda other: (abs(other - length), other))
