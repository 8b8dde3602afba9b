"""Any Hugging Face sequence classifier: from texts, or pairs of texts, to logits and probabilities."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from loquent.errors import BadModel
from loquent.pretrained.language import load_module, load_tokenizer, plain, room, transformers_library
from loquent.pretrained.networks import groups, padded


@dataclass(frozen=True, eq=False)
class ClassifierNetwork:
    """A sequence classifier and its tokenizer; what is beyond the network's context is cut on the tokenizer's `truncation_side`."""

    module: Any
    tokenizer: Any

    @property
    def labels(self) -> dict[int, str]:
        """The names of the labels, by number."""
        return {int(i): str(name) for i, name in self.module.config.id2label.items()}

    def label(self, name: str | int) -> int:
        """The number of a label given by its name, in any case, or by its number.

        Raises:
            BadModel: there is no such label.
        """
        names = {own.lower(): i for i, own in self.labels.items()}
        number = names.get(name.lower()) if isinstance(name, str) else name
        if number is None or not 0 <= number < self.module.config.num_labels:
            raise BadModel(f"{self.module.config.name_or_path} has no label {name!r}; it has {self.known}")
        return number

    @property
    def known(self) -> str:
        """The labels in words, for errors."""
        return ", ".join(f"{i}: {name}" for i, name in self.labels.items())

    def probabilities(self, texts: Sequence[str], seconds: Sequence[str] | None = None, *, token_budget: int = 8192) -> NDArray[np.float64]:
        """float64[n, labels]: by the softmax, or label by label by the sigmoid where there is one label or the labels exclude nothing."""
        logits = torch.from_numpy(self.logits(texts, seconds, token_budget=token_budget))
        several = logits.shape[1] > 1 and self.module.config.problem_type != "multi_label_classification"
        return (logits.softmax(1) if several else logits.sigmoid()).numpy()

    @torch.no_grad()
    def logits(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None, *, token_budget: int = 8192, limit: int = 1 << 30
    ) -> NDArray[np.float64]:
        """float64[n, labels] of texts, or of pairs (text, second), in order; one forward pass for texts of like length together.

        Args:
            limit: the most ids of a row, where it is less than the context; of a pair the longer text is cut first.
        """
        found = np.zeros((len(texts), self.module.config.num_labels))
        rows, kinds = self._rows(texts, seconds, limit) if len(texts) else ([], [])
        for group in groups([len(row) for row in rows], token_budget):
            ids, real = padded([rows[i] for i in group], self._pad, self.module.device)
            more = {"token_type_ids": padded([kinds[i] for i in group], 0, self.module.device)[0]} if kinds else {}
            found[group] = self.module(input_ids=ids, attention_mask=real.long(), **more).logits.double().cpu().numpy()
        return found

    def _rows(self, texts: Sequence[str], seconds: Sequence[str] | None, limit: int) -> tuple[list[list[int]], list[list[int]]]:
        """The ids, and for pairs whose network asks for it which of both texts each is from."""
        told = [[plain(text) for text in side] for side in (texts, seconds) if side is not None]
        made = self.tokenizer(*told, truncation=True, max_length=min(limit, room(self.module, self.tokenizer)))
        kinds = made.get("token_type_ids") if len(told) == 2 and self._knows_kinds else None
        return [row or [self._pad] for row in made["input_ids"]], [row or [0] for row in kinds or ()]

    @cached_property
    def _knows_kinds(self) -> bool:
        several = (getattr(self.module.config, "type_vocab_size", None) or 0) > 1
        return several and "token_type_ids" in inspect.signature(self.module.forward).parameters

    @cached_property
    def _pad(self) -> int:
        own = self.tokenizer.pad_token_id
        pad = own if own is not None else self.tokenizer.eos_token_id or 0
        if self.module.config.pad_token_id is None:
            self.module.config.pad_token_id = pad  # classifiers on causal trunks find the last token by it
        return pad


@dataclass(frozen=True, eq=False)
class SequenceClassifier:
    """A classifier that gives the probability of one label for each text."""

    network: ClassifierNetwork
    label: int

    def __call__(self, texts: Sequence[str], *, token_budget: int = 8192) -> list[float]:
        """P(label) per text, in order."""
        found: list[float] = self.network.probabilities(texts, token_budget=token_budget)[:, self.label].tolist()
        return found


def load_classifier(
    path: str | Path, *, revision: str | None = None, device: str = "auto", dtype: str = "float32", side: str = "right"
) -> ClassifierNetwork:
    """A sequence classifier by folder or Hugging Face name, in evaluation mode.

    Args:
        side: where a text beyond the context is cut: "right", its end, or "left", its beginning.

    Raises:
        BadModel: as `load`.
    """
    tokenizer = load_tokenizer(path, revision)
    tokenizer.truncation_side = side
    return ClassifierNetwork(load_module(transformers_library().AutoModelForSequenceClassification, path, revision, device, dtype), tokenizer)


def sequence_classifier(
    path: str | Path, *, label: str | int = 1, revision: str | None = None, device: str = "auto", dtype: str = "float32", side: str = "right"
) -> SequenceClassifier:
    """A sequence classifier asked for one label (its name in the config, or its number).

    Raises:
        BadModel: as `load`; or the model has no such label.
    """
    network = load_classifier(path, revision=revision, device=device, dtype=dtype, side=side)
    return SequenceClassifier(network, network.label(label))
