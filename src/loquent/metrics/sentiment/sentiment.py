"""Sentiment: the probability that a text is positive, by one of two trained classifiers or by a named one.

`sentiment` is a logistic regression on word n-grams, trained on one half of the labelled training rows;
`judge` is naive Bayes on character n-grams, trained on the other half. The halves share no text
(`classifiers`), so a gain in `sentiment` that `judge` confirms is no artefact of the first classifier. Both
are trained on first use and kept in the context's cache. With `classifier=`, a Hugging Face
classifier replaces them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting
from loquent.metrics.sentiment import classifiers
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import judged_texts


@dataclass(frozen=True, kw_only=True)
class SentimentOptions:
    """Options of the metrics and rewards `sentiment` and `judge`."""

    include_prompt: bool = setting(
        True,
        "score the prompt and the answer together, not the answer alone",
        source="RL4LMs: include_prompt_for_eval",
    )
    classifier: str = setting(
        "",
        "a Hugging Face sequence classifier by folder or name; empty: train one on the task's labels",
    )
    label: str | int = setting(
        1,
        "the label of that classifier whose probability is the score: its name or number",
    )
    rows: int = setting(
        0,
        "the most labelled rows that a classifier trained here learns from; 0: all",
        source="2210.01241 table 7",
        low=0,
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting(
        "auto", "the device of that classifier", choices=("auto", "cpu", "cuda"), execution=True
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.classifier and self.rows:
            raise BadSetting(
                f"rows = {self.rows} is set beside a `classifier`, which is not trained here. Leave out one "
                "of the two"
            )
        if not self.classifier and (self.label != 1 or self.revision):
            raise BadSetting(
                "label or revision is set without a `classifier`, but they belong to a "
                "`classifier`. Name a classifier, or leave both out"
            )


@dataclass(frozen=True, eq=False)
class Sentiment(Share):
    """Per sample P(positive); for the corpus the mean."""

    name: str
    classifier: Callable[[Sequence[str]], list[float]]
    include_prompt: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The only key of this metric."""
        return (f"{self.name}/positive",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions, after their prompts if `include_prompt`."""
        scores = (
            self.classifier(judged_texts(samples.predictions, samples.prompts, self.include_prompt))
            if samples.predictions
            else []
        )
        return with_means({self.keys[0]: scores})


@takes(SentimentOptions)
def sentiment(context: Context, options: SentimentOptions) -> Sentiment:
    """P(positive) of a text. Needs a classifier's folder, or loquent[train] and a task's labelled rows.

    Without `classifier`, a classifier is trained now if the cache has none.

    Raises:
        BadSetting: the task has no labelled rows, or too few.
        BadRow: a label has another value than the allowed ones.
        MissingExtra: scikit-learn is not installed.
    """
    return Sentiment("sentiment", _classifier("sentiment", context, options), options.include_prompt)


@takes(SentimentOptions)
def judge(context: Context, options: SentimentOptions) -> Sentiment:
    """P(positive) by a second classifier. Needs a classifier's folder, or loquent[train] and labelled rows.

    It has other training rows, other features and another model than `sentiment`.

    Raises:
        BadSetting, BadRow, MissingExtra: as `sentiment`.
    """
    return Sentiment("judge", _classifier("judge", context, options), options.include_prompt)


def _classifier(metric: classifiers.Kind, context: Context, options: SentimentOptions) -> Any:
    if not options.classifier:
        return classifiers.classifier(metric, context, options.rows)
    from loquent import pretrained

    revision = options.revision or None
    return pretrained.sequence_classifier(
        options.classifier,
        label=options.label,
        revision=revision,
        device=options.device,
    )
