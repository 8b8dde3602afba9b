"""What a classifier of comments is trained on, and how good it is on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting, MissingExtra
from loquent.tasks.comments.task import Comments

TOXICITY, UPVOTES = "toxicity", "upvotes"


@dataclass(frozen=True)
class About:
    """What a classifier predicts: `kind` is "toxicity" (the row's label) or "upvotes".

    An upvoted comment has a score above `cutoff`.
    """

    kind: str = TOXICITY
    cutoff: int = 0

    def __post_init__(self) -> None:
        if self.kind not in (TOXICITY, UPVOTES):
            raise BadSetting(f"kind = {self.kind!r:.60} must be {TOXICITY!r} or {UPVOTES!r}")


def examples(task: Comments, split: str, about: About) -> tuple[list[str], NDArray[np.int64]]:
    """The comments of a split that have what is predicted, and their targets.

    A target is the label 0, 1 or 2, or 1 for an upvoted comment and 0 for another one.

    Raises:
        BadSetting: no row has it, or all have the same target.
    """
    name = "label" if about.kind == TOXICITY else "score"
    rows = [row for row in task.rows(split) if name in row.fields]
    values = np.array([row[name] for row in rows], dtype=np.int64)
    targets = values if about.kind == TOXICITY else (values > about.cutoff).astype(np.int64)
    if len(np.unique(targets)) < 2:
        raise BadSetting(
            f"{task.identity}: {len(rows)} rows of {split} have a {name}, with {len(np.unique(targets))} "
            f"different targets for {about.kind}; at least two are needed"
        )
    return [row["comment"] for row in rows], targets


def unseen(
    task: Comments, split: str, about: About, names: Sequence[str]
) -> tuple[list[str], NDArray[np.int64]]:
    """`examples` of a split for `figures`.

    Args:
        names: the labels of the classifier.

    Raises:
        BadSetting: as `examples`; or no row has the highest label, so there is no ROC curve.
    """
    texts, targets = examples(task, split, about)
    if about.kind == TOXICITY and not (targets == int(names[-1])).any():
        raise BadSetting(
            f"{task.identity}: no row of {split} has the label {names[-1]}, so the classifier cannot be "
            "checked; name another split as held"
        )
    return texts, targets


def label_names(about: About, targets: NDArray[np.int64]) -> tuple[str, ...]:
    """The names of a classifier's labels: the levels of toxicity that occur, or -1 and 1 for votes."""
    return ("-1", "1") if about.kind == UPVOTES else tuple(str(level) for level in np.unique(targets))


def figures(
    probabilities: NDArray[np.float64], names: Sequence[str], targets: NDArray[np.int64], about: About
) -> dict[str, float]:
    """How good probabilities f64[n, labels] are: accuracy, and the area under the ROC curve.

    The curve is that of the last label against all others: unsafe comments, or upvotes.

    Raises:
        MissingExtra: without the extra "train".
    """
    try:
        from sklearn.metrics import roc_auc_score
    except ImportError as error:
        raise MissingExtra("the figures of a classifier", "train") from error
    levels = np.array([0, 1] if about.kind == UPVOTES else [int(name) for name in names])
    return {
        "accuracy": float((levels[probabilities.argmax(axis=1)] == targets).mean()),
        "roc_auc": float(roc_auc_score(targets == levels[-1], probabilities[:, -1])),
        "rows": float(len(targets)),
    }
