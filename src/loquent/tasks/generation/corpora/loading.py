"""From the records of a dataset to rows by split."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loquent.core.task import Row
from loquent.core.values import Record, freeze
from loquent.data import corpora, duplicates
from loquent.data.columns import Placed
from loquent.data.sources import Source, Splits, split_by_id, with_validation
from loquent.data.tables.splits import SPLITS
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora.dataset import Dataset, Form, fill_prompt, shorten

FOLDER = Path(__file__).parent


def load(dataset: Dataset, source: Source, form: Form) -> Splits:
    """The rows of a dataset by split, with `prompt`, `references` and the dataset's own fields.

    A row's id is its split and line, with the file's name between them where a split has several files, and
    followed by its number where a record makes several rows. A file without a split is split by a hash of the
    ids, 80/10/10; without validation, a fifth of train becomes validation.

    Raises:
        BadRow: a record is bad, or two files of a split have equal names; names file and line.
        BadSetting: there is nothing to read. MissingExtra: a hub source without the extra "hub".
    """
    if source.kind == "builtin":
        return {split: tuple(_rows(dataset, raw, split, form)) for split, raw in _builtin(dataset).items()}
    from loquent.tasks.generation.corpora import file_readers

    records = file_readers.records(dataset.files, source)
    found = {split: _raw(placed, split) for split, placed in records.items()}
    group = dataset.group
    place = source.path or source.pinned_name
    found = with_validation(
        split_by_id(found[""], place) if "" in found else found,
        None if group is None else lambda row: group(row["record"]),
        place,
    )
    splits = {split: tuple(_rows(dataset, raw, split, form)) for split, raw in found.items()}
    splits = duplicates.check_splits(splits, place, source.drop_duplicates)
    if not any(splits.values()):
        raise BadSetting(f"the source {place} has no row; check the path and its files")
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def _raw(records: Placed, split: str) -> tuple[Row, ...]:
    """Records as rows, before they are made into rows of the task, so that splits keep a record together."""
    listed = list(records)
    several = len({file for (file, _), _ in listed}) > 1
    ids: dict[str, Any] = {}
    rows = []
    for place, record in listed:
        id = _id(split or "row", place, several)
        if id in ids:
            file, line = place
            raise BadRow(
                f"the id {id!r} of this record is that of a record in {ids[id]}", file=file, line=line
            )
        ids[id] = place[0]
        rows.append(Row(id, Record(place=place, record=record)))
    return tuple(rows)


def _id(split: str, place: tuple[Any, int | None], several: bool) -> str:
    """The id of a record: a file that is one record is known by its name alone."""
    file, line = place
    name = [Path(file).name.removesuffix(".gz").removesuffix(".story")] if several or line is None else []
    return "-".join([split, *name, *([] if line is None else [str(line)])])


def _builtin(dataset: Dataset) -> Splits:
    if not dataset.builtin:
        raise BadSetting("this dataset has no built-in rows; set source: path or source: hub")
    return {
        split: _raw((((split, i), record) for i, record in enumerate(records)), split)
        for split, records in corpora.records(FOLDER / f"{dataset.builtin}.json.xz").items()
    }


def _rows(dataset: Dataset, raw: tuple[Row, ...], split: str, form: Form) -> Iterator[Row]:
    prompt = form.prompt or dataset.prompt
    for record in raw:
        try:
            examples = dataset.examples(record["record"], split, form)
        except ValueError as error:
            file, line = record["place"]
            raise BadRow(str(error), file=file, line=line) from error
        for number, (parts, references, fields) in enumerate(examples):
            if form.source_words:
                parts = {**parts, dataset.long: shorten(parts[dataset.long], form.source_words)}
            kept = {name: freeze(value) for name, value in fields.items()}
            fields_of_row = Record(prompt=fill_prompt(prompt, parts), references=references, **kept)
            yield Row(record.id + (f"/{number}" if len(examples) > 1 else ""), fields_of_row)
