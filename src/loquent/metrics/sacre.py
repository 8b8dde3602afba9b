"""SacreBLEU, chrF and TER: the scores of the package sacrebleu, for samples with any number of references, divided by 100.

What is added to the package: samples may have unequal numbers of references and empty texts; samples and corpus come from one pass;
a sample's SacreBLEU counts only the orders of n-grams that it has ("effective order"), as sacrebleu's own sentence scores do.
N-grams are counted by `sacre_counts`, which is faster; tokenizers, edits, and scores of counts are the package's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loquent.errors import BadSetting, MissingExtra
from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import Tally, each
from loquent.metrics.sacre_counts import count_characters, count_edits, count_words
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class SacrebleuOptions:
    """What the metric `sacrebleu` may be told."""

    tokenize: str = setting(
        "13a", "sacrebleu's tokenizer", choices=("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none")
    )
    lowercase: bool = setting(False, "case does not count")
    smoothing: str = setting("exp", "sacrebleu's smoothing of precisions that are 0", choices=("exp", "floor", "add-k", "none"))


@dataclass(frozen=True, kw_only=True)
class ChrfOptions:
    """What the metric `chrf` may be told."""

    char_order: int = setting(6, "the longest n-grams of characters", source="Popović 2015", low=1)
    word_order: int = setting(0, "the longest n-grams of words; 2 is chrF++", source="Popović 2017", low=0)
    beta: int = setting(2, "the weight of recall", source="Popović 2016", low=1)
    lowercase: bool = setting(False, "case does not count")


@dataclass(frozen=True, kw_only=True)
class TerOptions:
    """What the metric and the reward `ter` may be told."""

    normalized: bool = setting(False, "punctuation is split off and markup undone, as in tercom's -N")
    case_sensitive: bool = setting(False, "case counts")
    punctuation: bool = setting(True, "punctuation counts")


Counted = Callable[[Any, str, Sequence[str]], list[float]]  # of a metric of sacrebleu, a prediction and its references


@dataclass(frozen=True, eq=False)
class Sacre:
    """A metric of sacrebleu: `make()` gives it for the corpus, `make_own()` for single samples, where that differs."""

    name: str
    make: Callable[[], Any]
    count: Counted
    make_own: Callable[[], Any] | None = None
    higher_is_better: bool | None = True
    inverted: bool = False  # 1 - score
    version: int = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the corpus and each sample that has a reference."""
        counts = self._counts(predictions, references)
        single = self._metrics[1]
        samples = [None if own is None else self._scaled(single._compute_score_from_stats(own[:]).score) for own in counts]
        return Measured({self.name: samples}, self.of_tally(_tally(counts).sum(0)))

    def tally(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Tally:
        """What sacrebleu counts in each sample behind a 1, zeros where it has no reference."""
        return _tally(self._counts(predictions, references))

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus score."""
        samples, *counts = total.tolist()
        return {self.name: self._scaled(self._metrics[0]._compute_score_from_stats(counts).score)} if samples else {}

    def _counts(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[float] | None]:
        return each(lambda said, own: self.count(self._metrics[0], said, own), predictions, references)

    @cached_property
    def _metrics(self) -> tuple[Any, Any]:
        corpus = self.make()
        return corpus, self.make_own() if self.make_own else corpus

    def _scaled(self, score: float) -> float:
        if self.inverted:
            return 1 - score / 100
        return min(1.0, score / 100) if self.higher_is_better else score / 100  # an exponential may end a hair above 1; TER may exceed it


@takes(SacrebleuOptions)
def sacrebleu(context: Context, options: SacrebleuOptions) -> Sacre:
    """SacreBLEU / 100: corpus BLEU with fixed tokens and exponential smoothing, samples with effective order. Needs loquent[metrics].

    Raises:
        BadSetting: the tokenizer needs a package that is not installed.
    """
    library = _library("sacrebleu")

    def make(effective: bool = False) -> Any:
        return library.BLEU(
            tokenize=options.tokenize, lowercase=options.lowercase, smooth_method=options.smoothing, effective_order=effective, force=True
        )

    try:
        make()
    except (ImportError, RuntimeError, OSError) as error:
        raise BadSetting(f"sacrebleu.tokenize = {options.tokenize!r} cannot be used here: {error}") from error
    return Sacre("sacrebleu", make, count_words, lambda: make(True))


@takes(ChrfOptions)
def chrf(context: Context, options: ChrfOptions) -> Sacre:
    """The chrF / 100: F of character n-grams, recall twice as heavy. Needs loquent[metrics]."""
    library = _library("chrf")
    given = {"char_order": options.char_order, "word_order": options.word_order, "beta": options.beta, "lowercase": options.lowercase}
    return Sacre("chrf", lambda: library.CHRF(**given), count_characters)


@takes(TerOptions)
def ter(context: Context, options: TerOptions) -> Sacre:
    """TER / 100: edits and shifts per word of the reference; lower is better, and it may exceed 1. Needs loquent[metrics]."""
    return _ter(options, False)


@takes(TerOptions, "ter")
def ter_reward(context: Context, options: TerOptions) -> Sacre:
    """1 - TER / 100: 1 for the reference itself, below 0 for far longer texts. Needs loquent[metrics]."""
    return _ter(options, True)


def _ter(options: TerOptions, inverted: bool) -> Sacre:
    library = _library("ter")
    given = {"normalized": options.normalized, "case_sensitive": options.case_sensitive, "no_punct": not options.punctuation}
    return Sacre("ter", lambda: library.TER(**given), count_edits, higher_is_better=inverted, inverted=inverted)


def _tally(counts: Sequence[list[float] | None]) -> Tally:
    width = next((len(own) for own in counts if own is not None), 0)
    return np.array([(0.0,) * (1 + width) if own is None else (1.0, *own) for own in counts], dtype=np.float64).reshape(-1, 1 + width)


def _library(what: str) -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise MissingExtra(what, "metrics") from error
    return metrics
