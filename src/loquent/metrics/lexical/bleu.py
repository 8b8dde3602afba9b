"""BLEU-1 to BLEU-4 (Papineni et al. 2002) of the corpus and of each sample, as Hugging Face's `bleu`.

Matches are clipped by the largest count in any reference, and summed over samples before the ratio is taken:

    p_n = matched n-grams / n-grams of the predictions
    BLEU-N = min(1, exp(1 - r / c)) (p_1 ... p_N)^(1/N)

where c is the length of the predictions, and r the sum of the lengths of each sample's *shortest* reference
(sacrebleu uses the closest length). Without smoothing, BLEU-4 is 0 if no 4-gram matches, and so for texts of
fewer than four words. `smoothing="add-one"` uses (matched + 1) / (n-grams + 1) for every n (Lin and Och 2004;
`smooth` of the original script).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from loquent.core.metric import Context, Measured, Samples, Scores, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import MissingExtra
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.shared_parts import Tally, Words, of_tallies, score_samples

ORDERS = (1, 2, 3, 4)
CACHED_TEXTS = 256  # enough for the references of one prompt; more would slow down garbage collection


@dataclass(frozen=True, kw_only=True)
class BleuOptions:
    """Options of the metric `bleu`."""

    tokenizer: str = setting(
        "13a",
        "tokens of mteval-v13a (needs sacrebleu), or white space as in RL4LMs; both are case-sensitive",
        choices=("13a", "whitespace"),
    )
    smoothing: str = setting(
        "none",
        "smoothing of precisions: none, or add one to matches and totals",
        choices=("none", "add-one"),
    )


@dataclass(frozen=True)
class TokenCounts:
    """The length of a text, and the counts of its n-grams of one to four tokens."""

    length: int
    grams: Counter[Words]


@dataclass(frozen=True)
class Matches:
    """The counts that BLEU needs: both lengths, and per order matches and totals.

    They are summed over samples.
    """

    predicted: float
    reference: float
    matched: tuple[float, ...]
    total: tuple[float, ...]


@dataclass(frozen=True)
class Bleu(Share):
    """BLEU-4 under `bleu`; BLEU-1 to BLEU-4 under `bleu/bleu1`, ..., `bleu/bleu4`."""

    tokenizer: str = "13a"
    smoothing: str = "none"
    name: ClassVar[str] = "bleu"

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric returns."""
        return ("bleu", *(f"bleu/bleu{n}" for n in ORDERS))

    def __call__(self, samples: Samples) -> Measured:
        """Score the corpus, and each sample as a corpus of one sample."""
        counts = self._counts(samples)
        scores = [None if matches is None else self._scores(matches) for matches in counts]
        columns: Scores = {
            key: [None if values is None else values[key] for values in scores] for key in self.keys
        }
        return of_tallies(self, columns, _tally(counts))

    def tally(self, samples: Samples) -> Tally:
        """float[samples, 11]: 1 and the counts of each sample; zeros for a sample without references."""
        return _tally(self._counts(samples))

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores."""
        samples, predicted, reference, *counts = total.tolist()
        if not samples:
            return {}
        matched, totals = tuple(counts[: len(ORDERS)]), tuple(counts[len(ORDERS) :])
        return self._scores(Matches(predicted, reference, matched, totals))

    def _counts(self, samples: Samples) -> list[Matches | None]:
        tokenize = str.split if self.tokenizer == "whitespace" else _tokenizer_13a()
        read = lru_cache(maxsize=CACHED_TEXTS)(lambda text: token_counts(tokenize(text)))

        def count(prediction: str, texts: Sequence[str]) -> Matches:
            return count_matches(read(prediction), [read(text) for text in texts], shortest)

        return score_samples(count, samples.predictions, samples.references)

    def _scores(self, matches: Matches) -> dict[str, float]:
        scores = bleu_scores(matches, 1 if self.smoothing == "add-one" else 0)
        return {"bleu": scores[-1]} | {f"bleu/bleu{n}": score for n, score in zip(ORDERS, scores)}


@takes(BleuOptions)
def bleu(context: Context, options: BleuOptions) -> Bleu:
    """BLEU-1 to BLEU-4, corpus and samples. Needs loquent[metrics], except with tokenizer=whitespace.

    The scores equal those of Hugging Face's `bleu`.
    """
    return Bleu(options.tokenizer, options.smoothing)


def count_matches(
    prediction: TokenCounts,
    references: Sequence[TokenCounts],
    choose_length: Callable[[int, Sequence[int]], int],
) -> Matches:
    """The counts of one sample.

    `choose_length` returns the reference length r from the prediction's length and the references' lengths.
    """
    first = references[0].grams
    most = {gram: first[gram] for gram in prediction.grams.keys() & first.keys()}
    for reference in references[1:]:
        for gram in prediction.grams.keys() & reference.grams.keys():
            most[gram] = max(most.get(gram, 0), reference.grams[gram])
    matched = [0] * len(ORDERS)
    for gram, count in most.items():
        matched[len(gram) - 1] += min(count, prediction.grams[gram])
    length = choose_length(prediction.length, [reference.length for reference in references])
    totals = tuple(max(prediction.length - n + 1, 0) for n in ORDERS)
    return Matches(prediction.length, length, tuple(matched), totals)


def shortest(length: int, references: Sequence[int]) -> int:
    """The length of the shortest reference."""
    return min(references)


def bleu_scores(matches: Matches, add: int = 0) -> list[float]:
    """BLEU-1 to BLEU-4 from counts; `add` is added to matches and totals."""
    if not matches.predicted:
        return [0.0] * len(ORDERS)
    brevity = math.exp(min(0.0, 1 - matches.reference / matches.predicted))
    precisions = [
        (hits + add) / (total + add) if total + add else 0.0
        for hits, total in zip(matches.matched, matches.total)
    ]
    return [brevity * math.prod(precisions[:n]) ** (1 / n) for n in ORDERS]


def token_counts(tokens: Sequence[str]) -> TokenCounts:
    """The length and the n-grams of a text."""
    grams: Counter[Words] = Counter()
    for n in ORDERS:
        grams.update(ngrams(tokens, n))
    return TokenCounts(len(tokens), grams)


def _tally(counts: Sequence[Matches | None]) -> Tally:
    none = (0.0,) * (3 + 2 * len(ORDERS))
    rows = [
        none
        if matches is None
        else (1.0, matches.predicted, matches.reference, *matches.matched, *matches.total)
        for matches in counts
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(none))


def _tokenizer_13a() -> Callable[[str], list[str]]:
    try:
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    except ImportError as error:
        raise MissingExtra("bleu with the tokenizer 13a", "metrics") from error
    tokenizer = Tokenizer13a()
    return lambda text: tokenizer(text).split()
