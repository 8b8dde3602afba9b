"""Sentiment: the probability that a text is positive, by a classifier trained on the task's own labels or by a given one.

`sentiment` is a logistic regression on word n-grams, trained on one half of the labelled training rows (by a hash of their ids);
`judge` is naive Bayes on character n-grams, trained on the other half: what it sees of a gain in `sentiment` is no artefact of
that classifier. Both are made on first use and kept under the context's cache. With `classifier=` a Hugging Face
sequence classifier takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics import labelled
from loquent.metrics.options import takes
from loquent.metrics.text import judged, mean
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class SentimentOptions:
    """What the metrics and rewards `sentiment` and `judge` may be told."""

    include_prompt: bool = setting(True, "judge the prompt and the answer, not the answer alone", source="RL4LMs: include_prompt_for_eval")
    classifier: str = setting("", "a Hugging Face sequence classifier by folder or name; empty: one trained on the task's labels")
    label: str | int = setting(1, "the label of that classifier whose probability is the score: its name or number")
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "where that classifier lives", choices=("auto", "cpu", "cuda"))

    def __post_init__(self) -> None:
        if not self.classifier and (self.label != 1 or self.revision):
            raise BadSetting("label and revision are those of a `classifier`, and none is named")


@dataclass(frozen=True, eq=False)
class Sentiment:
    """Per sample P(positive); for the corpus its mean."""

    name: str
    classifier: Callable[[Sequence[str]], list[float]]
    include_prompt: bool = True
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives."""
        return (f"{self.name}/positive",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions, after their prompts unless told otherwise."""
        scores: list[float | None] = list(self.classifier(judged(predictions, prompts, self.include_prompt))) if predictions else []
        average = mean(scores)
        return Measured({self.keys[0]: scores}, {} if average is None else {self.keys[0]: average})


@takes(SentimentOptions)
def sentiment(context: Context, options: SentimentOptions) -> Sentiment:
    """P(positive) of a text. Needs a classifier's folder, or loquent[train] and a task's labelled rows.

    Without `classifier` one is trained now where the cache has none.

    Raises:
        BadSetting: the task has no labelled rows, or too few. BadRow: a label that is none. MissingExtra: no scikit-learn.
    """
    return Sentiment("sentiment", _classifier("sentiment", context, options), options.include_prompt)


@takes(SentimentOptions)
def judge(context: Context, options: SentimentOptions) -> Sentiment:
    """P(positive) by a second opinion. Needs a classifier's folder, or loquent[train] and a task's labelled rows.

    Other rows, other features and another model than `sentiment`'s; raises as it does.
    """
    return Sentiment("judge", _classifier("judge", context, options), options.include_prompt)


def _classifier(which: labelled.Which, context: Context, options: SentimentOptions) -> Any:
    if not options.classifier:
        return labelled.classifier(which, context)
    from loquent import pretrained

    revision = options.revision or None
    return pretrained.sequence_classifier(options.classifier, label=options.label, revision=revision, device=options.device)
