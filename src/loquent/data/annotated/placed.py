"""From placed records to splits: which file holds which split, ids, checks that name file and line, and what is set aside."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from loquent.data.annotated.options import Annotated
from loquent.data.columns import Place
from loquent.data.readers import Fields
from loquent.data.sources import ALIASES, SPLITS, Source, Splits, carved, divided, tables
from loquent.errors import BadRow, BadSetting, nearest
from loquent.settings import Remark
from loquent.task import Row
from loquent.values import Record, digest

Placed = Iterator[tuple[Place, Fields]]
Check = Callable[[Mapping[str, Any]], Record]  # the fields of a row, or ValueError
Read = Callable[[Path], dict[str, Placed]]  # what a path holds by split; the split "" is still to be divided

NAMES = {**ALIASES, "development": "validation", "training": "train", "testa": "validation", "testb": "test"}
LISTED = 40  # labels in an error
GIVEN = "samples"  # stands for a file's name where rows are given as options


class Unlabelled(ValueError):
    """A record has no annotation."""


Found = tuple[Place, str, Record | Unlabelled]  # a record's place, the id it has ("": none), its fields


def load(options: Annotated, read: Read, check: Check, builtin: Callable[[], Splits]) -> Splits:
    """All rows of a source by split; a split without rows is absent, and where there is only train a fifth becomes validation.

    Where an id stands in two splits, each of which counts its own rows, all ids get their split in front: `test/0`. A split
    of which no row has an annotation is set aside, which a `Remark` tells.

    Raises:
        BadRow: a record is bad; names file and line. BadSetting: there is nothing to read.
        MissingExtra: source hub without the extra "hub".
    """
    if options.source == "builtin":
        splits = builtin()
    elif options.source == "samples":
        splits = _samples(options.samples, check)
    elif options.source == "hub":
        splits = _hub(options, check)
    else:
        splits = _path(options.path, read, check)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def added(fields: Mapping[str, Any], check: Check) -> Row:
    """A row from outside the source, under its `id` or `added:HASH` of its fields.

    Raises:
        BadRow: the fields are not those of such a row.
    """
    try:
        made, id = check(fields), _id(fields)
    except ValueError as error:
        raise BadRow(str(error)) from error
    return Row(id or f"added:{digest(made, 16)}", made)


def files(folder: Path, endings: tuple[str, ...]) -> dict[str, Path]:
    """The files of a folder by split: the one called train, valid, dev, test, testa or testb, else the one with that word in its name.

    Raises:
        BadSetting: two files could be the same split, or there is none.
    """
    found: dict[str, tuple[int, list[Path]]] = {}
    for file in sorted(folder.iterdir()):
        name = file.name.lower().removesuffix(".gz")
        words = [word for word in re.split(r"[^a-z0-9]+", name) if word in NAMES]
        if not file.is_file() or len(set(words)) != 1 or not (name.endswith(endings) or "." not in name or name.split(".")[-1] in NAMES):
            continue
        split, rank = NAMES[words[0]], 0 if name.split(".")[0] in NAMES else 1
        best, files = found.get(split, (2, []))
        found[split] = (rank, [file]) if rank < best else (best, [*files, file] if rank == best else files)
    for split, (_, several) in found.items():
        if len(several) > 1:
            raise BadSetting(f"path = {str(folder)!r}: {several[0].name} and {several[1].name} could both hold the split {split!r}")
    if not found:
        raise BadSetting(f"path = {str(folder)!r}: no file here is named train, validation (dev, valid) or test and ends in {', '.join(endings)}")
    return {split: several[0] for split, (_, several) in found.items()}


def at(path: Path, records: Iterable[tuple[int, Fields]]) -> Placed:
    """Records of a file with their places."""
    return (((path, line), record) for line, record in records)


def strings(record: Mapping[str, Any], name: str, what: str, *, split: bool = False) -> tuple[str, ...]:
    """A field as a tuple of strings that are not empty; ValueError otherwise. With `split` one string is cut at its spaces."""
    given = record[name]
    if split and isinstance(given, str):
        return tuple(piece for piece in given.split(" ") if piece)
    if given is None or (isinstance(given, list | tuple) and any(item is None for item in given)):
        raise Unlabelled(f"the field {name!r} is {given!r:.60}, so {what} are missing; the hub writes -1 for a class that is not told")
    if not isinstance(given, list | tuple):
        raise ValueError(f"the field {name!r} is {given!r:.60}; a list of {what} is right")
    for item in given:
        if not isinstance(item, str) or not item:
            raise ValueError(f"the field {name!r} holds {item!r:.60}; a list of {what}, strings that are not empty, is right")
    return tuple(given)


def _samples(given: tuple[Record, ...], check: Check) -> Splits:
    records: dict[str, list[tuple[Place, Fields]]] = {}
    for number, sample in enumerate(given, 1):
        split = sample.get("split", "train")
        if split not in SPLITS:
            raise BadRow(f"sample {number}: split = {split!r} is none of {', '.join(SPLITS)}")
        records.setdefault(split, []).append(((GIVEN, number), {name: value for name, value in sample.items() if name != "split"}))
    return _made({split: iter(records.get(split, [])) for split in records}, check, {split: split for split in records})


def _path(path: str, read: Read, check: Check) -> Splits:
    place = Path(path).expanduser()
    if not place.exists():
        raise BadSetting(f"path = {path!r}: there is no such file or folder")
    records = read(place)
    splits = _made(records, check, {split: split or place.name.split(".")[0] for split in records})
    if "" in splits:
        return divided(splits[""])
    return carved(splits)


def _hub(options: Annotated, check: Check) -> Splits:
    source = Source(kind="hub", name=options.name, subset=options.subset, revision=options.revision)
    records = {split: _named(table, f"{source.pinned}/{split}") for split, table in tables(source).items()}
    return carved(_made(records, check, {split: split for split in records}))


def _named(table: Any, place: str) -> Placed:
    """The records of a hub table, classes by their names."""
    names = {name: _classes(feature) for name, feature in getattr(table, "features", {}).items()}
    for number, record in enumerate(table, 1):
        yield (place, number), {name: _renamed(value, names.get(name)) for name, value in record.items()}


def _classes(feature: Any) -> tuple[str, ...] | None:
    inner = getattr(feature, "feature", feature)
    names = getattr(inner, "names", None)
    return tuple(names) if names else None


def _renamed(value: Any, names: tuple[str, ...] | None) -> Any:
    if names is None or value is None:
        return value
    return [_class(item, names) for item in value] if isinstance(value, list) else _class(value, names)


def _class(number: Any, names: tuple[str, ...]) -> str | None:
    """The name of a class; None for -1, with which the hub says that there is no label."""
    return names[number] if isinstance(number, int) and 0 <= number < len(names) else None


def _made(records: Mapping[str, Placed], check: Check, prefixes: Mapping[str, str]) -> Splits:
    read = _annotated({split: list(_read(placed, check)) for split, placed in records.items()})
    times = Counter(id for found in read.values() for id in {id for _, id, _ in found if id})
    numbered = any(count > 1 for count in times.values())  # each split counts from 0, as those of the hub often do
    home: dict[str, str] = {}
    made: Splits = {}
    for split, found in read.items():
        rows = []
        for (file, line), given, fields in found:
            id = f"{split}/{given}" if numbered and given else given or f"{prefixes[split]}-{line}"
            if id in home:
                raise BadRow(f"the id {given or id!r} stands already at {home[id]}", file=file, line=line)
            home[id] = f"{file}:{line}" if line is not None else str(file)
            rows.append(Row(id, fields))
        made[split] = tuple(rows)
    return made


def _annotated(read: Mapping[str, list[Found]]) -> dict[str, list[tuple[Place, str, Record]]]:
    """The splits without those of which no row has an annotation, such as a test split whose answers are kept secret; BadRow where some have one."""
    kept: dict[str, list[tuple[Place, str, Record]]] = {}
    aside: dict[str, tuple[int, BadRow]] = {}
    for split, found in read.items():
        missing = [BadRow(str(made), file=file, line=line) for (file, line), _, made in found if isinstance(made, Unlabelled)]
        if missing and len(missing) < len(found):
            raise missing[0]
        if missing:
            aside[split] = len(missing), missing[0]
        else:
            kept[split] = [(place, id, made) for place, id, made in found if isinstance(made, Record)]
    if aside and not any(kept.values()):
        raise next(iter(aside.values()))[1]
    for split, (count, why) in aside.items():
        warnings.warn(f"the split {split!r} is set aside: none of its {count:,} rows has an annotation ({why})", Remark, stacklevel=2)
    return kept


def _read(records: Placed, check: Check) -> Iterator[Found]:
    for (file, line), record in records:
        try:
            yield (file, line), _id(record), check(record)
        except Unlabelled as error:
            yield (file, line), _id(record), error
        except ValueError as error:
            raise BadRow(str(error), file=file, line=line) from error


def _id(record: Mapping[str, Any]) -> str:
    id = record.get("id", "")
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise ValueError(f"the id is {id!r:.60}; a string or a whole number is right")
    return str(id)


def labels_of(splits: Splits) -> tuple[str, ...]:
    """All labels of all splits, sorted, so that they are the same in every process and shared by the splits.

    Raises:
        BadSetting: there is none.
    """
    found = {label for rows in splits.values() for row in rows for label in row["labels"]}
    if not found:
        raise BadSetting("no row has a label, so `labels` must name them")
    if odd := next((label for label in sorted(found) if label != label.strip()), None):
        raise BadSetting(f"the label {odd!r} has spaces around it, which no answer in text can name")
    return tuple(sorted(found))


def other_name(fields: Mapping[str, Any], own: tuple[str, ...], other: str) -> str:
    """The source's name of a field where it stands in place of the row's `own` names; else "", for these."""
    return other if other in fields and not any(name in fields for name in own) else ""


def knowing(check: Check, labels: tuple[str, ...]) -> Check:
    """The check that also refuses labels which are none of these; none at all: any label is right."""
    return partial(_knowing, check, frozenset(labels)) if labels else check


def _knowing(check: Check, known: frozenset[str], fields: Mapping[str, Any]) -> Record:
    found = check(fields)
    known_labels(found, known)
    return found


def known_labels(fields: Record, known: frozenset[str]) -> None:
    """ValueError where a row has a label that is none of the known ones."""
    if odd := next((label for label in fields["labels"] if label not in known), None):
        near = nearest(odd, known)
        hint = f"did you mean {near!r}? " if near else ""
        more = f" and {len(known) - LISTED:,} more" if len(known) > LISTED else ""
        raise ValueError(f"the label {odd!r:.80} is unknown; {hint}known: {', '.join(sorted(known)[:LISTED])}{more}")
