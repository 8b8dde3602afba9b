"""Hugging Face sequence classifiers: logits and probabilities of texts, or of pairs of texts."""

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

from loquent.core.guards import tokenizer_files
from loquent.errors import BadModel
from loquent.pretrained.forward.classes import class_logits
from loquent.pretrained.language import (
    check_ids,
    load_module,
    load_tokenizer,
    plain,
    room,
    transformers_library,
)
from loquent.pretrained.networks import groups, pad_rows


@dataclass(frozen=True, eq=False)
class ClassifierNetwork:
    """A sequence classifier and its tokenizer, which truncates texts on its `truncation_side`."""

    module: Any
    tokenizer: Any

    @property
    def labels(self) -> dict[int, str]:
        """The names of the labels by their number."""
        return {int(i): str(name) for i, name in self.module.config.id2label.items()}

    def label(self, name: str | int) -> int:
        """The number of a label from its name (in any letter case) or its number.

        Raises:
            BadModel: there is no such label.
        """
        names = {own.lower(): i for i, own in self.labels.items()}
        number = names.get(name.lower()) if isinstance(name, str) else name
        if number is None or not 0 <= number < self.module.config.num_labels:
            raise BadModel(
                f"{self.module.config.name_or_path} has no label {name!r}; choose one of those "
                f"known: {self.labels_text}"
            )
        return number

    @property
    def labels_text(self) -> str:
        """The labels as text, for errors."""
        return ", ".join(f"{i}: {name}" for i, name in self.labels.items())

    @property
    def independent(self) -> bool:
        """Whether each label has a probability of its own: multi-label, or a single label."""
        config = self.module.config
        return config.num_labels == 1 or config.problem_type == "multi_label_classification"

    def probabilities(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None, *, token_budget: int = 8192
    ) -> NDArray[np.float64]:
        """float64[n, labels]: the softmax of the logits, or their sigmoid.

        The sigmoid is for classifiers with a single label or with independent labels (multi-label).
        """
        logits = torch.from_numpy(self.logits(texts, seconds, token_budget=token_budget))
        return (logits.sigmoid() if self.independent else logits.softmax(1)).numpy()

    @torch.no_grad()
    def logits(
        self,
        texts: Sequence[str],
        seconds: Sequence[str] | None = None,
        *,
        token_budget: int = 8192,
        limit: int = 1 << 30,
    ) -> NDArray[np.float64]:
        """float64[n, labels] of texts, or of pairs (text, second), in order; batches have similar lengths.

        Args:
            limit: the most ids of a row, if less than the context; in a pair the longer text is truncated
                first.
        """
        logits = np.zeros((len(texts), self.module.config.num_labels))
        rows, kinds = self.encode(texts, seconds, limit=limit) if len(texts) else ([], [])
        for group in groups([len(row) for row in rows], token_budget):
            own = [kinds[i] for i in group] if kinds else []
            logits[group] = self.forward([rows[i] for i in group], own).double().cpu().numpy()
        return logits

    def forward(self, rows: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] = ()) -> torch.Tensor:
        """The logits [n, labels] of one batch of rows from `encode`, by one forward pass."""
        ids, real = pad_rows(rows, self._pad, self.module.device)
        inputs = {"input_ids": ids, "attention_mask": real.long()}
        if kinds:
            inputs["token_type_ids"] = pad_rows(kinds, 0, self.module.device)[0]
        elif (own := class_logits(self.module, ids)) is not None:
            return own
        logits: torch.Tensor = self.module(**inputs).logits
        return logits

    def encode(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None, *, limit: int = 1 << 30
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The ids, and their token types for pairs if the network uses token types; arguments as `logits`."""
        sides = [[plain(text) for text in side] for side in (texts, seconds) if side is not None]
        length = min(limit, room(self.module, self.tokenizer))
        with tokenizer_files.encoding(self.tokenizer, [text for side in sides for text in side]):
            if len(sides) == 2 and self.tokenizer.is_fast:
                sides = _shortened(self.tokenizer, sides, length)
            encoded = self.tokenizer(*sides, truncation=True, max_length=length)
        rows = list(encoded["input_ids"])
        if len(sides) == 1 and self._reads_end:
            rows = [self._ended(row, length) for row in rows]
        kinds = encoded.get("token_type_ids") if len(sides) == 2 and self._has_token_types else None
        return [row or [self._pad] for row in rows], [row or [0] for row in kinds or ()]

    def _ended(self, row: list[int], length: int) -> list[int]:
        """The ids with one end id, which is last: an encoder-decoder classifies by the state there."""
        end = self.module.config.eos_token_id
        own = [id for id in row if id != end]
        left = self.tokenizer.truncation_side == "left"
        return [*(own[max(0, len(own) - length + 1) :] if left else own[: length - 1]), end]

    @property
    def _reads_end(self) -> bool:
        return bool(self.module.config.is_encoder_decoder) and self.module.config.eos_token_id is not None

    @cached_property
    def _has_token_types(self) -> bool:
        typed = (getattr(self.module.config, "type_vocab_size", None) or 0) > 1
        return typed and "token_type_ids" in inspect.signature(self.module.forward).parameters

    @cached_property
    def _pad(self) -> int:
        own = self.tokenizer.pad_token_id
        pad = own if own is not None else self.tokenizer.eos_token_id or 0
        if self.module.config.pad_token_id is None:
            self.module.config.pad_token_id = pad  # causal classifiers use it to find the last token
        if self._reads_end and pad == self.module.config.eos_token_id:
            return int(pad == 0)  # padding must be no end; it stands after the end, where nothing reads it
        return pad


def _shortened(tokenizer: Any, sides: list[list[str]], length: int) -> list[list[str]]:
    """Pairs of texts without the ends that truncation to `length` ids removes.

    The library's fast tokenizers keep all that truncation removes, for a pair in every combination of its
    pieces: two texts of 5,000 words take gigabytes. The longer text stays the longer one, because the odd id
    of a truncated pair is its.
    """
    most = 2 * length + 8
    ends = [
        tokenizer(side, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        for side in sides
    ]
    pairs = []
    for first, second, a, b in zip(*sides, *ends, strict=True):
        longer = (len(a) > len(b)) * 8, (len(b) > len(a)) * 8
        left = tokenizer.truncation_side == "left"
        pairs.append((_part(first, a, most + longer[0], left), _part(second, b, most + longer[1], left)))
    return [list(side) for side in zip(*pairs, strict=True)]


def _part(text: str, offsets: Sequence[tuple[int, int]], most: int, left: bool) -> str:
    """At most the first `most` ids' part of a text; with `left` the last ones'."""
    if len(offsets) <= most:
        return text
    return text[offsets[-most][0] :] if left else text[: offsets[most - 1][1]]


@dataclass(frozen=True, eq=False)
class SequenceClassifier:
    """A classifier that returns the probability of one label for each text."""

    network: ClassifierNetwork
    label: int

    def __call__(self, texts: Sequence[str], *, token_budget: int = 8192) -> list[float]:
        """P(label) per text, in order."""
        probabilities = self.network.probabilities(texts, token_budget=token_budget)
        values: list[float] = probabilities[:, self.label].tolist()
        return values


def load_classifier(
    path: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    side: str = "right",
) -> ClassifierNetwork:
    """A sequence classifier by folder or Hugging Face name, in evaluation mode.

    Args:
        side: the truncated side of a text beyond the context: "right", its end, or "left", its beginning.

    Raises:
        BadModel: loading fails, as in `load`.
    """
    tokenizer = load_tokenizer(path, revision)
    tokenizer.truncation_side = side
    kind = transformers_library().AutoModelForSequenceClassification
    module = load_module(kind, path, revision, device, dtype)
    check_ids(module, tokenizer)
    return ClassifierNetwork(module, tokenizer)


def sequence_classifier(
    path: str | Path,
    *,
    label: str | int = 1,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    side: str = "right",
) -> SequenceClassifier:
    """A sequence classifier for the probability of one label (its name in the config, or its number).

    Raises:
        BadModel: loading fails, as in `load`, or the model has no such label.
    """
    network = load_classifier(path, revision=revision, device=device, dtype=dtype, side=side)
    return SequenceClassifier(network, network.label(label))
