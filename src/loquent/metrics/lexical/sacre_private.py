"""The private names of sacrebleu, which Loquent uses in this module alone.

Sacrebleu has no public names for the steps of its scores. They exist in sacrebleu >= 2.5, < 3, the bounds in
pyproject.toml, and were checked with 2.6.0. `tests/test_private_names.py` fails when one of them changes. A
`metric` is one of sacrebleu's metrics: BLEU, chrF or TER.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def prepare_text(metric: Any, text: str) -> str:
    """A text in the metric's letter case, tokenised."""
    text = metric._preprocess_segment(text)
    return text


def words_of(metric: Any, text: str) -> list[str]:
    """The words of a text for chrF, with punctuation marks split off."""
    words: list[str] = metric._remove_punctuation(text)
    return words


def counts_of(metric: Any, prediction: str, references: Sequence[str]) -> list[float]:
    """The metric's own counts of one sample."""
    [counts] = metric._extract_corpus_statistics([prediction], [[text] for text in references])
    return list(counts)


def f_score(metric: Any, counts: Sequence[float]) -> float:
    """The F-score of chrF, from its counts."""
    score: float = metric._compute_f_score(counts)
    return score


def score_of(metric: Any, counts: Sequence[float]) -> float:
    """The score in percent, from counts."""
    return float(metric._compute_score_from_stats(list(counts)).score)
