"""Transformers that classify comments, trained on labels or scores by `metrics.judges.encoders`.

`ROBERTA` has the settings of ILQL's upvote model, with binary cross-entropy of the score against a cutoff.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from loquent.core.seeding import Key
from loquent.metrics.judges import encoders, folders
from loquent.metrics.judges.encoders import Classified, EncoderSettings
from loquent.tasks.comments.learned.examples import UPVOTES, About, examples, figures, label_names, unseen
from loquent.tasks.comments.task import Comments

ROBERTA = EncoderSettings()


def train(
    task: Comments,
    folder: str | Path,
    about: About | None = None,
    settings: EncoderSettings = ROBERTA,
    *,
    split: str = "train",
    held: str = "test",
) -> dict[str, float]:
    """Train a classifier on the rows of a split and write it to a folder, for `comments/classifier`.

    Upvotes have one logit and binary cross-entropy; the labels of toxicity have one logit each.

    Returns:
        The `accuracy` and `roc_auc` on the rows of `held`, and their number.

    Raises:
        BadSetting: a split has too few rows. BadModel: there is no such encoder, or it has no pooled state
            for the released head.
        MissingExtra: without the extra "train".
    """
    chosen = About() if about is None else about
    texts, targets = examples(task, split, chosen)
    names = label_names(chosen, targets)
    others, right = unseen(task, held, chosen, names)
    levels = np.array([0, 1] if chosen.kind == UPVOTES else [int(name) for name in names])
    training, held_out = Classified.of(texts, targets, levels), Classified.of(others, right, levels)
    heads = ("1",) if chosen.kind == UPVOTES else names
    key, place = Key(settings.seed, ("comments", "transformer")), Path(folder).expanduser()
    encoders.train(training, held_out, heads, place, settings, key)
    own = folders.load(str(place))(others)
    both = np.concatenate([1 - own, own], axis=1) if chosen.kind == UPVOTES else own
    return figures(both, names, right, chosen)
