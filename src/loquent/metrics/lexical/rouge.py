"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum (Lin 2004), F1, with the words of Google's rouge-score.

Words are runs of a-z and 0-9 of the lower-cased text. Words of more than three letters are stemmed (Porter).
With `hits` the common words, n-grams, or words of the longest common subsequence,

    P = hits / count in the prediction     R = hits / count in the reference     F1 = 2PR / (P + R)

ROUGE-Lsum treats lines as sentences. The main score `rouge` is the mean of ROUGE-1, 2 and L: the reward of
RL4LMs (arXiv:2210.01241).
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.lexical.subsequences import lcs_length, union_hits
from loquent.metrics.shared_parts import Words, references_as_text, score_samples, stemmer, with_means
from loquent.metrics.text import f1_from_counts, shared_count

NAMES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
WORD = re.compile("[a-z0-9]+")
UNSTEMMED = 3  # words of up to this number of letters are not stemmed
Counts = tuple[int, int, int]  # hits, count in the prediction, count in the reference


@dataclass(frozen=True, kw_only=True)
class RougeOptions:
    """Options of the metric `rouge`."""

    references: str = setting(
        "best",
        "with several references: the best F1 of each kind, the first reference, or summed hits and lengths",
        choices=("best", "first", "multi"),
    )
    stem: bool = setting(True, "stem words (needs NLTK)", source="RL4LMs, rouge-score's use_stemmer")
    legacy: bool = setting(
        False,
        "score against the list of references as one text, as RL4LMs with use_single_ref=False; "
        "changes the keys",
    )


@dataclass(frozen=True)
class Document:
    """A text as ROUGE reads it: its lines, its words, and its counts of words and bigrams."""

    lines: tuple[Words, ...]
    words: Words
    grams: tuple[Counter[str], Counter[Words]]


@dataclass(frozen=True)
class Rouge(Share):
    """F1 of each kind under `NAME/rouge1`, ...; the mean of ROUGE-1, 2 and L under `NAME`."""

    references: str = "best"
    stem: bool = True
    legacy: bool = False

    @property
    def name(self) -> str:
        """`rouge`, or `rouge-legacy`."""
        return "rouge-legacy" if self.legacy else "rouge"

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric returns."""
        return (self.name, *(f"{self.name}/{kind}" for kind in NAMES))

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references."""
        read = cache(self._read)

        def score(prediction: str, texts: Sequence[str]) -> list[float]:
            return self._scores(read(prediction), [read(text) for text in texts])

        targets = references_as_text(samples.references) if self.legacy else samples.references
        scores = score_samples(score, samples.predictions, targets)
        columns: dict[str, list[float | None]] = {
            self.name: [None if kinds is None else statistics.fmean(kinds[:3]) for kinds in scores]
        }
        for i, kind in enumerate(NAMES):
            columns[f"{self.name}/{kind}"] = [None if kinds is None else kinds[i] for kinds in scores]
        return with_means(columns)

    def _read(self, text: str) -> Document:
        stem = stemmer() if self.stem else str
        lines = tuple(
            tuple(stem(word) if len(word) > UNSTEMMED else word for word in WORD.findall(line))
            for line in text.lower().split("\n")
        )
        words = tuple(word for line in lines for word in line)
        return Document(tuple(filter(None, lines)), words, (Counter(words), Counter(pairwise(words))))

    def _scores(self, prediction: Document, references: Sequence[Document]) -> list[float]:
        chosen = references[:1] if self.references == "first" else references
        counts = [overlaps(prediction, reference) for reference in chosen]
        if self.references == "multi":
            return [f1_from_counts(*map(sum, zip(*kind))) for kind in zip(*counts)]
        return [max(f1_from_counts(*values) for values in kind) for kind in zip(*counts)]


@takes(RougeOptions)
def rouge(context: Context, options: RougeOptions) -> Rouge:
    """ROUGE-1, 2, L and Lsum, F1. Needs loquent[metrics], except with stem=false.

    The main score is the mean of ROUGE-1, 2 and L.
    """
    return Rouge(options.references, options.stem, options.legacy)


def overlaps(prediction: Document, reference: Document) -> tuple[Counts, ...]:
    """For each kind of ROUGE: the hits, and the counts in the prediction and in the reference."""
    n, m = len(prediction.words), len(reference.words)
    common = lcs_length(reference.words, prediction.words)
    single_line = max(len(prediction.lines), len(reference.lines)) <= 1
    return (
        (shared_count(prediction.grams[0], reference.grams[0]), n, m),
        (shared_count(prediction.grams[1], reference.grams[1]), max(n - 1, 0), max(m - 1, 0)),
        (common, n, m),
        (common if single_line else union_hits(reference.lines, prediction.lines), n, m),
    )
