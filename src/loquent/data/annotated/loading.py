"""From records with places to splits of rows: files per split, ids, and errors that name file and line."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.data.annotated.checks import BadItem, Check, Unlabelled, id_of
from loquent.data.annotated.options import Annotated
from loquent.data.columns import Place, Placed
from loquent.data.readers import Fields
from loquent.data.sources import Source, Splits, split_by_id, tables, with_validation
from loquent.data.tables.splits import ALIASES, SPLITS
from loquent.errors import BadRow, BadSetting

# The records of a path by split; "" means that they have no split yet
Read = Callable[[Path], dict[str, Placed]]

NAMES = {**ALIASES, "development": "validation", "training": "train", "testa": "validation", "testb": "test"}
SAMPLES = "samples"  # replaces the file's name for rows from the options


class Lines(tuple[int, ...]):
    """A field of a record of several lines: the line of each token and label."""


Item = tuple[Place, str, Record | Unlabelled]  # a record's place, its id ("": none), its fields


def load(options: Annotated, read: Read, check: Check) -> Splits:
    """All rows of a source by split, but for the built-in ones.

    A split without rows is absent; if there is only train, a fifth becomes validation. If an id occurs in two
    splits, because each numbers its own rows, all ids get their split as a prefix: `test/0`. A split without
    any annotation is omitted with a `Remark`, and rows that stand in two splits are reported or left out.

    Raises:
        BadRow: a record is bad; names file and line. BadSetting: there is nothing to read.
        MissingExtra: source hub without the extra "hub".
    """
    if options.source == "samples":
        splits, place = _samples(options.samples, check), SAMPLES
    elif options.source == "hub":
        splits, place = _hub(options, check), options.name
    else:
        splits, place = _path(options.path, read, check), options.path
    splits = duplicates.check_splits(splits, place, options.drop_duplicates)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def files(folder: Path, endings: tuple[str, ...]) -> dict[str, Path]:
    """The files of a folder by split.

    A split's file is named train, valid, dev, test, testa or testb; else its name contains this word.

    Raises:
        BadSetting: two files match the same split, or there is none; or it is no folder.
    """
    if not folder.is_dir():
        raise BadSetting(f"path = {str(folder)!r} is no folder; it must hold a file for each split")
    candidates: dict[str, tuple[int, list[Path]]] = {}
    for file in sorted(folder.iterdir()):
        name = file.name.lower().removesuffix(".gz")
        words = [word for word in re.split(r"[^a-z0-9]+", name) if word in NAMES]
        if (
            not file.is_file()
            or len(set(words)) != 1
            or not (name.endswith(endings) or "." not in name or name.split(".")[-1] in NAMES)
        ):
            continue
        split, rank = NAMES[words[0]], 0 if name.split(".")[0] in NAMES else 1
        best, files = candidates.get(split, (2, []))
        candidates[split] = (
            (rank, [file]) if rank < best else (best, [*files, file] if rank == best else files)
        )
    for split, (_, files) in candidates.items():
        if len(files) > 1:
            why = (
                f"{files[0].name} and {files[1].name} could both hold the split {split!r}; keep one file "
                "per split"
            )
            raise BadSetting(f"path = {str(folder)!r}: {why}")
    if not candidates:
        allowed = f"named train, validation (dev, valid) or test, ending in {', '.join(endings)}"
        raise BadSetting(f"path = {str(folder)!r}: this folder holds no split; it must hold files {allowed}")
    return {split: files[0] for split, (_, files) in candidates.items()}


def at(path: Path, records: Iterable[tuple[int, Fields]]) -> Placed:
    """Records of a file with their places."""
    return (((path, line), record) for line, record in records)


def _samples(samples: tuple[Record, ...], check: Check) -> Splits:
    records: dict[str, list[tuple[Place, Fields]]] = {}
    for number, sample in enumerate(samples, 1):
        split = sample.get("split", "train")
        if split not in SPLITS:
            raise BadRow(f"sample {number}: split = {split!r}; it must be one of {', '.join(SPLITS)}")
        fields = {name: value for name, value in sample.items() if name != "split"}
        records.setdefault(split, []).append(((SAMPLES, number), fields))
    return _splits(
        {split: iter(records.get(split, [])) for split in records}, check, {split: split for split in records}
    )


def _path(path: str, read: Read, check: Check) -> Splits:
    place = Path(path).expanduser()
    if not place.exists():
        raise BadSetting(f"path = {path!r}: there is no such file or folder; name an existing path")
    records = read(place)
    splits = _splits(records, check, {split: split or place.name.split(".")[0] for split in records})
    if "" in splits:
        return split_by_id(splits[""], path)
    return with_validation(splits, place=path)


def _hub(options: Annotated, check: Check) -> Splits:
    source = Source(kind="hub", name=options.name, subset=options.subset, revision=options.revision)
    records = {
        split: _table_records(table, f"{source.pinned_name}/{split}")
        for split, table in tables(source).items()
    }
    return with_validation(
        _splits(records, check, {split: split for split in records}), place=source.pinned_name
    )


def _table_records(table: Any, place: str) -> Placed:
    """The records of a hub table, with class numbers replaced by class names."""
    names = {name: _classes(feature) for name, feature in getattr(table, "features", {}).items()}
    for number, record in enumerate(table, 1):
        yield (place, number), {name: _with_names(value, names.get(name)) for name, value in record.items()}


def _classes(feature: Any) -> tuple[str, ...] | None:
    inner = getattr(feature, "feature", feature)
    names = getattr(inner, "names", None)
    return tuple(names) if names else None


def _with_names(value: Any, names: tuple[str, ...] | None) -> Any:
    if names is None or value is None:
        return value
    return [_class(item, names) for item in value] if isinstance(value, list) else _class(value, names)


def _class(number: Any, names: tuple[str, ...]) -> str | None:
    """The name of a class; None for -1, the hub's number for a missing label."""
    return names[number] if isinstance(number, int) and 0 <= number < len(names) else None


def _splits(records: Mapping[str, Placed], check: Check, prefixes: Mapping[str, str]) -> Splits:
    annotated = _annotated({split: list(_read(placed, check)) for split, placed in records.items()})
    times = Counter(id for items in annotated.values() for id in {id for _, id, _ in items if id})
    # Each split counts from 0, as hub datasets often do
    numbered = any(count > 1 for count in times.values())
    place_of: dict[str, str] = {}
    splits: Splits = {}
    for split, items in annotated.items():
        rows = []
        for (file, line), own, fields in items:
            id = f"{split}/{own}" if numbered and own else own or f"{prefixes[split]}-{line}"
            if id in place_of:
                raise BadRow(
                    f"the id {own or id!r} occurs at {place_of[id]} too; ids must be unique",
                    file=file,
                    line=line,
                )
            place_of[id] = f"{file}:{line}" if line is not None else str(file)
            rows.append(Row(id, fields))
        splits[split] = tuple(rows)
    return splits


def _annotated(splits: Mapping[str, list[Item]]) -> dict[str, list[tuple[Place, str, Record]]]:
    """The splits with annotations.

    A split without any, such as a test split with secret answers, is omitted with a `Remark`.

    Raises:
        BadRow: some rows of a split have no annotation, or no split has any.
    """
    annotated: dict[str, list[tuple[Place, str, Record]]] = {}
    omitted: dict[str, tuple[int, BadRow]] = {}
    for split, items in splits.items():
        missing = [
            BadRow(str(error), file=file, line=line)
            for (file, line), _, error in items
            if isinstance(error, Unlabelled)
        ]
        if missing and len(missing) < len(items):
            raise missing[0]
        if missing:
            omitted[split] = len(missing), missing[0]
        else:
            annotated[split] = [
                (place, id, record) for place, id, record in items if isinstance(record, Record)
            ]
    if omitted and not any(annotated.values()):
        raise next(iter(omitted.values()))[1]
    for split, (count, why) in omitted.items():
        warnings.warn(
            f"the split {split!r} is omitted: none of its {count:,} rows has an annotation ({why})",
            Remark,
            stacklevel=2,
        )
    return annotated


def _read(records: Placed, check: Check) -> Iterator[Item]:
    for (file, line), record in records:
        try:
            checked = check(record)
            _check_spaces(checked)
            yield (file, line), id_of(record), checked
        except Unlabelled as error:
            yield (file, line), id_of(record), error
        except ValueError as error:
            lines = next((value for value in record.values() if isinstance(value, Lines)), ())
            own = lines[error.number] if lines and isinstance(error, BadItem) else line
            raise BadRow(str(error), file=file, line=own) from error


def _check_spaces(fields: Record) -> None:
    for number, label in enumerate(fields.get("labels", ())):
        if label != label.strip():
            raise BadItem(
                f"the label {label!r:.80} has spaces around it; labels must have none, so that answers in "
                "text can name them",
                number,
            )
