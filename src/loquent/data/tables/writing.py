"""The store of a source is made: all its rows are checked once, and written with their splits."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files
from loquent.core.guards.opening import check_expansion
from loquent.data.tables import forms
from loquent.data.tables import splits as keyed
from loquent.data.tables.rows import Reader
from loquent.data.tables.splits import Indices
from loquent.data.tables.store import ABOUT, NUMBERS, RECORDS, VERSION, WEIGHTS, write_records
from loquent.data.tables.table import Table
from loquent.errors import BadRow
from loquent.files import atomic

Tables = Mapping[str, tuple[str, Table]]  # by split, with the beginning of the ids; "" for no split
BATCH = 4096  # rows
CHUNK = 1 << 20
PIECE = 1 << 22  # bytes of a batch at most, but for its last row


class Written:
    """What is known of the rows after they were written, each in the order of the store.

    contents: hashes of 64 bits of what an agent reads. `weights` is empty if no row has one, and `single` is
    the id of the first row whose text has one word.
    """

    def __init__(self) -> None:
        self.contents = bytearray()  # 8 bytes for each row
        self.weights = array("d")
        self.single: str | None = None


def write(folder: Path, tables: Tables, columns: Reader, limit: int, about: Mapping[str, Any]) -> None:
    """Write the store of a source, and `about` with it.

    With a limit only the rows that it chooses are read, checked and written.

    Raises:
        BadRow: a row is bad; names file and line.
    """
    counts = {split: table.count() for split, (_, table) in tables.items()} if limit else {}
    chosen = _members(tables, counts, limit) if limit else {}
    written = Written()
    spans: dict[str, tuple[int, int]] = {}
    numbers: dict[str, Indices] = {}
    with write_records(folder / RECORDS) as writer:
        for split, (prefix, table) in tables.items():
            start = len(written.contents) // 8
            if limit:
                numbers[split] = np.sort(np.concatenate([*chosen[split].values()]))
            _write(writer, table, prefix, columns, written, numbers.get(split))
            spans[split] = start, len(written.contents) // 8
    if not limit:
        counts = {split: end - start for split, (start, end) in spans.items()}
        chosen = _members(tables, counts, 0)
    places = {
        name: np.uint32(spans[split][0])
        + (np.searchsorted(numbers[split], members).astype(np.uint32) if limit else members)
        for split, parts in chosen.items()
        for name, members in parts.items()
    }
    repeated, example = _repeated(places, np.frombuffer(written.contents, np.uint64))
    arrays: dict[str, NDArray[Any]] = {f"{split}.npy": of for split, of in places.items()}
    arrays |= {f"{split}.repeated.npy": of for split, of in repeated.items()}
    if limit:
        arrays[NUMBERS] = np.concatenate([*numbers.values()]) + np.uint32(1)
    if written.weights:
        arrays[WEIGHTS] = np.frombuffer(written.weights, np.float64)
    for name, values in arrays.items():
        np.save(folder / name, values, allow_pickle=False)
    for name in (RECORDS, *arrays):
        atomic.sync(folder / name)
    facts = {
        "version": VERSION,
        "tables": [(tables[split][0], *span) for split, span in spans.items()],
        "splits": {split: len(places[split]) for split in keyed.SPLITS if split in places},
        "repeated": {split: len(of) for split, of in repeated.items()},
        "example": example,
        "single": written.single,
        "sizes": {name: (folder / name).stat().st_size for name in (RECORDS, *arrays)},
    }
    atomic.write_synced(folder / ABOUT, json.dumps({**about, **facts}))


def _members(tables: Tables, counts: Mapping[str, int], limit: int) -> dict[str, dict[str, Indices]]:
    """The rows of each split as indices in their table, by table and split."""
    found: dict[str, dict[str, Indices]] = {}
    for split, (prefix, table) in tables.items():
        if not counts[split]:
            raise BadRow("the file has no rows", file=table.place)
        divided = split == "" or (split == "train" and "validation" not in tables)
        if not (divided or limit):
            found[split] = {split: np.arange(counts[split], dtype=np.uint32)}
            continue
        draws = keyed.draws(f"{prefix}-{number}" for number in range(1, counts[split] + 1))
        parts = keyed.by_hash(draws) if split == "" else {split: np.arange(len(draws), dtype=np.uint32)}
        if "train" in parts and "validation" not in {**parts, **tables}:
            train = parts["train"]
            aside = keyed.for_validation(draws[train])
            parts["train"] = np.delete(train, aside)
            parts |= {"validation": train[aside]} if len(aside) else {}
        found[split] = {
            name: members[keyed.limit_draws(draws[members], limit)] for name, members in parts.items()
        }
    return found


def _write(
    writer: Any, table: Table, prefix: str, columns: Reader, written: Written, chosen: Indices | None
) -> None:
    """Check and write the records of a table, or the chosen ones."""
    weight = next((column for column, name in columns.names.items() if name == "weight"), "weight")
    plain = columns.is_plain  # then most prompts are distinguished without looking at each field
    normal, contents = keyed.normal, written.contents
    labelled: bool | None = None
    records: list[bytes] = []
    length = total = 0
    for number, (file, line), record, text in table.records(_wanted(chosen)):
        try:
            if labelled is None:
                labelled = columns.is_labelled(record)
            content = None
            if plain and not labelled and "label" not in record:
                content = forms.plain_prompt(record)
            if content is None:
                content = columns.content(record, labelled)
                if written.single is None and " " not in normal(content) and columns.is_text(record):
                    written.single = f"{prefix}-{number}"
            if weight in record:
                _weigh(written, len(contents) // 8, record[weight])
            records.append(_json(record) if text is None else text.encode())
        except ValueError as error:
            raise BadRow(str(error), file=file, line=line) from error
        contents += blake2b(normal(content).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        length += len(records[-1])
        if len(records) == BATCH or length > PIECE:
            total += length
            _check_size(total, table)
            writer.write(records)
            records, length = [], 0
    if records:
        writer.write(records)
    if written.weights:
        _weigh(written, len(contents) // 8, None)


def _wanted(chosen: Indices | None) -> Callable[[int], bool] | None:
    """Whether a row is chosen, by its number from 1."""
    if chosen is None:
        return None
    mask = np.zeros(int(chosen.max(initial=0)) + 2, bool)
    mask[chosen + 1] = True
    numbers = mask.tobytes()
    return lambda number: number < len(numbers) and bool(numbers[number])


def _json(record: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(record, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return json.dumps(record, allow_nan=False).encode()


def _weigh(written: Written, before: int, weight: Any) -> None:
    """Note the weight of the row after so many; None: it has none. ValueError for a wrong one."""
    if weight is not None and (not json_files.is_number(weight) or weight < 0):
        raise ValueError(f"the weight is {json_files.show(weight)}; it must be a number of at least 0")
    written.weights.extend([1.0] * (before - len(written.weights)))
    if weight is not None:
        written.weights.append(float(weight))


def _check_size(length: int, table: Table) -> None:
    """BadRow for rows that are much larger than their file."""
    try:
        check_expansion(length, table.size)
    except OSError as error:
        raise BadRow(f"this file cannot be read further ({error})", file=table.place) from error


def _repeated(
    places: Mapping[str, Indices], contents: NDArray[np.uint64]
) -> tuple[dict[str, Indices], list[Any]]:
    """The places of rows whose content stands in a later split, by split, and the first of them.

    The first is its split, its place and the place of the row that it repeats. Rows are compared by hashes
    of 64 bits: of ten million different rows, two have one hash with a probability of 3 in a million.
    """
    found: dict[str, Indices] = {}
    example: list[Any] = []
    later = np.zeros(0, np.uint64)
    names = [split for split in keyed.ORDER if split in places]
    for i, split in enumerate(names):
        own = contents[places[split]]
        repeats = places[split][_among(own, later)]
        if len(repeats):
            found[split] = repeats
        if len(repeats) and not example:
            others = np.concatenate([places[name] for name in names[:i]])
            other = others[np.flatnonzero(contents[others] == contents[repeats[0]])[0]]
            example = [split, int(repeats[0]), int(other)]
        if split != names[-1]:
            later = np.unique(np.concatenate([later, own]))
    return found, example


def _among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are among the known ones, which are sorted; looked up a part at a time, to save memory."""
    found = np.zeros(len(values), bool)
    for start in range(0, len(values) if len(known) else 0, CHUNK):
        part = values[start : start + CHUNK]
        at = np.minimum(np.searchsorted(known, part), len(known) - 1)
        found[start : start + CHUNK] = known[at] == part
    return found
