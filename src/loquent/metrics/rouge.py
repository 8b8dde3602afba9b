"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum (Lin 2004), F1, with the words of Google's rouge-score.

Words are runs of a-z and 0-9 of the lower-cased text, stemmed by Porter where longer than three letters. With `hits` the common
words, n-grams or words of the longest common subsequence

    precision = hits / those of the prediction     recall = hits / those of the reference     F1 = 2PR / (P + R)

ROUGE-Lsum takes lines as sentences. The main score `rouge` is the mean of ROUGE-1, 2 and L, the reward of RL4LMs (arXiv:2210.01241).
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import Words, averaged, stemmer, stringified
from loquent.metrics.subsequences import lcs_length, union_hits
from loquent.settings import setting
from loquent.task import Row

NAMES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
WORD = re.compile("[a-z0-9]+")
SHORT = 3  # words of so many letters are their own stems
Counts = tuple[int, int, int]  # hits, of the prediction, of the reference


@dataclass(frozen=True, kw_only=True)
class RougeOptions:
    """What the metric `rouge` may be told."""

    references: str = setting(
        "best", "with several: the best F1 of each kind, the first alone, or hits and lengths summed over all", choices=("best", "first", "multi")
    )
    stem: bool = setting(True, "stem words (needs NLTK)", source="RL4LMs, rouge-score's use_stemmer")
    legacy: bool = setting(False, "the list of references as one text, as RL4LMs with use_single_ref=False; the keys say so")


@dataclass(frozen=True)
class Read:
    """A text as ROUGE reads it."""

    lines: tuple[Words, ...]
    words: Words
    grams: tuple[Counter[str], Counter[Words]]


@dataclass(frozen=True)
class Rouge:
    """F1 of each kind under `NAME/rouge1` and so on, their mean without Lsum under the name."""

    references: str = "best"
    stem: bool = True
    legacy: bool = False
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def name(self) -> str:
        """`rouge`, or `rouge-legacy`."""
        return "rouge-legacy" if self.legacy else "rouge"

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric gives."""
        return (self.name, *(f"{self.name}/{kind}" for kind in NAMES))

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references."""
        known = cache(self._read)
        wanted = stringified(references) if self.legacy else references
        pairs = zip(predictions, wanted, strict=True)
        kinds = [self._scores(known(said), [known(text) for text in own]) if len(own) else None for said, own in pairs]
        samples: dict[str, list[float | None]] = {self.name: [None if own is None else statistics.fmean(own[:3]) for own in kinds]}
        for i, kind in enumerate(NAMES):
            samples[f"{self.name}/{kind}"] = [None if own is None else own[i] for own in kinds]
        return averaged(samples)

    def _read(self, text: str) -> Read:
        stem = stemmer() if self.stem else str
        lines = tuple(tuple(stem(word) if len(word) > SHORT else word for word in WORD.findall(line)) for line in text.lower().split("\n"))
        words = tuple(word for line in lines for word in line)
        return Read(tuple(filter(None, lines)), words, (Counter(words), Counter(pairwise(words))))

    def _scores(self, said: Read, wanted: Sequence[Read]) -> list[float]:
        counts = [overlaps(said, one) for one in (wanted[:1] if self.references == "first" else wanted)]
        if self.references == "multi":
            return [f1(*map(sum, zip(*kind))) for kind in zip(*counts)]
        return [max(f1(*one) for one in kind) for kind in zip(*counts)]


@takes(RougeOptions)
def rouge(context: Context, options: RougeOptions) -> Rouge:
    """ROUGE-1, 2, L and Lsum against references, F1; the main score is the mean of the first three. Needs loquent[metrics] to stem."""
    return Rouge(options.references, options.stem, options.legacy)


def overlaps(said: Read, wanted: Read) -> tuple[Counts, ...]:
    """Per kind of ROUGE: hits, and how many there are in the prediction and in the reference."""
    n, m = len(said.words), len(wanted.words)
    common = lcs_length(wanted.words, said.words)
    whole = max(len(said.lines), len(wanted.lines)) <= 1
    return (
        (shared(said.grams[0], wanted.grams[0]), n, m),
        (shared(said.grams[1], wanted.grams[1]), max(n - 1, 0), max(m - 1, 0)),
        (common, n, m),
        (common if whole else union_hits(wanted.lines, said.lines), n, m),
    )


def shared(left: Mapping[Any, int], right: Mapping[Any, int]) -> int:
    """The size of the common part of two bags."""
    if len(left) > len(right):
        left, right = right, left
    return sum(min(count, right[gram]) for gram, count in left.items() if gram in right)


def f1(hits: int, said: int, wanted: int) -> float:
    """The harmonic mean of hits / said and hits / wanted; 0 without hits."""
    return 2 * hits / (said + wanted) if hits else 0.0
