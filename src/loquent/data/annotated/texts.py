"""Texts with sets of labels: the checks of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.values import Record
from loquent.data.annotated.checks import strings
from loquent.data.annotated.sentences import weight_field
from loquent.data.columns import field


def check(record: Mapping[str, Any], *, text_field: str = "", label_field: str = "") -> Record:
    """The row's fields `text` and `labels`, in the record's order. A string of labels is split at spaces.

    Raises:
        Unlabelled: there are no labels. ValueError: a field is missing or wrong, or a label occurs twice.
    """
    text = field(record, text_field or "text")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(
            f"the field {text_field or 'text'!r} is {text!r:.60}; it must be a text that is not empty"
        )
    name = label_field or "labels"
    field(record, name)
    labels = strings(record, name, "labels", split=True)
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise ValueError(f"the label {twice!r} occurs twice in {name!r}; each label must occur once")
    return Record(text=text, labels=labels, **weight_field(record))
