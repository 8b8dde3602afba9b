"""SacreBLEU, chrF and TER: sacrebleu's scores / 100, with any number of references per sample.

Differences from the package: samples may have unequal numbers of references and empty texts, and one pass
gives the sample and corpus scores. SacreBLEU of a sample uses only the n-gram orders that the sample has
("effective order"), as sacrebleu's own sentence scores do. `sacre_counts` counts the n-grams, because it is
faster. The tokenizers, the edits and the formulas are those of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting, MissingExtra
from loquent.metrics.lexical.sacre_counts import count_characters, count_edits, count_words
from loquent.metrics.lexical.sacre_private import score_of
from loquent.metrics.shared_parts import Tally, of_tallies, score_samples


@dataclass(frozen=True, kw_only=True)
class SacrebleuOptions:
    """Options of the metric `sacrebleu`."""

    tokenize: str = setting(
        "13a",
        "sacrebleu's tokenizer",
        choices=("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"),
    )
    lowercase: bool = setting(False, "ignore case")
    smoothing: str = setting(
        "exp",
        "sacrebleu's smoothing of precisions that are 0",
        choices=("exp", "floor", "add-k", "none"),
    )


@dataclass(frozen=True, kw_only=True)
class ChrfOptions:
    """Options of the metric `chrf`."""

    char_order: int = setting(6, "the largest n of the character n-grams", source="Popović 2015", low=1)
    word_order: int = setting(
        0, "the largest n of the word n-grams; 2 is chrF++", source="Popović 2017", low=0
    )
    beta: int = setting(2, "the weight of recall", source="Popović 2016", low=1)
    lowercase: bool = setting(False, "ignore case")


@dataclass(frozen=True, kw_only=True)
class TerOptions:
    """Options of the metric and the reward `ter`."""

    normalized: bool = setting(False, "split off punctuation and undo markup, as tercom's -N")
    case_sensitive: bool = setting(False, "compare words with case")
    punctuation: bool = setting(True, "compare punctuation too")


# (a metric of sacrebleu, prediction, references) -> counts
Count = Callable[[Any, str, Sequence[str]], list[float]]


@dataclass(frozen=True, eq=False)
class Sacre(Share, OneKey):
    """A metric of sacrebleu that is a share.

    `make()` returns sacrebleu's metric for the corpus, and `make_single()` the one for samples if it differs.
    """

    name: str
    make: Callable[[], Any]
    count: Count
    make_single: Callable[[], Any] | None = None

    def __call__(self, samples: Samples) -> Measured:
        """Score the corpus and each sample with references."""
        counts = self._counts(samples)
        single = self._metrics[1]
        columns = [None if values is None else self._scaled(score_of(single, values)) for values in counts]
        return of_tallies(self, {self.name: columns}, _tally(counts))

    def tally(self, samples: Samples) -> Tally:
        """float[samples, 1 + counts]: 1 and sacrebleu's counts of each sample.

        A sample without references has zeros.
        """
        return _tally(self._counts(samples))

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus score."""
        samples, *counts = total.tolist()
        if not samples:
            return {}
        return {self.name: self._scaled(score_of(self._metrics[0], counts))}

    def _counts(self, samples: Samples) -> list[list[float] | None]:
        metric = self._metrics[0]
        return score_samples(
            lambda prediction, texts: self.count(metric, prediction, texts),
            samples.predictions,
            samples.references,
        )

    @cached_property
    def _metrics(self) -> tuple[Any, Any]:
        corpus = self.make()
        return corpus, self.make_single() if self.make_single else corpus

    def _scaled(self, score: float) -> float:
        return min(1.0, score / 100)  # an exponential of logarithms can exceed 1 by rounding


class Ter(Sacre):
    """The edit rate, which can exceed 1."""

    higher_is_better = False
    range = (0.0, math.inf)

    def _scaled(self, score: float) -> float:
        return score / 100


class TerReward(Sacre):
    """1 - the edit rate."""

    range = (-math.inf, 1.0)

    def _scaled(self, score: float) -> float:
        return 1 - score / 100


@takes(SacrebleuOptions)
def sacrebleu(context: Context, options: SacrebleuOptions) -> Sacre:
    """SacreBLEU / 100, with fixed tokens and exponential smoothing. Needs loquent[metrics].

    Samples are scored with effective order.

    Raises:
        BadSetting: the tokenizer needs a package that is not installed.
    """
    library = _library("sacrebleu")

    def make(effective: bool = False) -> Any:
        return library.BLEU(
            tokenize=options.tokenize,
            lowercase=options.lowercase,
            smooth_method=options.smoothing,
            effective_order=effective,
            force=True,
        )

    try:
        make()
    except (ImportError, RuntimeError, OSError) as error:
        raise BadSetting(f"sacrebleu.tokenize = {options.tokenize!r} cannot be used here: {error}") from error
    return Sacre("sacrebleu", make, count_words, lambda: make(True))


@takes(ChrfOptions)
def chrf(context: Context, options: ChrfOptions) -> Sacre:
    """The chrF / 100: F of character n-grams, with recall weighted by `beta`. Needs loquent[metrics]."""
    library = _library("chrf")

    def make() -> Any:
        return library.CHRF(
            char_order=options.char_order,
            word_order=options.word_order,
            beta=options.beta,
            lowercase=options.lowercase,
        )

    return Sacre("chrf", make, count_characters)


@takes(TerOptions)
def ter(context: Context, options: TerOptions) -> Ter:
    """TER / 100: edits per word of the reference; lower is better. Needs loquent[metrics].

    Shifts count as edits. The score can exceed 1.
    """
    return Ter("ter", _ter(options), count_edits)


@takes(TerOptions, "ter")
def ter_reward(context: Context, options: TerOptions) -> TerReward:
    """1 - TER / 100: 1 for the reference itself, below 0 for much longer texts. Needs loquent[metrics]."""
    return TerReward("ter", _ter(options), count_edits)


def _ter(options: TerOptions) -> Callable[[], Any]:
    library = _library("ter")

    def make() -> Any:
        return library.TER(
            normalized=options.normalized,
            case_sensitive=options.case_sensitive,
            no_punct=not options.punctuation,
        )

    return make


def _tally(counts: Sequence[list[float] | None]) -> Tally:
    width = next((len(values) for values in counts if values is not None), 0)
    rows = [(0.0,) * (1 + width) if values is None else (1.0, *values) for values in counts]
    return np.array(rows, dtype=np.float64).reshape(-1, 1 + width)


def _library(metric: str) -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise MissingExtra(metric, "metrics") from error
    return metrics
