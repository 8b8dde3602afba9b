"""The counts behind sacrebleu's scores, for one sample with any number of references.

They equal the package's own counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from loquent.metrics.lexical.bleu import count_matches, token_counts
from loquent.metrics.lexical.sacre_private import counts_of, f_score, prepare_text, words_of


def count_words(metric: Any, prediction: str, references: Sequence[str]) -> list[float]:
    """The counts of SacreBLEU: both lengths, then matches and totals by order.

    The reference length is the closest one; of two equally close lengths, the shorter one.
    """
    texts = (prediction, *references)
    first, *others = (token_counts(prepare_text(metric, text).split()) for text in texts)
    matches = count_matches(first, others, _closest)
    return [matches.predicted, matches.reference, *matches.matched, *matches.total]


def count_edits(metric: Any, prediction: str, references: Sequence[str]) -> list[float]:
    """The counts of TER: the smallest number of edits, and the mean length of the references."""
    return counts_of(metric, prediction, references)


def count_characters(metric: Any, prediction: str, references: Sequence[str]) -> list[float]:
    """The counts of chrF against the best reference.

    For each order: n-grams of the prediction, n-grams of the reference, and common n-grams. Of references
    with equal scores the shortest is used, because it lowers the recall of the corpus least; of these, the
    first in sort order.
    """
    own = [(Counter(grams), len(grams)) for grams in _grams(metric, prediction)]
    ordered = sorted(references, key=lambda text: (len(text), text))
    counts = (_matches(own, _grams(metric, text)) for text in ordered)
    return max(counts, key=lambda values: f_score(metric, values))


def _closest(length: int, references: Sequence[int]) -> int:
    return min(references, key=lambda other: (abs(length - other), other))


def _grams(metric: Any, text: str) -> list[list[str]]:
    """The n-grams by order: first of characters, then of words.

    Characters are without white space; punctuation marks are split off words.
    """
    text = prepare_text(metric, text)
    line = "".join(text.split())
    grams = [[line[i : i + n] for i in range(len(line) - n + 1)] for n in range(1, metric.char_order + 1)]
    words = words_of(metric, text) if metric.word_order else []
    orders = range(1, metric.word_order + 1)
    return grams + [[" ".join(words[i : i + n]) for i in range(len(words) - n + 1)] for n in orders]


def _matches(
    prediction: Sequence[tuple[Counter[str], int]], reference: Sequence[Sequence[str]]
) -> list[float]:
    counts: list[float] = []
    for (own, length), grams in zip(prediction, reference):
        if len(own) == length:  # no n-gram occurs twice, as for most long n-grams
            hits = len(own.keys() & grams)
        else:
            hits = sum(
                min(own[gram], count) for gram, count in Counter(filter(own.__contains__, grams)).items()
            )
        counts += (length if grams else 0, len(grams), hits)
    return counts
