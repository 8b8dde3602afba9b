"""Labels as text, in the forms that the tasks write, and the gold labels of a row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loquent.core.task import Row
from loquent.errors import BadRow, kind_of

Labels = tuple[str, ...]
END = re.compile(r"(?<!\S)terminate(?!\S)")  # the action that ends an episode of the task `multilabel`


def tags(text: str) -> Labels:
    """The labels of a tagged text, such as "NEW/LOC YORK/LOC 1996-08-22/O".

    A label is the text after the last slash of a word; a word without a slash is itself a label.
    """
    return tuple(word.rpartition("/")[2] for word in text.split())


def label_set(text: str, separator: str = "") -> Labels:
    """The labels of a text such as "cs.DM cs.IT terminate", in their order.

    They are separated by white space, or by `separator`. Text after "terminate" is not read.
    """
    listed = END.split(text, maxsplit=1)[0]
    return tuple(label for part in listed.split(separator or None) if (label := part.strip()))


def row_labels(row: Row) -> list[Labels]:
    """The field `labels` of a row as its only gold sequence; an empty list for a row without this field.

    Raises:
        BadRow: the field is not a list of texts.
    """
    labels = row.fields.get("labels")
    if labels is None:
        return []
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise BadRow(
            f"row {row.id!r} has {kind_of(labels)} as 'labels'; a list of texts is allowed. "
            "Correct the field, or give the sample references"
        )
    return [tuple(labels)]


def pad_labels(gold: Sequence[str], predicted: Sequence[str]) -> tuple[Labels, Labels]:
    """Both sequences, the shorter one padded with "" to the length of the other."""
    length = max(len(gold), len(predicted))
    return (*gold, *[""] * (length - len(gold))), (*predicted, *[""] * (length - len(predicted)))
