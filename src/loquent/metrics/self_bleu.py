"""Self-BLEU (Zhu et al. 2018, arXiv:1802.01886): how much answers are like each other, the mean BLEU of each against all others.

    BLEU = exp(min(0, 1 - r / c)) * (prod over n of p_n)^(1/N)

with p_n the share of an answer's n-grams that another one has, each counted as often as the answer that has it most; a p_n of no hit is
0.1 / (number of n-grams), as in Texygen's (nltk's `method1`); no word in common with any other: 0. r is the length of another answer closest to c.
Equal to nltk's sentence_bleu against all others; as only the highest and the second highest count of each n-gram are kept, it is linear in the
answers, not quadratic.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.diversity import Gram, ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import words
from loquent.settings import setting
from loquent.task import Row

MISSED = 0.1  # hits that no hit counts as, for n-grams of two words and more


@dataclass(frozen=True, kw_only=True)
class SelfBleuOptions:
    """What the metric `self_bleu` may be told."""

    n: int = setting(4, "the longest n-grams, in words and punctuation marks", low=1, high=8)


@dataclass(frozen=True)
class SelfBleu:
    """A corpus score only, from 0 (nothing in common) to 1 (all the same); absent for fewer than two answers with a word in them."""

    n: int = 4
    name: ClassVar[str] = "self_bleu"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives."""
        return (self.name,)

    @property
    def corpus_only(self) -> tuple[str, ...]:
        """All of them: a text alone has no such score."""
        return self.keys

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Measure the predictions against each other."""
        scores = self_bleus([cut for cut in map(words, predictions) if cut], self.n)
        return Measured(corpus={self.name: fmean(sorted(scores))} if scores else {})


@takes(SelfBleuOptions)
def self_bleu(context: Context, options: SelfBleuOptions) -> SelfBleu:
    """The mean BLEU of each answer against all others: high where they are alike. No reference is read."""
    return SelfBleu(options.n)


def self_bleus(texts: Sequence[Sequence[str]], n: int = 4) -> list[float]:
    """For each text its BLEU against the others; none for fewer than two texts."""
    if len(texts) < 2:
        return []
    each = [_precisions([Counter(ngrams(text, order)) for text in texts], MISSED if order > 1 else 0.0) for order in range(1, n + 1)]
    lengths = sorted(map(len, texts))
    scores = []
    for text, shares in zip(texts, zip(*each, strict=True), strict=True):
        brevity = min(0.0, 1.0 - _closest(len(text), lengths) / len(text))
        scores.append(math.exp(brevity + math.fsum(math.log(share) for share in shares) / n) if shares[0] else 0.0)
    return scores


def _precisions(counts: Sequence[Counter[Gram]], missed: float) -> list[float]:
    """For each text the share of its n-grams that another has; `missed` hits where there are none."""
    highest: dict[Gram, tuple[int, int, int]] = {}  # the highest count, whose it is, and the highest of the others
    for owner, own in enumerate(counts):
        for gram, count in own.items():
            first, whose, second = highest.get(gram, (0, -1, 0))
            highest[gram] = (count, owner, first) if count > first else (first, whose, max(second, count))
    shares = []
    for owner, own in enumerate(counts):
        hits = sum(min(count, highest[gram][2 if highest[gram][1] == owner else 0]) for gram, count in own.items())
        shares.append((hits or missed) / max(1, own.total()))
    return shares


def _closest(length: int, lengths: Sequence[int]) -> int:
    """The length closest to a text's among the others', the shorter of two; `lengths` are all, sorted, its own included."""
    at = bisect_left(lengths, length)
    if lengths[at + 1 : at + 2] == [length]:
        return length
    around = [*lengths[max(at - 1, 0) : at], *lengths[at + 1 : at + 2]]
    return min(around, key=lambda other: (abs(other - length), other))
