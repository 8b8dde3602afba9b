"""Any Hugging Face sequence classifier as a function from texts to probabilities of one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from loquent.errors import BadModel
from loquent.pretrained.language import context, load_module, load_tokenizer, transformers_library
from loquent.pretrained.networks import groups, padded


@dataclass(frozen=True, eq=False)
class SequenceClassifier:
    """A Hugging Face sequence classifier that gives the probability of one label for each text."""

    module: Any
    tokenizer: Any
    label: int

    @torch.no_grad()
    def __call__(self, texts: Sequence[str], *, token_budget: int = 8192) -> list[float]:
        """P(label) per text, in order; texts beyond the model's context are cut at its end."""
        pad = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self.tokenizer.eos_token_id or 0
        if self.module.config.pad_token_id is None:
            self.module.config.pad_token_id = pad  # classifiers on causal trunks find the last token by it
        limit = min(context(self.module), getattr(self.tokenizer, "model_max_length", 1 << 30))
        rows = [self.tokenizer(text, truncation=True, max_length=limit)["input_ids"] or [pad] for text in texts]
        found = torch.zeros(len(rows), dtype=torch.float64)
        for group in groups([len(row) for row in rows], token_budget):
            ids, real = padded([rows[i] for i in group], pad, self.module.device)
            logits = self.module(input_ids=ids, attention_mask=real.long()).logits.double()
            several = logits.shape[1] > 1 and self.module.config.problem_type != "multi_label_classification"
            probability = logits.softmax(1) if several else logits.sigmoid()
            found[group] = probability[:, self.label].cpu()
        return found.tolist()


def sequence_classifier(
    path: str | Path, *, label: str | int = 1, revision: str | None = None, device: str = "auto", dtype: str = "float32"
) -> SequenceClassifier:
    """A sequence classifier by folder or Hugging Face name, asked for one label (its name in the config, or its number).

    Raises:
        BadModel: as `load`; or the model has no such label.
    """
    module = load_module(transformers_library().AutoModelForSequenceClassification, path, revision, device, dtype)
    names = {str(name).lower(): int(i) for i, name in module.config.id2label.items()}
    number = names.get(label.lower()) if isinstance(label, str) else label
    if number is None or not 0 <= number < module.config.num_labels:
        raise BadModel(f"{path} has no label {label!r}; it has {', '.join(f'{i}: {name}' for i, name in module.config.id2label.items())}")
    return SequenceClassifier(module, load_tokenizer(path, revision), number)
