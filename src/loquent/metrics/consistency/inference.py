"""Natural language inference between two texts, sentence by sentence: the images that SummaC reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.metric import Samples
from loquent.core.settings import setting
from loquent.errors import BadModel, BadRow
from loquent.metrics.networks import ModelOptions
from loquent.metrics.sentences import sentences

# float[3, document sentences, summary sentences]: the probabilities of entailment, contradiction, neutral
Image = NDArray[np.float64]

LIMIT = 500  # tokens of a pair
NAMES = {
    "entailment": ("entailment", "entail", "entails", "entailed", "supports"),
    "contradiction": ("contradiction", "contradict", "contradicts", "refutes"),
}


@dataclass(frozen=True, kw_only=True)
class ConsistencyOptions(ModelOptions):
    """Options that `summac_zs` and `summac_conv` share."""

    entailment: str | int = setting(
        "",
        "the name or number of the classifier's label for entailment; empty: the label with that name",
    )
    contradiction: str | int = setting("", "the same for contradiction, which is needed only if it is used")
    granularity: str = setting(
        "sentence",
        "the parts that are compared",
        choices=("sentence", "paragraph", "document"),
    )
    most: int = setting(
        100, "the number of parts of a document that are read", source="SummaC: max_doc_sents", low=1
    )
    longer_than: int = setting(
        10, "ignore parts of at most this number of characters", source="SummaC", low=0
    )
    field: str = setting("", "the row's field with the document; empty: the prompt is the document")


@dataclass(frozen=True, eq=False)
class Inference:
    """The images of (document, summary) pairs; each different pair of sentences is classified once."""

    network: Callable[[], Any]  # returns a `pretrained.ClassifierNetwork`
    entailment: str | int = ""
    contradiction: str | int = ""
    granularity: str = "sentence"
    most: int = 100
    longer_than: int = 10
    token_budget: int = 1024

    def images(
        self, documents: Sequence[str], summaries: Sequence[str], contradiction: bool
    ) -> list[Image | None]:
        """One image per pair.

        It is None for a document without parts, and zeros[3, 1, 1] for a summary without parts, as in the
        original.
        """
        left = [self._parts(text)[: self.most] for text in documents]
        right = [self._parts(text) for text in summaries]
        pairs = list(
            {(a, b): None for first, second in zip(left, right, strict=True) for a in first for b in second}
        )
        scores = dict(zip(pairs, self._classify(pairs, contradiction), strict=True)) if pairs else {}
        images: list[Image | None] = []
        for first, second in zip(left, right, strict=True):
            image = np.zeros((3, 1, 1))
            if first and second:
                image = np.array([[scores[a, b] for b in second] for a in first]).transpose(2, 0, 1)
            images.append(image if first else None)
        return images

    def _parts(self, text: str) -> list[str]:
        if self.granularity == "document":
            return [text] if text.strip() else []
        if self.granularity == "paragraph":
            parts = [part.strip() for part in text.split("\n\n" if "\n\n" in text else "\n")]
        else:
            parts = sentences(text)
        return [part for part in parts if len(part) > self.longer_than]

    def _classify(self, pairs: list[tuple[str, str]], contradiction: bool) -> NDArray[np.float64]:
        """float[pairs, 3]: entailment, contradiction, neutral.

        Without `contradiction` the last two columns are 0.
        """
        network = self.network()
        first = find_label(network, "entailment", self.entailment)
        second = find_label(network, "contradiction", self.contradiction) if contradiction else first
        left, right = [a for a, _ in pairs], [b for _, b in pairs]
        logits = network.logits(left, right, token_budget=self.token_budget, limit=LIMIT)
        odds = np.exp(logits - logits.max(1, keepdims=True))
        probabilities = odds / odds.sum(1, keepdims=True)
        scores = np.zeros((len(pairs), 3))
        scores[:, 0] = probabilities[:, first]
        if contradiction:
            scores[:, 1] = probabilities[:, second]
            scores[:, 2] = np.delete(probabilities, [first, second], axis=1).sum(1)
        return scores


def documents(samples: Samples, field: str) -> list[str]:
    """The documents of the predictions: their prompts, or the texts in a field of their rows.

    Raises:
        BadRow: a row has no text in that field.
    """
    if not field:
        return list(samples.prompts)
    texts: list[str] = []
    for row in samples.rows:
        text = row.fields.get(field)
        if not isinstance(text, str):
            raise BadRow(
                f"row {row.id}: the field {field!r} with the document is {text!r}; a text is allowed"
            )
        texts.append(text)
    return texts


def find_label(network: Any, meaning: str, label: str | int) -> int:
    """The number of the label for `meaning` ("entailment" or "contradiction").

    It is `label`, or the label with such a name if `label` is empty.

    Raises:
        BadModel: no label, or more than one, has such a name.
    """
    if label != "":
        return int(network.label(label))
    numbers = [i for i, name in network.labels.items() if name.strip().lower() in NAMES[meaning]]
    if len(numbers) != 1:
        raise BadModel(
            f"the label for {meaning} is not clear from the names {network.labels_text}; one of "
            f"{', '.join(NAMES[meaning])} is allowed. Set the option {meaning} to the label's name "
            "or number"
        )
    return numbers[0]
