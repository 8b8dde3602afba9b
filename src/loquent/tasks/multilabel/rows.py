"""The options of multi-label classification, and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from loquent.data.annotated import builtin_texts, placed, rows, texts
from loquent.data.annotated.options import Labelled
from loquent.data.sources import Splits
from loquent.errors import BadSetting
from loquent.settings import setting
from loquent.task import Row
from loquent.values import Record

TERMINATE = "terminate"


@dataclass(frozen=True, kw_only=True)
class Options(Labelled):
    """What `task:` may hold when it is multilabel."""

    text_field: str = setting("", "the field of the text in JSONL and on the hub; empty: `text`")
    label_field: str = setting("", "the field of the labels there; empty: `labels`")
    reward: str = setting("f1", "f1, exact, ndcg or prefix (these two reward the order), or a function module:name(observation, action, targets)")
    dense: bool = setting(True, "the score's change is paid at each label; else the score at the end", source="2011.08272 sec. 2.2")
    empty_score: float = setting(1.0, "the score of no label where none is right; 0: as in the paper's code", low=0.0, high=1.0)
    repeats: bool = setting(True, "a label may be inserted again, at the cost of precision, as in the paper; else it is masked")
    max_steps: int = setting(0, "actions until a game is cut off, the terminating one included; 0: the most labels of any row, and one", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if TERMINATE in self.labels:
            raise BadSetting(f"labels = {self.labels!r:.80}: {TERMINATE!r} is the action that ends a game and cannot be a label")

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The fields of a row from outside, under their own names, or those of the source where these are absent; ValueError where they are none."""
        text = placed.other_name(fields, ("text",), self.text_field)
        return self._checked(fields, text, placed.other_name(fields, ("labels",), self.label_field))

    def read(self, record: Mapping[str, Any]) -> Record:
        """The fields of a row from a record of the source; ValueError where they are none."""
        return self._checked(record, self.text_field, self.label_field)

    def _checked(self, fields: Mapping[str, Any], text: str, label: str) -> Record:
        found = texts.check(fields, text_field=text, label_field=label)
        if TERMINATE in found["labels"]:
            raise ValueError(f"a label is named {TERMINATE!r}, which is the action that ends a game")
        return found


@lru_cache(maxsize=16)
def load(options: Options) -> Splits:
    """The rows of all splits with `text`, `labels` and `weight`; errors as `data.annotated.placed.load`.

    A weight that is not given is one over how often the row's sequence of labels occurs in its split, so that sampling by weight draws
    every sequence equally often, as the paper's pools do.
    """
    return {split: _weighted(found) for split, found in rows.limited(whole(options), options.limit).items()}


@lru_cache(maxsize=16)
def whole(options: Options) -> Splits:
    """The rows before `limit`: what can be said does not hang on how many of them are played."""
    return placed.load(options, texts.read, placed.knowing(options.read, options.labels), builtin_texts.splits)


def labels(options: Options) -> tuple[str, ...]:
    """All labels in the order of their actions; errors as `data.annotated.rows.labels`."""
    return rows.labels(options, builtin_texts.LABELS, whole)


def most_steps(options: Options, count: int) -> int:
    """The limit of a game's actions: the most labels of any row, or all `count` where there is no row, and one to terminate."""
    if options.max_steps:
        return options.max_steps
    if options.source == "builtin":
        return builtin_texts.MOST + 1
    return max((len(row["labels"]) for found in whole(options).values() for row in found), default=count) + 1


def _weighted(found: tuple[Row, ...]) -> tuple[Row, ...]:
    counts = Counter(row["labels"] for row in found)
    return tuple(row if "weight" in row.fields else Row(row.id, row.fields.with_(weight=1 / counts[row["labels"]])) for row in found)
