"""Intent accuracy: whether a classifier hears in an answer, after the utterance before it, the intent that the row asks for.

RL4LMs (arXiv:2210.01241) measures DailyDialog's four intents so. Its reward of this name adds a METEOR over all episodes so far; ours is
of its own episode alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.errors import BadModel, BadRow
from loquent.metric import Context, Measured
from loquent.metrics.models import ModelOptions, measured
from loquent.metrics.options import takes
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class IntentOptions(ModelOptions):
    """What the metric `intent_accuracy` may be told."""

    field: str = setting("intent", "the field of a row that holds the intent: a label's name or a number")
    first: int = setting(1, "the number that stands for the classifier's first label", source="DailyDialog: intents 1 to 4")
    turns: str = setting("<EOU>", "what stands between utterances in a prompt, of which the last is read; empty: the whole prompt is one")
    separator: str = setting(
        "<EOU>", "what is put between that utterance and the answer", source="RL4LMs' classifier was trained so, and asked with none"
    )


@dataclass(frozen=True, eq=False)
class IntentAccuracy:
    """Per sample 1 where the likeliest label is the intent asked for, else 0; no score for a row that asks for none."""

    network: Callable[[], Any]  # gives a `pretrained.ClassifierNetwork`
    field: str = "intent"
    first: int = 1
    turns: str = "<EOU>"
    separator: str = "<EOU>"
    token_budget: int = 1024
    name: ClassVar[str] = "intent_accuracy"
    keys: ClassVar[tuple[str, ...]] = ("intent_accuracy",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Ask for all samples at once; the score of each depends on it alone.

        Raises:
            BadRow: a row's intent is none of the classifier's.
        """
        asked = [i for i, row in enumerate(rows) if row.fields.get(self.field) is not None]
        scores: list[float | None] = [None] * len(predictions)
        if asked:
            network = self.network()
            wanted = [self._target(network, rows[i]) for i in asked]
            texts = [self._last(prompts[i]) + self.separator + predictions[i] for i in asked]
            heard = network.logits(texts, token_budget=self.token_budget).argmax(1).tolist()
            for i, target, label in zip(asked, wanted, heard, strict=True):
                scores[i] = float(target == label)
        return measured({self.name: scores})

    def _last(self, prompt: str) -> str:
        """The last utterance of a prompt that is not empty."""
        said = [part for part in prompt.split(self.turns) if part.strip()] if self.turns else [prompt]
        return said[-1] if said else ""

    def _target(self, network: Any, row: Row) -> int:
        given = row.fields[self.field]
        one = given[0] if isinstance(given, tuple) and len(given) == 1 else given
        if isinstance(one, str) or (isinstance(one, int) and not isinstance(one, bool)):
            try:
                return int(network.label(one if isinstance(one, str) else one - self.first))
            except BadModel:
                pass
        numbers = f"{self.first} to {self.first + len(network.labels) - 1}"
        raise BadRow(f"row {row.id}: the intent {given!r} is none of the classifier's; right are {numbers}, or a name of {network.known}")


@takes(IntentOptions)
def intent_accuracy(context: Context, options: IntentOptions) -> IntentAccuracy:
    """Whether an answer has the intent its row asks for. Needs loquent[train] and an intent classifier's folder or name."""
    return IntentAccuracy(options.classifier("left"), options.field, options.first, options.turns, options.separator, options.token_budget)
