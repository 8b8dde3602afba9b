"""Linear classifiers of comments: one logistic regression on word n-grams for each threshold.

A threshold is a label that a comment reaches or exceeds, so labels keep their order. The regressions are
those of the metric `sentiment`.
"""

from __future__ import annotations

from pathlib import Path

from loquent.metrics.judges.linear_training import train_thresholds
from loquent.tasks.comments.learned.examples import About, examples, figures, label_names, unseen
from loquent.tasks.comments.task import Comments


def train(
    task: Comments,
    folder: str | Path,
    about: About | None = None,
    *,
    split: str = "train",
    held: str = "test",
) -> dict[str, float]:
    """Train a classifier on the rows of a split and write it to a folder, for `comments/classifier`.

    Returns:
        The `accuracy` and `roc_auc` on the rows of `held`, and their number.

    Raises:
        BadSetting: a split has too few rows. MissingExtra: without the extra "train".
    """
    chosen = About() if about is None else about
    texts, targets = examples(task, split, chosen)
    names = label_names(chosen, targets)
    others, right = unseen(task, held, chosen, names)
    trained = train_thresholds(texts, targets, names)
    found = figures(trained(others), trained.labels, right, chosen)
    trained.save(Path(folder).expanduser(), {"about": chosen.kind, "figures": found})
    return found
