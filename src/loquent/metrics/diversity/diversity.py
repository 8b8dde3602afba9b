"""Diversity of a corpus of answers: MSTTR, distinct-n, unique-n, entropies, vocabulary and lengths.

The scores are GEM's lexical statistics as RL4LMs reports them (arXiv:2210.01241, appendix):
`diversity/msttr-100`, and for n-grams within one answer

    distinct-n      types / tokens                          unique-n       types that occur once
    vocabulary-n    types                                   entropy-n      -sum p log2 p over n-grams
    conditional_entropy-n   -sum p(c, w) log2 p(w | c)      w is the last word, c the n-1 words before it,
                                                            p(c) = sum_w p(c, w)

and `total_length`, `mean_length`, ... in words. Each score has a variant `...-nopunct` without punctuation
marks. An undefined score has no key: there is no text, no n-gram, or there are fewer words than a window.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from loquent.core.metric import SHARES, Context, Measured, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.metrics.diversity.occurrences import Occurrences
from loquent.metrics.text import without_punctuation, words

Gram = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DiversityOptions:
    """Options of the metric `diversity`."""

    window: int = setting(
        100, "the window of the type-token ratio, in words", source="2210.01241 app. B: MSTTR-100", low=1
    )
    n: int = setting(3, "the largest n of the n-grams", low=1, high=8)


@dataclass(frozen=True)
class Diversity:
    """Diversity of a corpus; a single answer has no score."""

    window: int = 100
    n: int = 3
    name: ClassVar[str] = "diversity"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = None
    ranges: ClassVar[Record] = Record({"diversity/distinct": SHARES, "diversity/msttr": SHARES})

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric can return."""
        orders = range(1, self.n + 1)
        grams = [f"{name}-{n}" for n in orders for name in ("distinct", "unique", "vocabulary", "entropy")]
        conditional = [f"conditional_entropy-{n}" for n in orders if n > 1]
        lengths = [f"{name}_length" for name in ("total", "mean", "std", "median", "min", "max")]
        names = [f"msttr-{self.window}", *grams, *conditional, *lengths]
        return tuple(f"diversity/{name}{variant}" for variant in ("", "-nopunct") for name in names)

    @property
    def corpus_only(self) -> tuple[str, ...]:
        """All keys: a single text has no such score."""
        return self.keys

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions; references, prompts and rows are not read."""
        texts = [words(text) for text in samples.predictions]
        bare = [without_punctuation(text) for text in texts]
        scores: dict[str, float] = {}
        grams: dict[str, Occurrences] = {}
        for variant, corpus in (("", texts), ("-nopunct", bare)):
            values = statistics_of(corpus, self.window, self.n)
            scores |= {f"diversity/{name}{variant}": value for name, value in values.items()}
            for order in range(1, self.n + 1):
                grams[f"{order}{variant}"] = Occurrences(ngrams(text, order) for text in corpus)

        def leave_out(numbers: Sequence[int]) -> dict[str, float]:
            """Of the other scores none has both a direction and a valid jackknife."""
            counts = {suffix: own.without(numbers) for suffix, own in grams.items()}
            return {
                f"diversity/distinct-{suffix}": np.count_nonzero(own) / int(own.sum())
                for suffix, own in counts.items()
                if own.any()
            }

        return Measured(corpus=scores, leave_out=leave_out)


@takes(DiversityOptions)
def diversity(context: Context, options: DiversityOptions) -> Diversity:
    """Diversity of the answers: MSTTR, distinct-n, unique-n, vocabulary, entropies and lengths."""
    return Diversity(options.window, options.n)


def statistics_of(texts: Sequence[Sequence[str]], window: int = 100, n: int = 3) -> dict[str, float]:
    """All scores of tokenised texts by name; undefined scores are absent."""
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
    """Mean type-token ratio over windows of consecutive words.

    A partial last window is dropped; None if there is no whole window.
    """
    starts = range(0, len(corpus) - window + 1, window)
    return statistics.fmean(len(set(corpus[i : i + window])) / window for i in starts) if starts else None


def entropy(counts: Iterable[int]) -> float:
    """Entropy in bits of the distribution proportional to the counts."""
    counts = sorted(counts)  # the sum does not depend on the order of the texts
    total = sum(counts)
    return max(0.0, -math.fsum(count / total * math.log2(count / total) for count in counts))


def conditional_entropy(counts: Counter[Gram]) -> float:
    """Entropy in bits of the last word of an n-gram, conditional on the words before it."""
    contexts: Counter[Gram] = Counter()
    for gram, count in counts.items():
        contexts[gram[:-1]] += count
    total = counts.total()
    return max(
        0.0,
        -math.fsum(count / total * math.log2(count / contexts[gram[:-1]]) for gram, count in counts.items()),
    )


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
