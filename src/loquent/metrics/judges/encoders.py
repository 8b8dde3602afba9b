"""Encoders that classify texts, with a new head, trained by the trainer of judges.

The defaults are those of ILQL's upvote model: RoBERTa-base, all weights trained by AdamW at 1e-5, 16 texts a
gradient step, 256 tokens, and the head of two layers of the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import tokenizer_files
from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import redefault, setting
from loquent.files.atomic import replacing
from loquent.metrics.judges import card
from loquent.metrics.judges.trainer import Lessons, Trainer, TrainerSettings

if TYPE_CHECKING:
    from torch import Tensor

KIND = "encoder"
CODE = "ILQL's released code"
RELEASED, LIBRARY = "released", "library"


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(TrainerSettings):
    """How an encoder is trained."""

    model: str = setting("roberta-base", "an encoder by folder or Hugging Face name", source=CODE)
    head: str = setting(
        RELEASED,
        "released: two layers on the pooled state; library: Hugging Face's classifier of that encoder",
        source=CODE,
        choices=(RELEASED, LIBRARY),
    )
    learning_rate: float = redefault(TrainerSettings, "learning_rate", 1e-5, source=CODE)
    max_grad_norm: float | None = redefault(TrainerSettings, "max_grad_norm", None, source=CODE)
    minibatch: int = redefault(TrainerSettings, "minibatch", 16, source=CODE)
    most_tokens: int = setting(256, "the most tokens that are read of a text", source=CODE, low=2)
    epochs: int = redefault(TrainerSettings, "epochs", 1)


@dataclass(frozen=True)
class Classified:
    """Texts and their classes i64[n], numbers from 0; -1 is a class that is not learned, and has no loss."""

    texts: Sequence[str]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], values: NDArray[np.int64], levels: NDArray[np.int64]) -> Classified:
        """Texts by their values; the class of a value is its place in the sorted levels."""
        places = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
        return cls(texts, np.where(levels[places] == values, places, -1))


def train(
    training: Classified,
    held_out: Classified,
    labels: Sequence[str],
    folder: Path,
    settings: EncoderSettings,
    key: Key,
) -> None:
    """Train a classifier and write its folder, in Hugging Face's form, with a card.

    With `head` "released" the folder has the layout of `judges.upvote_model`.

    Args:
        labels: the names of the classes. One name: the probability of class 1, by binary cross-entropy of
            the classes 0 and 1.

    Raises:
        BadModel: there is no such encoder, or it has no pooled state for the released head.
        MissingExtra: without the extra "train".
    """
    from loquent.pretrained.language import load_tokenizer

    tokenizer = load_tokenizer(settings.model, None)
    tokenizer.model_max_length = min(settings.most_tokens, tokenizer.model_max_length)
    with borrow_generators(key.child("head")):
        module = _start(settings, dict(enumerate(labels)))
    trainer = Trainer(module, _lessons(module, tokenizer, training, held_out, settings), settings, key)
    history = trainer.run()
    with replacing(folder) as aside:
        module.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
        card.write(aside, KIND, {"settings": asdict(settings), "history": history})


def _start(settings: EncoderSettings, names: Mapping[int, str]) -> Any:
    """The encoder with a new head for labels of these names."""
    if settings.head == RELEASED:
        from loquent.metrics.judges import upvote_model

        return upvote_model.start(settings.model, dict(names))
    from loquent.pretrained.language import load_module, transformers_library

    kind = transformers_library().AutoModelForSequenceClassification
    labels = {"num_labels": len(names), "id2label": dict(names)}
    return load_module(kind, settings.model, None, "cpu", "float32", head=labels)


def _lessons(
    module: Any, tokenizer: Any, training: Classified, held_out: Classified, settings: EncoderSettings
) -> Lessons:
    """The cross-entropies of texts, with one label the binary ones."""
    import torch
    from torch.nn import functional

    from loquent.pretrained import evaluating
    from loquent.pretrained.language import plain

    longest = min(settings.most_tokens, getattr(module.config, "max_position_embeddings", 1 << 30) - 2)

    def losses(part: Classified, numbers: Sequence[int]) -> Tensor:
        chosen = [plain(part.texts[i]) for i in numbers]
        with tokenizer_files.encoding(tokenizer, chosen):
            inputs = tokenizer(
                chosen,
                truncation=True,
                max_length=longest,
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            )
        target, logits = torch.from_numpy(part.classes[numbers]), module(**inputs).logits
        if logits.shape[1] == 1:
            return functional.binary_cross_entropy_with_logits(logits[:, 0], target.float(), reduction="none")
        return functional.cross_entropy(logits, target, reduction="none", ignore_index=-1)

    def measure() -> dict[str, float]:
        size, count, total = settings.minibatch, len(held_out.texts), 0.0
        with torch.no_grad(), evaluating(module):
            for first in range(0, count, size):
                total += float(losses(held_out, range(first, min(first + size, count))).sum())
        return {"loss": total / max(1, int((held_out.classes >= 0).sum()))}

    return Lessons(len(training.texts), lambda numbers: losses(training, numbers), measure)
