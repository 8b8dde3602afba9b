"""The options and rows of multi-label classification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.settings import setting
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import content, corpora
from loquent.data.annotated import checks, rows, texts
from loquent.data.annotated.options import Labelled
from loquent.data.sources import Splits
from loquent.errors import BadSetting

BUILTIN = Path(__file__).with_name("texts.json.xz")  # made by tools/corpora/texts.py
# of built-in rows: all labels, and the most of a row
LABELS = ("coffee", "gold", "grain", "money", "oil", "ship", "sugar", "trade", "weather", "wool")
MOST = 4
TERMINATE = "terminate"


@dataclass(frozen=True, kw_only=True)
class Options(Labelled):
    """The settings under `task:` for multi-label classification."""

    text_field: str = setting("", "the field of the text in JSONL and on the hub; empty: `text`")
    label_field: str = setting("", "the field of the labels in JSONL and on the hub; empty: `labels`")
    reward: str = setting(
        "f1",
        "f1, exact, ndcg or prefix (ndcg and prefix reward the order), or module:name(observation, "
        "action, targets)",
    )
    dense: bool = setting(
        True,
        "true: each label earns the change of the score; false: the score is given at the end",
        source="2011.08272 sec. 2.2",
    )
    empty_score: float = setting(
        1.0,
        "the score of a prediction without labels for a text without labels; 0: as in the paper's code",
        low=0.0,
        high=1.0,
    )
    repeats: bool = setting(
        True, "true: a label may be repeated, at the cost of precision, as in the paper; false: it is masked"
    )
    max_steps: int = setting(
        0,
        "the most actions in an episode, 'terminate' included; 0: the largest number of labels of a "
        "row, plus 1",
        low=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if TERMINATE in self.labels:
            problem = f"labels = {self.labels!r:.80}: {TERMINATE!r} is the action that ends an episode"
            raise BadSetting(f"{problem} and cannot be a label; rename the label")

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The checked fields of a user's row. A field has its own name or else the name in the source.

        Raises:
            ValueError: a field is invalid.
        """
        text = checks.other_name(fields, ("text",), self.text_field)
        return self._checked(fields, text, checks.other_name(fields, ("labels",), self.label_field))

    def read(self, record: Mapping[str, Any]) -> Record:
        """The checked fields of a record of the source; ValueError if invalid."""
        return self._checked(record, self.text_field, self.label_field)

    def _checked(self, fields: Mapping[str, Any], text: str, label: str) -> Record:
        checked = texts.check(fields, text_field=text, label_field=label)
        if TERMINATE in checked["labels"]:
            raise ValueError(
                f"a label is named {TERMINATE!r}, which is the action that ends an episode; rename the label"
            )
        return checked


@content.cache_reads(16)
def load(options: Options) -> Splits:
    """The rows of all splits with `text`, `labels` and `weight`; errors as in `data.annotated.placed.load`.

    A row without a weight gets 1 / (the number of rows in its split with the same sequence of labels).
    Sampling by weight then draws every sequence equally often, as the paper's pools do.
    """
    return {
        split: _weighted(part) for split, part in rows.limit_splits(all_rows(options), options.limit).items()
    }


@content.cache_reads(16)
def all_rows(options: Options) -> Splits:
    """The rows without `limit`, so that the set of labels does not depend on `limit`."""
    if options.source == "builtin":
        return corpora.rows(BUILTIN)
    from loquent.data.annotated import loading, text_files

    return loading.load(options, text_files.read, checks.restricted_to(options.read, options.labels))


def labels(options: Options) -> tuple[str, ...]:
    """All labels in the order of their actions; errors as in `data.annotated.rows.labels`."""
    return rows.labels(options, LABELS, all_rows)


def most_steps(options: Options, count: int) -> int:
    """The limit of actions: 1 plus the largest number of labels of a row, or plus `count` without rows."""
    if options.max_steps:
        return options.max_steps
    if options.source == "builtin":
        return MOST + 1
    return max((len(row["labels"]) for part in all_rows(options).values() for row in part), default=count) + 1


def _weighted(part: tuple[Row, ...]) -> tuple[Row, ...]:
    counts = Counter(row["labels"] for row in part)
    return tuple(
        row if "weight" in row.fields else Row(row.id, row.fields.with_(weight=1 / counts[row["labels"]]))
        for row in part
    )
