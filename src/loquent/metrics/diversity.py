"""Diversity of a corpus of answers: MSTTR, distinct-n, unique-n, entropies, vocabulary and lengths.

The scores are those of GEM's lexical statistics as RL4LMs reports them (arXiv:2210.01241, appendix): `diversity/msttr-100`, and
for n-grams that do not cross from one answer into the next

    distinct-n      types / tokens                          unique-n       types that occur once
    vocabulary-n    types                                   entropy-n      -sum p log2 p over n-grams
    conditional_entropy-n   -sum p(c, w) log2 p(w | c): the last word given the n-1 before it, p(c) = sum_w p(c, w)

and `total_length`, `mean_length`, ... in words. Each has a twin `...-nopunct` that leaves punctuation marks out. A key is absent
where it means nothing: no text, no n-gram, fewer words than a window.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, words
from loquent.settings import setting
from loquent.task import Row

Gram = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DiversityOptions:
    """What the metric `diversity` may be told."""

    window: int = setting(100, "words in a window of the type-token ratio", source="2210.01241 app. B: MSTTR-100", low=1)
    n: int = setting(3, "the longest n-grams counted", low=1, high=8)


@dataclass(frozen=True)
class Diversity:
    """Corpus scores only: diversity says nothing about one answer."""

    window: int = 100
    n: int = 3
    name: ClassVar[str] = "diversity"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = None

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric may give."""
        orders = range(1, self.n + 1)
        grams = [f"{name}-{n}" for n in orders for name in ("distinct", "unique", "vocabulary", "entropy")]
        given = [f"conditional_entropy-{n}" for n in orders if n > 1]
        lengths = [f"{name}_length" for name in ("total", "mean", "std", "median", "min", "max")]
        own = [f"msttr-{self.window}", *grams, *given, *lengths]
        return tuple(f"diversity/{key}{twin}" for twin in ("", "-nopunct") for key in own)

    @property
    def corpus_only(self) -> tuple[str, ...]:
        """All of them: a text alone has no such score."""
        return self.keys

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Measure the predictions alone."""
        texts = [words(text) for text in predictions]
        bare = [[word for word in text if not is_punctuation(word)] for text in texts]
        scores: dict[str, float] = {}
        for twin, said in (("", texts), ("-nopunct", bare)):
            scores |= {f"diversity/{key}{twin}": value for key, value in statistics_of(said, self.window, self.n).items()}
        return Measured(corpus=scores)


@takes(DiversityOptions)
def diversity(context: Context, options: DiversityOptions) -> Diversity:
    """Diversity of what was said: MSTTR, distinct-n, unique-n, vocabulary, entropies and lengths."""
    return Diversity(options.window, options.n)


def statistics_of(texts: Sequence[Sequence[str]], window: int = 100, n: int = 3) -> dict[str, float]:
    """All scores of tokenised texts, by key; keys that mean nothing here are absent."""
    scores: dict[str, float] = _lengths([len(text) for text in texts])
    ratio = msttr(list(chain.from_iterable(texts)), window)
    if ratio is not None:
        scores[f"msttr-{window}"] = ratio
    for order in range(1, n + 1):
        counts = Counter(chain.from_iterable(ngrams(text, order) for text in texts))
        total = counts.total()
        if not total:
            continue
        scores[f"distinct-{order}"] = len(counts) / total
        scores[f"unique-{order}"] = float(sum(count == 1 for count in counts.values()))
        scores[f"vocabulary-{order}"] = float(len(counts))
        scores[f"entropy-{order}"] = entropy(counts.values())
        if order > 1:
            scores[f"conditional_entropy-{order}"] = conditional_entropy(counts)
    return scores


def ngrams(text: Sequence[str], n: int) -> Iterable[Gram]:
    """The n-grams of one text, in order."""
    return zip(*(text[i:] for i in range(n)), strict=False)


def msttr(corpus: Sequence[str], window: int) -> float | None:
    """Mean type-token ratio over whole windows of consecutive words; the last partial window is dropped, None without one."""
    starts = range(0, len(corpus) - window + 1, window)
    return statistics.fmean(len(set(corpus[i : i + window])) / window for i in starts) if starts else None


def entropy(counts: Iterable[int]) -> float:
    """Entropy in bits of the distribution that counts stand for."""
    counts = sorted(counts)  # one order of summation for equal counts, however the texts were ordered
    total = sum(counts)
    return max(0.0, -math.fsum(count / total * math.log2(count / total) for count in counts))


def conditional_entropy(counts: Counter[Gram]) -> float:
    """Bits needed for the last word of an n-gram when the words before it are known."""
    contexts: Counter[Gram] = Counter()
    for gram, count in counts.items():
        contexts[gram[:-1]] += count
    total = counts.total()
    return max(0.0, -math.fsum(count / total * math.log2(count / contexts[gram[:-1]]) for gram, count in counts.items()))


def _lengths(lengths: Sequence[int]) -> dict[str, float]:
    if not lengths:
        return {}
    return {
        "total_length": float(sum(lengths)),
        "mean_length": statistics.fmean(lengths),
        "std_length": statistics.pstdev(lengths),
        "median_length": float(statistics.median(lengths)),
        "min_length": float(min(lengths)),
        "max_length": float(max(lengths)),
    }
