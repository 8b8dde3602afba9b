"""Columns: which fields of a record are the text and the label, and what must be true of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loquent.errors import BadRow, kind_of, nearest
from loquent.task import Row
from loquent.values import Record, frozen

Place = tuple[object, int | None]  # a file, and a line in it where there are lines


@dataclass(frozen=True)
class Columns:
    """How records become rows with `text` and, where there is one, `label`; other fields are kept as they are.

    A record with `prompt` and `references` and no text of its own is a pair: both are checked and kept, and no text is asked for.

    Args:
        text: the name of the text's field.
        label: the name of the label's field; "" takes `label` where the records have it. A label is an int or a string and stays so.
        labels: the labels that may occur, as strings; () allows any.
    """

    text: str = "text"
    label: str = ""
    labels: tuple[str, ...] = ()

    def rows(self, records: Iterable[tuple[Place, Mapping[str, Any]]], name: Callable[[int], str]) -> list[Row]:
        """The rows of one file or split; `name` gives the id of the n-th record, counted from 0.

        Raises:
            BadRow: a field is missing, has the wrong type or is empty, a label is unknown, or only some records have a label.
        """
        made: list[Row] = []
        labelled: bool | None = None
        for (file, line), record in records:
            try:
                if labelled is None:
                    labelled = bool(self.label) or "label" in record
                made.append(Row(name(len(made)), self._fields(record, labelled)))
            except ValueError as error:
                raise BadRow(str(error), file=file, line=line) from error
        return made

    def _fields(self, record: Mapping[str, Any], labelled: bool) -> Record:
        fields = {str(field): frozen(value) for field, value in record.items()}
        if self.text not in record and "prompt" in record and "references" in record:
            fields["prompt"] = _text(record, "prompt")
            fields["references"] = _references(record)
        else:
            fields["text"] = _text(record, self.text)
        if labelled:
            fields["label"] = self._label(record)
        elif "label" in record:
            raise ValueError("this row has a label and the rows before it have none")
        return Record(fields)

    def _label(self, record: Mapping[str, Any]) -> str | int:
        label = field(record, self.label or "label")
        if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
            raise ValueError(f"the label is {label!r}; a label is an integer or a string that is not empty")
        if self.labels and str(label) not in self.labels:
            raise ValueError(f"the label {label!r} is unknown; known: {', '.join(self.labels)}")
        return label


def _text(record: Mapping[str, Any], name: str) -> str:
    return _checked(field(record, name), f"the field {name!r}")


def _references(record: Mapping[str, Any]) -> tuple[str, ...]:
    given = record["references"]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not texts:
        raise ValueError(f"the field 'references' is {given!r}; a string or a list of at least one string is right")
    return tuple(_checked(text, f"reference {i}") for i, text in enumerate(texts))


def _checked(text: Any, what: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{what} is {kind_of(text)}, not a string")
    if not text.strip():
        raise ValueError(f"{what} is empty")
    return text


def field(record: Mapping[str, Any], name: str) -> Any:
    """A field of a record; ValueError, with the nearest name, where it is missing."""
    if name not in record:
        near = nearest(name, map(str, record))
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"the field {name!r} is missing{hint or '.'} Fields here: {', '.join(map(str, record)) or 'none'}")
    return record[name]
