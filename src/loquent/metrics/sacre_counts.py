"""What the scores of sacrebleu are made of, counted for one sample with any number of references: equal to what the package counts itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from loquent.metrics.bleu import counted, reading


def count_words(metric: Any, said: str, references: Sequence[str]) -> list[float]:
    """The counts of SacreBLEU: both lengths, of the reference the closest (of two the shorter); matches and totals by order."""
    read, *wanted = (reading(metric._preprocess_segment(text).split()) for text in (said, *references))
    own = counted(read, wanted, lambda length, lengths: min(lengths, key=lambda other: (abs(length - other), other)))
    return [own.said, own.wanted, *own.matched, *own.total]


def count_edits(metric: Any, said: str, references: Sequence[str]) -> list[float]:
    """The counts of TER: the least edits, and the mean length of the references."""
    [counts] = metric._extract_corpus_statistics([said], [[text] for text in references])
    return counts  # type: ignore[no-any-return]


def count_characters(metric: Any, said: str, references: Sequence[str]) -> list[float]:
    """The counts of chrF against the best reference: for each order n-grams of the prediction, of the reference, and in both.

    Of equally good references the shortest counts, as it lowers the recall of the corpus least; of these the first by alphabet.
    """
    own = [(Counter(grams), len(grams)) for grams in _grams(metric, said)]
    found = (_matches(own, _grams(metric, text)) for text in sorted(references, key=lambda text: (len(text), text)))
    return max(found, key=metric._compute_f_score)


def _grams(metric: Any, text: str) -> list[list[str]]:
    """The n-grams of characters without white space, and of words with single marks split off, of each order."""
    text = metric._preprocess_segment(text)
    line = "".join(text.split())
    grams = [[line[i : i + n] for i in range(len(line) - n + 1)] for n in range(1, metric.char_order + 1)]
    words = metric._remove_punctuation(text) if metric.word_order else []
    return grams + [[" ".join(words[i : i + n]) for i in range(len(words) - n + 1)] for n in range(1, metric.word_order + 1)]


def _matches(said: Sequence[tuple[Counter[str], int]], wanted: Sequence[Sequence[str]]) -> list[float]:
    counts: list[float] = []
    for (own, length), grams in zip(said, wanted):
        if len(own) == length:  # none twice: most long n-grams
            hits = len(own.keys() & grams)
        else:
            hits = sum(min(own[gram], count) for gram, count in Counter(filter(own.__contains__, grams)).items())
        counts += (length if grams else 0, len(grams), hits)
    return counts
