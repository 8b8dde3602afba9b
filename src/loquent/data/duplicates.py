"""Rows whose content stands in several splits: reported, or left out of the earlier split.

A learner that has seen a test row in training is measured on memory. Two rows have the same content if an
agent would read the same text in both; ids, labels and answers do not count.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.data.tables.splits import ORDER, normal

TEXTS = ("tokens", "question", "text", "prompt")  # the first of these fields that a row has is its text
HELP = (
    "leave out rows whose text stands in a later split too: of train those of validation and test, of "
    "validation those of test; without it such rows are kept and reported"
)


def content(fields: Mapping[str, Any], names: Sequence[str] = TEXTS) -> str:
    """What an agent reads of a row, without case and spacing: its first field of `names` that is not empty.

    By default that is its tokens, question and choices, text or prompt.
    """
    name = next((name for name in names if fields.get(name)), "")
    parts = [fields.get(name, ""), *sorted(fields.get("choices", ()) if name == "question" else ())]
    words = (" ".join(part) if isinstance(part, tuple) else str(part) for part in parts)
    return normal(" ".join(words))


def across(splits: dict[str, tuple[Row, ...]], names: Sequence[str] = TEXTS) -> dict[str, dict[str, Row]]:
    """The rows of each split whose content stands in a later split, by row id, with the row they repeat."""
    later: dict[str, Row] = {}
    found: dict[str, dict[str, Row]] = {}
    for split in ORDER:
        rows = [(row, content(row.fields, names)) for row in splits.get(split, ())]
        repeated = {row.id: later[text] for row, text in rows if text in later}
        if repeated:
            found[split] = repeated
        for row, text in rows:
            if text:
                later.setdefault(text, row)
    return found


def check_splits(
    splits: dict[str, tuple[Row, ...]], place: str, drop: bool, names: Sequence[str] = TEXTS
) -> dict[str, tuple[Row, ...]]:
    """The splits without the rows of `across` if `drop`; else the splits as they are, and a Remark.

    Args:
        place: where the rows come from, for the Remark.
        names: the fields of `content`.

    Warns:
        Remark: rows stand in several splits; it says how many and names the first.
    """
    found = across(splits, names)
    if drop:
        return {
            split: tuple(row for row in rows if row.id not in found.get(split, {}))
            for split, rows in splits.items()
        }
    if found:
        split, rows = next(iter(found.items()))
        id, other = next(iter(rows.items()))
        counts = {split: (len(rows), len(splits[split])) for split, rows in found.items()}
        remark(place, counts, f"{split} row {id!r} = row {other.id!r}")
    return splits


def remark(place: str, counts: Mapping[str, tuple[int, int]], example: str) -> None:
    """Warn of rows that stand in several splits.

    Args:
        counts: by split, the number of such rows and of all rows.
    """
    shares = " and ".join(f"{some:,} of {every:,} {split} rows" for split, (some, every) in counts.items())
    warnings.warn(
        f"{place}: {shares} stand in a later split too, for example {example}; results on such rows measure "
        "memory. Set drop_duplicates: true to leave them out",
        Remark,
        stacklevel=3,
    )
