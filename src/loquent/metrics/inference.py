"""Natural language inference between two texts, sentence by sentence: the images that SummaC reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadModel, BadRow
from loquent.metrics.models import ModelOptions
from loquent.metrics.sentences import sentences
from loquent.settings import setting
from loquent.task import Row

Image = NDArray[np.float64]  # [entailment, contradiction, neutral; sentences of the document; of the summary]

LIMIT = 500  # tokens of a pair
NAMES = {
    "entailment": ("entailment", "entail", "entails", "entailed", "supports"),
    "contradiction": ("contradiction", "contradict", "contradicts", "refutes"),
}


@dataclass(frozen=True, kw_only=True)
class ConsistencyOptions(ModelOptions):
    """What both metrics may be told."""

    entailment: str | int = setting("", "that label of the classifier, its name or number; empty: the one called so")
    contradiction: str | int = setting("", "the same for contradiction; it is looked for only where it is used")
    granularity: str = setting("sentence", "the parts that are compared", choices=("sentence", "paragraph", "document"))
    most: int = setting(100, "so many parts of a document are read", source="SummaC: max_doc_sents", low=1)
    longer_than: int = setting(10, "parts of so many characters or fewer are left out", source="SummaC", low=0)
    field: str = setting("", "the row's field that holds the document; empty: the prompt is it")


@dataclass(frozen=True, eq=False)
class Inference:
    """The images of (document, summary) pairs, each different pair of sentences judged once."""

    network: Callable[[], Any]  # gives a `pretrained.ClassifierNetwork`
    entailment: str | int = ""
    contradiction: str | int = ""
    granularity: str = "sentence"
    most: int = 100
    longer_than: int = 10
    token_budget: int = 1024

    def images(self, documents: Sequence[str], summaries: Sequence[str], contradiction: bool) -> list[Image | None]:
        """One image a pair: None where a document has no part, one of zeros where a summary has none, as the original has it."""
        left = [self._parts(text)[: self.most] for text in documents]
        right = [self._parts(text) for text in summaries]
        pairs = list({(a, b): None for first, second in zip(left, right, strict=True) for a in first for b in second})
        judged = dict(zip(pairs, self._judge(pairs, contradiction), strict=True)) if pairs else {}
        found: list[Image | None] = []
        for first, second in zip(left, right, strict=True):
            image = np.array([[judged[a, b] for b in second] for a in first]).transpose(2, 0, 1) if first and second else np.zeros((3, 1, 1))
            found.append(image if first else None)
        return found

    def _parts(self, text: str) -> list[str]:
        if self.granularity == "document":
            return [text] if text.strip() else []
        if self.granularity == "paragraph":
            found = [part.strip() for part in text.split("\n\n" if "\n\n" in text else "\n")]
        else:
            found = sentences(text)
        return [part for part in found if len(part) > self.longer_than]

    def _judge(self, pairs: list[tuple[str, str]], contradiction: bool) -> Image:
        """[pairs, (entailment, contradiction, neutral)]; where contradiction is not asked for its column and the next are 0."""
        network = self.network()
        first = find_label(network, "entailment", self.entailment)
        second = find_label(network, "contradiction", self.contradiction) if contradiction else first
        left, right = [a for a, _ in pairs], [b for _, b in pairs]
        logits = network.logits(left, right, token_budget=self.token_budget, limit=LIMIT)
        odds = np.exp(logits - logits.max(1, keepdims=True))
        probabilities = odds / odds.sum(1, keepdims=True)
        found = np.zeros((len(pairs), 3))
        found[:, 0] = probabilities[:, first]
        if contradiction:
            found[:, 1] = probabilities[:, second]
            found[:, 2] = np.delete(probabilities, [first, second], axis=1).sum(1)
        return found


def documents(prompts: Sequence[str], rows: Sequence[Row], field: str) -> list[str]:
    """What the predictions must agree with: their prompts, or a text that their rows hold.

    Raises:
        BadRow: a row has no text in that field.
    """
    if not field:
        return list(prompts)
    found = [row.fields.get(field) for row in rows]
    for row, text in zip(rows, found, strict=True):
        if not isinstance(text, str):
            raise BadRow(f"row {row.id}: the document is read from the field {field!r}, which is {text!r}; a text is right")
    return found  # type: ignore[return-value]


def find_label(network: Any, which: str, given: str | int) -> int:
    """The number of the label that means entailment or contradiction: the one given, else the one whose name says so.

    Raises:
        BadModel: no label, or several, are called so.
    """
    if given != "":
        return int(network.label(given))
    found = [i for i, name in network.labels.items() if name.strip().lower() in NAMES[which]]
    if len(found) != 1:
        raise BadModel(f"which label means {which}? It is not plain from {network.known}; the option {which} tells its name or number")
    return found[0]
