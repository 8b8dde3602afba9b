"""Sources of rows (built-in, a path, the Hugging Face hub) and their train, validation and test splits."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row
from loquent.data import duplicates
from loquent.data.columns import Columns
from loquent.errors import BadSetting

Splits = dict[str, tuple[Row, ...]]

SPLITS = ("train", "validation", "test")
ALIASES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
# Without validation rows, one in 5 train rows becomes one: 25,000 reviews give 20,000 and 5,000 (2210.01241).
VALIDATION_ONE_IN = 5
# The splits that a file of few rows fills, in this order; single rows come from the splits behind them.
GIVERS = {"train": ("validation", "test"), "test": ("validation",), "validation": ()}
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """The settings of a source: its kind, its location, and the fields of the text and the label."""

    kind: str = setting(
        "builtin", "built-in reviews, a file or folder, or a hub dataset", choices=("builtin", "path", "hub")
    )
    path: str = setting(
        "",
        "kind path: a file, a folder with train, validation and test files, or the IMDB folders",
        file=True,
    )
    name: str = setting("", "kind hub: the dataset's name, or a local folder in the hub's format", file=True)
    subset: str = setting("", "kind hub: the dataset's configuration, if it has several")
    revision: str = setting("", "kind hub: the commit, 40 hexadecimal digits, which fixes the rows")
    text_field: str = setting("text", "the field that holds the text")
    label_field: str = setting("", "the field that holds the label; empty: `label`, if the rows have it")
    labels: tuple[str, ...] = setting((), "the allowed labels; empty: any label")
    drop_duplicates: bool = setting(False, duplicates.HELP)

    def __post_init__(self) -> None:
        check_ranges(self)
        wanted = {"builtin": (), "path": ("path",), "hub": ("name",)}[self.kind]
        for field in wanted:
            if not getattr(self, field):
                raise BadSetting(f"a source of kind {self.kind!r} needs {field}, which is empty; set it")
        for field, kind in (("path", "path"), ("name", "hub"), ("subset", "hub"), ("revision", "hub")):
            if getattr(self, field) and kind != self.kind:
                raise BadSetting(
                    f"{field} = {getattr(self, field)!r} is set, but kind = {self.kind!r}; {field} "
                    f"belongs to a source of kind {kind!r}"
                )
        if self.kind == "hub" and not Path(self.name).is_dir() and not COMMIT.fullmatch(self.revision):
            raise BadSetting(
                f"the hub source {self.name!r} is not pinned: revision = {self.revision!r}; it must "
                "be a commit of 40 hexadecimal digits, because names such as 'main' move; the "
                "dataset's page lists its commits under 'Files and versions'"
            )

    @property
    def pinned(self) -> str:
        """The name of a hub source with the first 12 digits of its commit."""
        return self.name if not self.revision else f"{self.name}@{self.revision[:12]}"

    @property
    def columns(self) -> Columns:
        """The fields that make this source's records into rows."""
        return Columns(self.text_field, self.label_field, self.labels)


def draw_of(id: str) -> float:
    """A hash of an id as a number in [0, 1). It decides splits and subsets."""
    return (
        int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        / 2**64
    )


def split_by_id(rows: Iterable[Row]) -> Splits:
    """The splits of rows by a hash of each id: about 80 % train, 10 % validation, 10 % test.

    Few rows may leave a split empty. It then gets one row of the largest split, by the hash: train first,
    then test, then validation. So one row is of train, and two rows are of train and test. Where the
    hash fills all splits, appending rows moves no row.
    """
    members = list(rows)
    split_of = {row.id: _split_of(draw_of(row.id)) for row in members}
    for empty, others in GIVERS.items():
        counts = Counter(split_of.values())
        giver = max(SPLITS, key=counts.__getitem__)
        if counts[giver] < 2:
            giver = next((split for split in others if counts[split]), "")
        if giver and not counts[empty]:
            split_of[max((id for id in split_of if split_of[id] == giver), key=draw_of)] = empty
    found = {split: tuple(row for row in members if split_of[row.id] == split) for split in SPLITS}
    return {split: part for split, part in found.items() if part}


def _split_of(uniform: float) -> str:
    return "train" if uniform < 0.8 else "validation" if uniform < 0.9 else "test"


def with_validation(splits: Splits, group: Callable[[Row], str] | None = None) -> Splits:
    """The splits; without validation, a hash of the ids moves a fifth of train there.

    Args:
        group: a text of each row: rows with equal texts stay in one split, so validation may have more rows.
            If all rows have one text, validation stays absent.
    """
    if "train" not in splits or "validation" in splits:
        return splits
    train = splits["train"]
    key = group or (lambda row: row.id)
    first = sorted(train, key=lambda row: draw_of(key(row)))[: len(train) // VALIDATION_ONE_IN]
    chosen = {key(row) for row in first}
    validation = tuple(row for row in train if key(row) in chosen)
    if train and len(validation) == len(train):
        return splits
    return {
        **splits,
        "train": tuple(row for row in train if key(row) not in chosen),
        "validation": validation,
    }


def limited(rows: tuple[Row, ...], limit: int) -> tuple[Row, ...]:
    """At most `limit` rows (0: all), chosen by a hash of their ids, in order.

    A smaller limit gives a subset of a larger one.
    """
    if not limit or len(rows) <= limit:
        return rows
    chosen = {row.id for row in sorted(rows, key=lambda row: draw_of(row.id))[:limit]}
    return tuple(row for row in rows if row.id in chosen)


def share(rows: Sequence[Row], part: float) -> tuple[Row, ...]:
    """A share of the rows, as `limited` chooses them: the nearest whole number of rows, at least one.

    Args:
        part: above 0 and at most 1.
    """
    return limited(tuple(rows), max(1, round(part * len(rows))))
