"""What is measured beside a reward where a recipe names no metrics: cheap marks of texts that serve a reward and nothing else.

    watch/overlap       F1 of the words shared with the nearest reference, a word as often as it stands; absent without references
    watch/repetition    mean share of an answer's trigrams that it has said before
    watch/copied        mean share of an answer's trigrams of words that stand in its prompt
    watch/distinct_2    different bigrams of all answers, as a share of all their bigrams
    watch/same          share of the answers that some other answer is too, word for word
    watch/words         mean length of an answer, punctuation not counted

More of `overlap` and `distinct_2` is better, less of `repetition`, `copied` and `same`; a length is neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.diversity import ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, mean, words
from loquent.task import Row
from loquent.values import Record


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The metric `watch` takes no options."""


@dataclass(frozen=True)
class Watch:
    """Per sample overlap, repetition, copying and length; for the corpus their means and what only a corpus has."""

    name: ClassVar[str] = "watch"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = None
    directions: ClassVar[Record] = Record(
        {"watch/overlap": True, "watch/repetition": False, "watch/copied": False, "watch/distinct_2": True, "watch/same": False, "watch/words": None}
    )
    keys: ClassVar[tuple[str, ...]] = tuple(directions)
    corpus_only: ClassVar[tuple[str, ...]] = ("watch/distinct_2", "watch/same")

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Measure the predictions beside their references and prompts."""
        said = [words(text) for text in predictions]
        bare = [[word for word in one if not is_punctuation(word)] for one in said]
        samples: dict[str, list[float | None]] = {
            "watch/overlap": [_overlap(own, told) for own, told in zip(said, references, strict=True)],
            "watch/repetition": [_repeated(one) for one in said],
            "watch/copied": [_copied(own, prompt) for own, prompt in zip(bare, prompts, strict=True)],
            "watch/words": [float(len(one)) for one in bare],
        }
        corpus = {key: average for key, scores in samples.items() if (average := mean(scores)) is not None}
        pairs = Counter(chain.from_iterable(ngrams(one, 2) for one in said))
        if pairs:
            corpus["watch/distinct_2"] = len(pairs) / pairs.total()
        if said:
            times = Counter(map(tuple, said))
            corpus["watch/same"] = sum(count for count in times.values() if count > 1) / len(said)
        return Measured(samples, corpus)


@takes(WatchOptions)
def watch(context: Context, options: WatchOptions) -> Watch:
    """The registered metric `watch`: overlap with references, repetition, copying, diversity and length, cheap enough for any run."""
    return Watch()


def _overlap(said: Sequence[str], references: Sequence[str]) -> float | None:
    """The best F1 of shared words over the references; None without one that has words."""
    found = [f1(said, other) for other in map(words, references) if other]
    return max(found) if found else None


def f1(said: Sequence[str], other: Sequence[str]) -> float:
    """Harmonic mean of the shares of both texts' words that the other has too; 0 where they share none."""
    shared = (Counter(said) & Counter(other)).total()
    return 2 * shared / (len(said) + len(other)) if shared else 0.0


def _repeated(said: Sequence[str]) -> float | None:
    grams = list(ngrams(said, 3))
    return 1 - len(set(grams)) / len(grams) if grams else None


def _copied(said: Sequence[str], prompt: str) -> float | None:
    grams = list(ngrams(said, 3))
    known = set(ngrams([word for word in words(prompt) if not is_punctuation(word)], 3))
    return sum(gram in known for gram in grams) / len(grams) if grams else None
