"""Transformers that classify comments, trained on labels or scores.

`ROBERTA` has the settings of ILQL's upvote model: RoBERTa-base, all weights trained by AdamW at 1e-5, 16
comments a gradient step, 256 tokens, binary cross-entropy of the score against a cutoff, and the head of two
layers of the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.algorithm import StepSettings
from loquent.core.guards import tokenizer_files
from loquent.core.seeding import Key, borrowed
from loquent.core.settings import redefault, setting
from loquent.files.atomic import replacing
from loquent.tasks.comments.learned import folders
from loquent.tasks.comments.learned.examples import UPVOTES, About, examples, figures, label_names, unseen
from loquent.tasks.comments.task import Comments

CODE = "ILQL's released code"
RELEASED, LIBRARY = "released", "library"


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """How a transformer is trained."""

    model: str = setting("roberta-base", "an encoder by folder or Hugging Face name", source=CODE)
    head: str = setting(
        RELEASED,
        "released: two layers on the pooled state; library: Hugging Face's classifier of that encoder",
        source=CODE,
        choices=(RELEASED, LIBRARY),
    )
    learning_rate: float = redefault(StepSettings, "learning_rate", 1e-5, source=CODE)
    max_grad_norm: float | None = redefault(StepSettings, "max_grad_norm", None, source=CODE)
    minibatch: int = setting(16, "comments in one gradient step", source=CODE, low=1)
    most_tokens: int = setting(256, "the most tokens that are read of a comment", source=CODE, low=2)
    epochs: int = setting(1, "passes over the comments", low=1)
    seed: int = setting(0, "the seed of the head, of dropout and of the order", low=0)


ROBERTA = Settings()


def train(
    task: Comments,
    folder: str | Path,
    about: About | None = None,
    settings: Settings = ROBERTA,
    *,
    split: str = "train",
    held: str = "test",
) -> dict[str, float]:
    """Train a classifier on the rows of a split and write it to a folder, for `comments/classifier`.

    The folder has Hugging Face's form, with `head` "released" the layout of `learned.released`. Upvotes have
    one logit and binary cross-entropy; the labels of toxicity have one logit each.

    Returns:
        The `accuracy` and `roc_auc` on the rows of `held`, and their number.

    Raises:
        BadSetting: a split has too few rows. BadModel: there is no such encoder, or it has no pooled state
            for the released head.
        MissingExtra: without the extra "train".
    """
    from loquent.pretrained.language import load_tokenizer, plain

    chosen = About() if about is None else about
    texts, targets = examples(task, split, chosen)
    names = label_names(chosen, targets)
    others, right = unseen(task, held, chosen, names)
    heads = ("1",) if chosen.kind == UPVOTES else names
    tokenizer = load_tokenizer(settings.model, None)
    tokenizer.model_max_length = min(settings.most_tokens, tokenizer.model_max_length)
    key = Key(settings.seed, ("comments", "transformer"))
    with borrowed(key.child("head")):
        module = _start(settings, dict(enumerate(heads)))
    numbers = np.searchsorted(np.array([int(name) for name in names]), targets)
    classes = targets if chosen.kind == UPVOTES else numbers
    _fit(module, tokenizer, [plain(text) for text in texts], classes, settings, key)
    with replacing(Path(folder).expanduser()) as aside:
        module.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
    own = folders.load(str(folder))(others)
    both = np.concatenate([1 - own, own], axis=1) if chosen.kind == UPVOTES else own
    return figures(both, names, right, chosen)


def _start(settings: Settings, names: dict[int, str]) -> Any:
    """The encoder with a new head for labels of these names."""
    if settings.head == RELEASED:
        from loquent.tasks.comments.learned import released

        return released.start(settings.model, names)
    from loquent.pretrained.language import load_module, transformers_library

    kind = transformers_library().AutoModelForSequenceClassification
    labels = {"num_labels": len(names), "id2label": names}
    return load_module(kind, settings.model, None, "cpu", "float32", head=labels)


def _fit(
    module: Any, tokenizer: Any, texts: list[str], classes: NDArray[np.int64], settings: Settings, key: Key
) -> None:
    """Gradient steps over all comments, in a keyed order."""
    import torch
    from torch.nn import functional

    from loquent.pretrained.learning.gradient_step import GradientStep, Loss
    from loquent.pretrained.learning.optimization import Means, trainable

    longest = min(settings.most_tokens, getattr(module.config, "max_position_embeddings", 1 << 30) - 2)
    step = GradientStep(trainable(policy=module), settings.for_run(1, len(texts)), key, (module,))

    def loss(rows: torch.Tensor) -> Loss:
        chosen = [texts[i] for i in rows.tolist()]
        with tokenizer_files.encoding(tokenizer, chosen):
            inputs = tokenizer(
                chosen,
                truncation=True,
                max_length=longest,
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            )
        target, logits = torch.from_numpy(classes)[rows], module(**inputs).logits
        if logits.shape[1] == 1:
            each = functional.binary_cross_entropy_with_logits(logits[:, 0], target.float(), reduction="none")
        else:
            each = functional.cross_entropy(logits, target, reduction="none")
        return Loss(each.sum(), {})

    for epoch in range(settings.epochs):
        order = torch.from_numpy(key.child("order", epoch).generator().permutation(len(texts)))
        for chosen in order.split(settings.minibatch):
            step.learn(chosen, loss, Means(), divisor=len(chosen))
