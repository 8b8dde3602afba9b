"""Perplexity, two named metrics: of the policy on references, and of generations under a fixed model.

Both are exp(total negative log-likelihood / total tokens), the end token counted, each text after its prompt. Texts beyond the
model's context are scored in overlapping windows. With a stride the first is the one that RL4LMs (arXiv:2210.01241) reports: all references
as one text, read in windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from loquent.errors import BadRow, BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import Tally
from loquent.settings import setting
from loquent.task import Row

JOIN = "\n\n"  # RL4LMs' between references
LARGEST = 700.0  # exp beyond is an infinity in float64


@dataclass(frozen=True, kw_only=True)
class PerplexityOptions:
    """What the metric `perplexity` may be told."""

    stride: int = setting(0, "above 0: the references as one text, read in windows that move on by so many tokens", source="RL4LMs: 512", low=0)
    field: str = setting("", "with a stride: the rows' field to read in the place of the references, as `text` for prompt and reference together")
    token_budget: int = setting(8192, "tokens in one forward pass", low=1)

    def __post_init__(self) -> None:
        if self.field and not self.stride:
            raise BadSetting("field is read with a stride; without one each reference is scored after its prompt")


@dataclass(frozen=True, kw_only=True)
class TextPerplexityOptions:
    """What the metric `text_perplexity` may be told."""

    path: str = setting(why="the fixed language model: a Hugging Face folder or name")
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "where that model lives", choices=("auto", "cpu", "cuda"))
    token_budget: int = setting(8192, "tokens in one forward pass", low=1)


@dataclass(frozen=True, eq=False)
class Perplexity:
    """Perplexity under `model()`, of each sample's references or of the predictions; a sample without text has none."""

    name: str
    model: Callable[[], Any]
    of_references: bool
    token_budget: int = 8192
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score all texts in one go."""
        tally = self.tally(predictions, references, prompts, rows)
        samples = [exponential(loss / tokens) if tokens else None for loss, tokens in tally.tolist()]
        return Measured({self.name: samples}, self.of_tally(tally.sum(0)))

    def tally(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Tally:
        """The negative log-likelihood of each sample's texts, and their tokens."""
        from loquent import pretrained

        texts = [tuple(own) for own in references] if self.of_references else [(text,) for text in predictions]
        owner = [i for i, own in enumerate(texts) for text in own if text]
        told = [text for own in texts for text in own if text]
        losses = pretrained.nll(self.model(), [prompts[i] for i in owner], told, token_budget=self.token_budget) if told else []
        tally = np.zeros((len(texts), 2))
        for i, loss in zip(owner, losses, strict=True):
            tally[i] += loss
        return tally

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus score."""
        loss, tokens = total.tolist()
        return {self.name: exponential(loss / tokens)} if tokens else {}


@dataclass(frozen=True, eq=False)
class StridedPerplexity:
    """RL4LMs' perplexity of `model()`: all references, joined by blank lines, as one text in windows; one number for the corpus."""

    model: Callable[[], Any]
    stride: int
    field: str = ""
    token_budget: int = 8192
    name: ClassVar[str] = "perplexity-strided"
    keys: ClassVar[tuple[str, ...]] = ("perplexity-strided",)
    corpus_only: ClassVar[tuple[str, ...]] = keys
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score all references as one text, in the order of the samples.

        Raises:
            BadRow: a row has no text in the field that is to be read.
        """
        from loquent import pretrained

        texts = [self._text(row) for row in rows] if self.field else [text for own in references for text in own]
        if not any(texts):
            return Measured()
        loss, tokens = pretrained.strided(self.model(), JOIN.join(texts), self.stride, token_budget=self.token_budget)
        return Measured({}, {self.name: exponential(loss)} if tokens else {})

    def _text(self, row: Row) -> str:
        found = row.fields.get(self.field)
        if not isinstance(found, str):
            raise BadRow(f"row {row.id}: perplexity reads the field {self.field!r}, which is {found!r}; a text is right")
        return found


@takes(PerplexityOptions)
def perplexity(context: Context, options: PerplexityOptions) -> Perplexity | StridedPerplexity:
    """The policy's perplexity on references after their prompts, or strided as RL4LMs'; it follows the policy. Needs a policy that plays (a run).

    Raises:
        BadSetting: the context has no language model.
    """
    if context.model is None:
        raise BadSetting("perplexity is that of a language model on references, and no model plays here; text_perplexity takes one by path")
    if options.stride:
        return StridedPerplexity(lambda: context.model, options.stride, options.field, options.token_budget)
    return Perplexity("perplexity", lambda: context.model, True, options.token_budget)


@takes(TextPerplexityOptions)
def text_perplexity(context: Context, options: TextPerplexityOptions) -> Perplexity:
    """The perplexity of what was said under a fixed language model. Needs loquent[train] and a language model's folder or name."""

    @cache
    def model() -> Any:
        from loquent import pretrained

        return pretrained.load(options.path, revision=options.revision or None, device=options.device)

    return Perplexity("text_perplexity", model, False, options.token_budget)


def exponential(mean: float) -> float:
    """The exponential of a mean loss, bounded so that a hopeless model has a very large perplexity and not an infinite one."""
    return math.exp(min(mean, LARGEST))
