"""Intent accuracy: whether an answer has the intent that its row requires, according to a classifier.

The classifier reads the answer after the previous utterance.

RL4LMs (arXiv:2210.01241) measures the four intents of DailyDialog in this way. Its reward of this name adds
the METEOR of all episodes so far; this one uses its own episode only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.errors import BadModel, BadRow
from loquent.metrics.networks import ModelOptions
from loquent.metrics.shared_parts import with_means


@dataclass(frozen=True, kw_only=True)
class IntentOptions(ModelOptions):
    """Options of the metric `intent_accuracy`."""

    field: str = setting("intent", "the row's field with the intent: the name of a label, or a number")
    first: int = setting(
        1, "the number of the classifier's first label in rows", source="DailyDialog: intents 1 to 4"
    )
    turns: str = setting(
        "<EOU>",
        "the separator of utterances in a prompt, of which the last is read; empty: read the whole prompt",
    )
    separator: str = setting(
        "<EOU>",
        "the text between that utterance and the answer",
        source="RL4LMs trains its classifier with it, and evaluates without it",
    )


@dataclass(frozen=True, eq=False)
class IntentAccuracy(Share):
    """Per sample 1 if the most likely label is the row's intent, else 0.

    A row without an intent has no score.
    """

    network: Callable[[], Any]  # returns a `pretrained.ClassifierNetwork`
    field: str = "intent"
    first: int = 1
    turns: str = "<EOU>"
    separator: str = "<EOU>"
    token_budget: int = 1024
    name: ClassVar[str] = "intent_accuracy"
    keys: ClassVar[tuple[str, ...]] = ("intent_accuracy",)

    def __call__(self, samples: Samples) -> Measured:
        """Score all samples in one batch; a score does not depend on the other samples.

        Raises:
            BadRow: the classifier does not have a row's intent.
        """
        places = [i for i, row in enumerate(samples.rows) if row.fields.get(self.field) is not None]
        scores: list[float | None] = [None] * len(samples.predictions)
        if places:
            network = self.network()
            targets = [self._target(network, samples.rows[i]) for i in places]
            texts = [self._last(samples.prompts[i]) + self.separator + samples.predictions[i] for i in places]
            labels = network.logits(texts, token_budget=self.token_budget).argmax(1).tolist()
            for i, target, label in zip(places, targets, labels, strict=True):
                scores[i] = float(target == label)
        return with_means({self.name: scores})

    def _last(self, prompt: str) -> str:
        """The last non-empty utterance of a prompt."""
        utterances = [part for part in prompt.split(self.turns) if part.strip()] if self.turns else [prompt]
        return utterances[-1] if utterances else ""

    def _target(self, network: Any, row: Row) -> int:
        value = row.fields[self.field]
        intent = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        if isinstance(intent, str) or (isinstance(intent, int) and not isinstance(intent, bool)):
            try:
                return int(network.label(intent if isinstance(intent, str) else intent - self.first))
            except BadModel:
                pass
        numbers = f"{self.first} to {self.first + len(network.labels) - 1}"
        raise BadRow(
            f"row {row.id}: the classifier does not have the intent {value!r}; allowed are "
            f"{numbers}, or a name of {network.labels_text}"
        )


@takes(IntentOptions)
def intent_accuracy(context: Context, options: IntentOptions) -> IntentAccuracy:
    """Whether an answer has its row's intent. Needs loquent[train] and an intent classifier."""
    return IntentAccuracy(
        options.classifier("left"),
        options.field,
        options.first,
        options.turns,
        options.separator,
        options.token_budget,
    )
