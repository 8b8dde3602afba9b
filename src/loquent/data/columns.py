"""Columns: the fields of a record that hold the text and the label, and the checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loquent.core.task import Row
from loquent.core.values import Record, frozen
from loquent.errors import BadRow, kind_of, nearest

Place = tuple[object, int | None]  # a file, and a line in it if it has lines
Placed = Iterator[tuple[Place, Mapping[str, Any]]]  # records with their places


@dataclass(frozen=True)
class Columns:
    """The fields that make records into rows with `text` and, if the records have one, `label`.

    Other fields are kept. A record with `prompt` and `references` and no text is a pair: both fields are
    checked and kept, and it needs no text.

    Args:
        text: the name of the field with the text.
        label: the name of the field with the label; "" takes `label` if the records have it. A label is an
            int or a string.
        labels: the allowed labels as strings; () allows any.
    """

    text: str = "text"
    label: str = ""
    labels: tuple[str, ...] = ()

    def rows(
        self, records: Iterable[tuple[Place, Mapping[str, Any]]], id_of: Callable[[int], str]
    ) -> list[Row]:
        """The rows of one file or split; `id_of(i)` is the id of record i, counted from 0.

        Raises:
            BadRow: a field is missing, has the wrong type or is empty, a label is unknown, or only some
                records have a label.
        """
        rows: list[Row] = []
        labelled: bool | None = None
        for (file, line), record in records:
            try:
                if labelled is None:
                    labelled = bool(self.label) or "label" in record
                rows.append(Row(id_of(len(rows)), self._fields(record, labelled)))
            except ValueError as error:
                raise BadRow(str(error), file=file, line=line) from error
        return rows

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
            raise ValueError(
                "this row has a label and the rows before it have none; all rows must have one, or none"
            )
        return Record(fields)

    def _label(self, record: Mapping[str, Any]) -> str | int:
        label = field(record, self.label or "label")
        if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
            raise ValueError(f"the label is {label!r}; it must be an integer or a string that is not empty")
        if self.labels and str(label) not in self.labels:
            raise ValueError(f"the label {label!r} is unknown; known: {', '.join(self.labels)}")
        return label


def _text(record: Mapping[str, Any], name: str) -> str:
    return _check_text(field(record, name), f"the field {name!r}")


def _references(record: Mapping[str, Any]) -> tuple[str, ...]:
    value = record["references"]
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not texts:
        raise ValueError(
            f"the field 'references' is {value!r}; it must be a string or a list of at least one string"
        )
    return tuple(_check_text(text, f"reference {i}") for i, text in enumerate(texts))


def _check_text(text: Any, noun: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{noun} is {kind_of(text)}; it must be a string")
    if not text.strip():
        raise ValueError(f"{noun} is empty; it must hold a text")
    return text


def field(record: Mapping[str, Any], name: str) -> Any:
    """A field of a record; a missing field raises ValueError with the nearest name."""
    if name not in record:
        near = nearest(name, map(str, record))
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(
            f"the field {name!r} is missing{hint or '.'} Fields here: {', '.join(map(str, record)) or 'none'}"
        )
    return record[name]
