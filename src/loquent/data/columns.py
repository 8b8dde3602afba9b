"""Columns: from a record to the fields of a row, with the checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loquent.core.task import Row
from loquent.core.values import EMPTY, Record, freeze
from loquent.data.tables import forms
from loquent.errors import BadRow, nearest

Place = tuple[object, int | None]  # a file, and a line in it if it has lines
Placed = Iterator[tuple[Place, Mapping[str, Any]]]  # records with their places


@dataclass(frozen=True)
class Columns:
    """The columns that make records into rows with `text`, or with `prompt` and `references`.

    `tables.forms` lists the forms of rows. Columns that are not named there are kept; None counts as absent.

    Args:
        text: the name of the column with the text.
        label: the name of the column with the label; "" takes `label` if the records have it. A label is an
            int or a string. True or False beside a `completion` is a preference, and no label of the row.
        labels: the allowed labels as strings; () allows any.
        names: the fields that columns become, by the columns' names.
    """

    text: str = "text"
    label: str = ""
    labels: tuple[str, ...] = ()
    names: Record = EMPTY

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
                labelled = self.is_labelled(record) if labelled is None else labelled
                rows.append(Row(id_of(len(rows)), self.fields(record, labelled)))
            except ValueError as error:
                raise BadRow(str(error), file=file, line=line) from error
        return rows

    @property
    def is_plain(self) -> bool:
        """Whether no column has another name."""
        return self == Columns(labels=self.labels)

    def is_labelled(self, record: Mapping[str, Any]) -> bool:
        """Whether all rows of a file must have a label, of which this is the first record."""
        if self.label:
            return True
        named = self.own_names(record)
        return named.get("label") is not None and not _is_preference(named)

    def fields(self, record: Mapping[str, Any], labelled: bool) -> Record:
        """The fields of a row; ValueError as `rows`."""
        named = {name: value for name, value in self.own_names(record).items() if value is not None}
        fields = {**named, **self._form(named)}
        if not labelled and _is_preference(named):
            del fields["label"]
        elif labelled:
            fields["label"] = self._label(named)
        elif "label" in named:
            raise ValueError(
                "this row has a label and the rows before it have none; all rows must have one, or none"
            )
        return Record({str(name): freeze(value) for name, value in fields.items()})

    def content(self, record: Mapping[str, Any], labelled: bool) -> str:
        """The text of the row that an agent reads, its prompt or its text; ValueError as `fields`."""
        fields = self.fields(record, labelled)
        return str(fields["prompt"] if "prompt" in fields else fields["text"])

    def is_text(self, record: Mapping[str, Any]) -> bool:
        """Whether a row is a text that is still to be cut, and has no prompt of its own."""
        return "prompt" not in self.fields(record, self.is_labelled(record))

    def own_names(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record with the names of fields in the place of its columns' names; ValueError as `rows`."""
        if not self.names:
            return record
        for column, name in self.names.items():
            if field(record, column) is None:
                raise ValueError(f"the field {column!r} is empty; `columns` makes it the field {name!r}")
            if name in record and name not in self.names and name != column:
                raise ValueError(
                    f"`columns` makes the field {column!r} the field {name!r}, which is here too; name that "
                    f"one otherwise, such as {name}: other_{name}"
                )
        return {self.names.get(name, name): value for name, value in record.items()}

    def _form(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the row's form."""
        is_text = self.text != "text" or "text" in self.names.values()
        fields = None if is_text else forms.prompt_fields(record)
        if fields is not None:
            return fields
        try:
            return {"text": forms.require_text(field(record, self.text), f"the field {self.text!r}")}
        except ValueError as error:
            line = "" if self.text in record else forms.advice(record)
            raise ValueError(f"{error}{line and '; '}{line}") from None

    def _label(self, record: Mapping[str, Any]) -> str | int:
        label = field(record, self.label or "label")
        if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
            raise ValueError(f"the label is {label!r}; it must be an integer or a string that is not empty")
        if self.labels and str(label) not in self.labels:
            raise ValueError(f"the label {label!r} is unknown; known: {', '.join(self.labels)}")
        return label


def _is_preference(named: Mapping[str, Any]) -> bool:
    """Whether the label of a record says if its completion is good, as in TRL's files for KTO."""
    return isinstance(named.get("label"), bool) and named.get("completion") is not None


def field(record: Mapping[str, Any], name: str) -> Any:
    """A field of a record; a missing field raises ValueError with the nearest name."""
    if name not in record:
        near = nearest(name, map(str, record))
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(
            f"the field {name!r} is missing{hint or '.'} Fields here: {', '.join(map(str, record)) or 'none'}"
        )
    return record[name]
