"""Checks of annotated rows: their ids, lists of strings, and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from loquent.core.task import Row
from loquent.core.values import Record, digest
from loquent.data.sources import Splits
from loquent.errors import BadRow, BadSetting, nearest

Check = Callable[[Mapping[str, Any]], Record]  # the fields of a row, or ValueError
LISTED = 40  # labels in an error


class Unlabelled(ValueError):
    """A record has no annotation."""


class BadItem(ValueError):
    """One of a record's tokens or labels is wrong; `number` counts from 0."""

    def __init__(self, why: str, number: int) -> None:
        super().__init__(why)
        self.number = number


def make_added_row(fields: Mapping[str, Any], check: Check) -> Row:
    """A row from fields outside the source, with their `id`, or with the id `added:HASH` of the fields.

    Raises:
        BadRow: `check` refuses the fields, or the id is wrong.
    """
    try:
        record, id = check(fields), id_of(fields)
    except ValueError as error:
        raise BadRow(str(error)) from error
    return Row(id or f"added:{digest(record, 16)}", record)


def strings(record: Mapping[str, Any], name: str, noun: str, *, split: bool = False) -> tuple[str, ...]:
    """A field as a tuple of non-empty strings. With `split` a single string is split at spaces.

    Args:
        noun: what the strings are, for errors.

    Raises:
        Unlabelled: the field or an item is None. ValueError: the field is not a list of non-empty strings.
    """
    value = record[name]
    if split and isinstance(value, str):
        return tuple(piece for piece in value.split(" ") if piece)
    if value is None or (isinstance(value, list | tuple) and any(item is None for item in value)):
        hint = "the hub writes -1 for a missing class"
        raise Unlabelled(
            f"the field {name!r} is {value!r:.60}, so {noun} are missing; it must be a list of "
            f"{noun} ({hint})"
        )
    if not isinstance(value, list | tuple):
        raise ValueError(f"the field {name!r} is {value!r:.60}; it must be a list of {noun}")
    for number, item in enumerate(value):
        if not isinstance(item, str) or not item:
            raise BadItem(
                f"the field {name!r} holds {item!r:.60}; it must be a list of {noun}, strings that "
                "are not empty",
                number,
            )
    return tuple(value)


def id_of(record: Mapping[str, Any]) -> str:
    """The id of a record; "" for none. ValueError for one that is neither a string nor an integer."""
    id = record.get("id", "")
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise ValueError(f"the id is {id!r:.60}; it must be a string or an integer")
    return str(id)


def labels_of(splits: Splits) -> tuple[str, ...]:
    """All labels of all splits, sorted; the order is the same in every process.

    Raises:
        BadSetting: no row has a label.
    """
    labels = sorted({label for rows in splits.values() for row in rows for label in row["labels"]})
    if not labels:
        raise BadSetting("no row has a label; set `labels` to the names of all labels")
    return tuple(labels)


def other_name(fields: Mapping[str, Any], own: tuple[str, ...], other: str) -> str:
    """`other`, the source's name of a field, if the fields have it and no name in `own`; else ""."""
    return other if other in fields and not any(name in fields for name in own) else ""


def restricted_to(check: Check, labels: tuple[str, ...]) -> Check:
    """A check that also refuses labels outside `labels`; empty `labels` allow any label."""
    return partial(_check_with_labels, check, frozenset(labels)) if labels else check


def _check_with_labels(check: Check, allowed: frozenset[str], fields: Mapping[str, Any]) -> Record:
    record = check(fields)
    check_labels(record, allowed)
    return record


def check_labels(fields: Record, allowed: frozenset[str]) -> None:
    """ValueError if a row has a label outside `allowed`."""
    for number, unknown in enumerate(fields["labels"]):
        if unknown in allowed:
            continue
        near = nearest(unknown, allowed)
        hint = f"did you mean {near!r}? " if near else ""
        more = f" and {len(allowed) - LISTED:,} more" if len(allowed) > LISTED else ""
        why = (
            f"the label {unknown!r:.80} is unknown; {hint}known: {', '.join(sorted(allowed)[:LISTED])}{more}"
        )
        raise BadItem(why, number)
