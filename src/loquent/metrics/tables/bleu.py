"""BLEU as ToTTo measures it: lower case, detokenised, sacrebleu against three references, for all and for both halves of the overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from loquent.errors import MissingExtra
from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.tables import words
from loquent.metrics.tables.rows import overlap
from loquent.settings import setting
from loquent.task import Row

SUBSETS = {"": (True, False, None), "/overlap": (True,), "/nonoverlap": (False,)}


@dataclass(frozen=True, kw_only=True)
class BleuTottoOptions:
    """What the metric `bleu_totto` may be told."""

    pad: bool = setting(True, "for the corpus, fewer than three references are filled up with '<null>' ones: as the official files are")


@dataclass(frozen=True)
class BleuTotto:
    """For the corpus sacrebleu's BLEU of the official files; per sample that of one sentence against its own references, 0 for an empty answer."""

    pad: bool = True
    name: ClassVar[str] = "bleu_totto"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS)
    corpus_only: ClassVar[tuple[str, ...]] = tuple(f"bleu_totto{subset}" for subset in SUBSETS if subset)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions against their references; a row says by `overlap_subset` which half it is of.

        Raises:
            BadRow: `overlap_subset` is neither true nor false.
        """
        told = [overlap(row) for row in rows]
        own = [self._one(text, some) for text, some in zip(predictions, references, strict=True)]
        samples = [None if one is None else one[0] for one in own]
        corpus: dict[str, float] = {}
        for subset, which in SUBSETS.items():
            parts = [one[1] for one, said in zip(own, told, strict=True) if one is not None and said in which]
            if parts:
                corpus[f"bleu_totto{subset}"] = _corpus(parts)
        return Measured({self.name: samples}, corpus)

    def _one(self, prediction: str, references: Sequence[str]) -> tuple[float, Any] | None:
        """The sentence's own score, and what it adds to the corpus."""
        if not references:
            return None
        said, wanted = words.answer(prediction), [words.line(text) for text in references]
        own = _bleu().sentence_score(said, wanted)
        missing = self.pad and len(references) < words.REFERENCES
        counted = _bleu().sentence_score(said, words.padded(references)) if missing else own
        return (own.score / 100 if prediction.strip() else 0.0), counted


@takes(BleuTottoOptions)
def bleu_totto(context: Context, options: BleuTottoOptions) -> BleuTotto:
    """BLEU by the official evaluation of ToTTo, with its overlap subsets. Needs loquent[metrics].

    Raises:
        MissingExtra: no sacrebleu.
    """
    _bleu()
    return BleuTotto(options.pad)


def _corpus(parts: Sequence[Any]) -> float:
    """BLEU from the counts of all sentences together."""
    correct = [sum(one.counts[n] for one in parts) for n in range(4)]
    total = [sum(one.totals[n] for one in parts) for n in range(4)]
    lengths = sum(one.sys_len for one in parts), sum(one.ref_len for one in parts)
    return float(_bleu().compute_bleu(correct, total, *lengths, smooth_method="exp").score) / 100


@cache
def _bleu() -> Any:
    """Sacrebleu's BLEU: 13a, n up to 4, exponential smoothing; for one sentence the orders it has."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtra("bleu_totto (sacrebleu)", "metrics") from error
    return BLEU(effective_order=True)
