"""Perplexity, two metrics: of the policy on references, and of predictions under a fixed model.

Both are exp(total negative log-likelihood / total tokens). The end token counts, and each text follows its
prompt. Texts longer than the model's context are scored in overlapping windows. With a stride, the first
metric is that of RL4LMs (arXiv:2210.01241): all references as one text, read in windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from loquent.core.episode import TASK, Episode, Turn
from loquent.core.metric import Context, Measured, OneKey, Range, Rows, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import BadRow, BadSetting
from loquent.metrics.shared_parts import Tally, of_tallies

SEPARATOR = "\n\n"  # between references, as in RL4LMs
LARGEST = 700.0  # exp of a larger number overflows float64


@dataclass(frozen=True, kw_only=True)
class PerplexityOptions:
    """Options of the metric `perplexity`."""

    stride: int = setting(
        0,
        "above 0: read the references as one text, in windows that move by this number of tokens",
        source="RL4LMs: 512",
        low=0,
    )
    field: str = setting(
        "",
        "with a stride: the rows' field that replaces the references, such as `text` for prompt and "
        "reference",
    )
    token_budget: int = setting(8192, "tokens per forward pass", low=1, execution=True)

    def __post_init__(self) -> None:
        if self.field and not self.stride:
            raise BadSetting(
                f"field = {self.field!r} is set without a stride, but field is read only with a "
                "stride: each reference is scored after its prompt. Set stride above 0, or leave "
                "field out"
            )


@dataclass(frozen=True, kw_only=True)
class TextPerplexityOptions:
    """Options of the metric `text_perplexity`."""

    path: str = setting(why="the fixed language model: a Hugging Face folder or name", file=True)
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "the device of the model", choices=("auto", "cpu", "cuda"), execution=True)
    token_budget: int = setting(8192, "tokens per forward pass", low=1, execution=True)


@dataclass(frozen=True, eq=False)
class Perplexity(OneKey):
    """Perplexity under `model()`, of each sample's references or of its prediction.

    A sample without text has no score. `answer_rows` says how a policy reads references; None: as plain text.
    """

    name: str
    model: Callable[[], Any]
    of_references: bool
    token_budget: int = 8192
    answer_rows: Rows | None = None
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    range: ClassVar[Range] = (1.0, math.inf)

    def __call__(self, samples: Samples) -> Measured:
        """Score all texts in one batch."""
        tally = self.tally(samples)
        columns = [exponential(loss / tokens) if tokens else None for loss, tokens in tally.tolist()]
        return of_tallies(self, {self.name: columns}, tally)

    def tally(self, samples: Samples) -> Tally:
        """float[samples, 2]: each sample's negative log-likelihood, and its number of tokens."""
        columns = (
            [tuple(texts) for texts in samples.references]
            if self.of_references
            else [(text,) for text in samples.predictions]
        )
        owner = [i for i, texts in enumerate(columns) for text in texts if text]
        targets = [text for texts in columns for text in texts if text]
        losses = self._losses(samples.take(owner), targets) if targets else []
        tally = np.zeros((len(columns), 2))
        for i, loss in zip(owner, losses, strict=True):
            tally[i] += loss
        return tally

    def _losses(self, samples: Samples, texts: Sequence[str]) -> list[tuple[float, int]]:
        from loquent import pretrained

        rows = None
        if self.answer_rows is not None:
            episodes = samples.episodes or [_conversation(prompt) for prompt in samples.prompts]
            rows = self.answer_rows(list(zip(episodes, texts, strict=True)))
        if rows is None:
            return pretrained.nll(self.model(), samples.prompts, texts, token_budget=self.token_budget)
        return pretrained.nll_of_rows(self.model(), rows, token_budget=self.token_budget)

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus score."""
        loss, tokens = total.tolist()
        return {self.name: exponential(loss / tokens)} if tokens else {}


@dataclass(frozen=True, eq=False)
class StridedPerplexity:
    """RL4LMs' perplexity of `model()`: all references, joined by blank lines, as one text in windows.

    A corpus score.
    """

    model: Callable[[], Any]
    stride: int
    field: str = ""
    token_budget: int = 8192
    name: ClassVar[str] = "perplexity-strided"
    keys: ClassVar[tuple[str, ...]] = ("perplexity-strided",)
    corpus_only: ClassVar[tuple[str, ...]] = keys
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    range: ClassVar[Range] = (1.0, math.inf)

    def __call__(self, samples: Samples) -> Measured:
        """Score all references as one text, in the order of the samples.

        Raises:
            BadRow: a row has no text in `field`.
        """
        from loquent import pretrained

        texts = (
            [self._text(row) for row in samples.rows]
            if self.field
            else [text for texts in samples.references for text in texts]
        )
        if not any(texts):
            return Measured()
        joined = SEPARATOR.join(texts)
        loss, tokens = pretrained.strided_loss(
            self.model(), joined, self.stride, token_budget=self.token_budget
        )
        return Measured({}, {self.name: exponential(loss)} if tokens else {})

    def _text(self, row: Row) -> str:
        text = row.fields.get(self.field)
        if not isinstance(text, str):
            raise BadRow(
                f"row {row.id}: the field {self.field!r} that perplexity reads is {text!r}; a text is allowed"
            )
        return text


@takes(PerplexityOptions)
def perplexity(context: Context, options: PerplexityOptions) -> Perplexity | StridedPerplexity:
    """The policy's perplexity on references after their prompts. Needs a policy that plays (a run).

    It uses the current weights of the policy. A policy that reads messages reads each reference as the answer
    of its episode, in its chat template. With a stride it is the perplexity of RL4LMs.

    Raises:
        BadSetting: the context has no language model.
    """
    if context.model is None:
        raise BadSetting(
            "perplexity needs the language model of a run, and there is no model here. Use "
            "text_perplexity, which loads a model by its path"
        )
    if options.stride:
        return StridedPerplexity(lambda: context.model, options.stride, options.field, options.token_budget)
    return Perplexity("perplexity", lambda: context.model, True, options.token_budget, context.answer_rows)


@takes(TextPerplexityOptions)
def text_perplexity(context: Context, options: TextPerplexityOptions) -> Perplexity:
    """Perplexity under a fixed language model. Needs loquent[train] and a language model's folder or name."""

    @cache
    def model() -> Any:
        from loquent import pretrained

        return pretrained.load(options.path, revision=options.revision or None, device=options.device)

    return Perplexity("text_perplexity", model, False, options.token_budget)


def _conversation(prompt: str) -> Episode:
    """A conversation that begins with a prompt."""
    return Episode("", "", "", 0, 0, (Turn(TASK, prompt, to="agent"),))


def exponential(mean: float) -> float:
    """The exponential of a mean loss, bounded so that a very large loss gives a finite perplexity."""
    return math.exp(min(mean, LARGEST))
