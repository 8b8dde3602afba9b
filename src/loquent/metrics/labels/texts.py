"""Labels from text as the tasks write it, and the right ones: those of a reference, or of the row's `labels`
where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loquent.core.task import Row
from loquent.errors import BadRow, kind_of

Labels = tuple[str, ...]
END = re.compile(r"(?<!\S)terminate(?!\S)")  # the task `multilabel` is told so that no label is left


def tags(text: str) -> Labels:
    """The labels of a tagged text, "NEW/LOC YORK/LOC 1996-08-22/O": what is behind the last slash of each
    word; a word without one is a label.
    """
    return tuple(word.rpartition("/")[2] for word in text.split())


def label_set(text: str, separator: str = "") -> Labels:
    """The labels of "cs.DM cs.IT terminate", in their order: parted by white space, or by `separator`; what
    is behind "terminate" is not read.
    """
    said = END.split(text, maxsplit=1)[0]
    return tuple(label for part in said.split(separator or None) if (label := part.strip()))


def row_labels(row: Row) -> list[Labels]:
    """The labels a row names, as the one right answer; none where it names none.

    Raises:
        BadRow: its `labels` are no list of texts.
    """
    given = row.fields.get("labels")
    if given is None:
        return []
    if not isinstance(given, list | tuple) or not all(isinstance(label, str) for label in given):
        raise BadRow(f"row {row.id!r} has {kind_of(given)} as 'labels'; a list of texts is right")
    return [tuple(given)]


def filled(gold: Sequence[str], said: Sequence[str]) -> tuple[Labels, Labels]:
    """Both sequences at the length of the longer one: "" stands for a label that is missing, and beside one
    that is too much.
    """
    length = max(len(gold), len(said))
    return (*gold, *[""] * (length - len(gold))), (*said, *[""] * (length - len(said)))
