"""Cheap measures that show texts optimised for a reward alone.

They are logged beside the reward when a recipe names no metrics.

    watch/overlap       F1 of the bag of words with the nearest reference; absent without references
    watch/repetition    mean share of an answer's trigrams that repeat an earlier one
    watch/copied        mean share of an answer's trigrams of words that occur in its prompt
    watch/distinct_2    different bigrams of all answers, as a share of all their bigrams
    watch/same          share of the answers that equal another answer, word for word
    watch/words         mean length of an answer in words, without punctuation

Higher is better for `overlap` and `distinct_2`, lower for `repetition`, `copied` and `same`, neither for
`words`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from loquent.core.metric import SHARES, Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.values import Record
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.diversity.occurrences import Numbers, Occurrences
from loquent.metrics.diversity.repetition import copied_share, repeated_share
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import bag_f1, without_punctuation, words


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The metric `watch` takes no options."""


@dataclass(frozen=True)
class Watch:
    """Per sample overlap, repetition, copying and length; for the corpus means, `distinct_2` and `same`."""

    name: ClassVar[str] = "watch"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = None
    directions: ClassVar[Record] = Record(
        {
            "watch/overlap": True,
            "watch/repetition": False,
            "watch/copied": False,
            "watch/distinct_2": True,
            "watch/same": False,
            "watch/words": None,
        }
    )
    range: ClassVar[Range] = SHARES
    ranges: ClassVar[Record] = Record({"watch/words": (0.0, math.inf)})
    keys: ClassVar[tuple[str, ...]] = tuple(directions)
    penalties: ClassVar[Record] = Record(
        {"watch/repetition": ("repetition", Record(n=3)), "watch/copied": ("copying", Record(n=3))}
    )
    corpus_only: ClassVar[tuple[str, ...]] = ("watch/distinct_2", "watch/same")

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions by their references and prompts; rows are not read."""
        answers = [words(text) for text in samples.predictions]
        bare = [without_punctuation(answer) for answer in answers]
        sources = [without_punctuation(words(prompt)) for prompt in samples.prompts]
        measured = with_means(
            {
                "watch/overlap": [
                    _overlap(answer, texts) for answer, texts in zip(answers, samples.references, strict=True)
                ],
                "watch/repetition": [repeated_share(answer, 3) for answer in answers],
                "watch/copied": [
                    copied_share(answer, source, 3) for answer, source in zip(bare, sources, strict=True)
                ],
                "watch/words": [float(len(answer)) for answer in bare],
            }
        )
        bigrams = Occurrences(ngrams(answer, 2) for answer in answers)
        texts = Occurrences([tuple(answer)] for answer in answers)

        def leave_out(numbers: Sequence[int]) -> dict[str, float]:
            return _together(bigrams.without(numbers), texts.without(numbers))

        return replace(measured, corpus=measured.corpus | leave_out(()), leave_out=leave_out)


@takes(WatchOptions)
def watch(context: Context, options: WatchOptions) -> Watch:
    """Signs of a gamed reward: overlap with references, repetition, copying, diversity and length."""
    return Watch()


def _together(bigrams: Numbers, texts: Numbers) -> dict[str, float]:
    """The scores of all answers together, from the counts of their bigrams and of equal answers."""
    scores: dict[str, float] = {}
    if total := int(bigrams.sum()):
        scores["watch/distinct_2"] = np.count_nonzero(bigrams) / total
    if total := int(texts.sum()):
        scores["watch/same"] = int(texts[texts > 1].sum()) / total
    return scores


def _overlap(answer: Sequence[str], references: Sequence[str]) -> float | None:
    """The best F1 of bags of words over the references; None if no reference has a word."""
    scores = [bag_f1(answer, reference) for reference in map(words, references) if reference]
    return max(scores) if scores else None
