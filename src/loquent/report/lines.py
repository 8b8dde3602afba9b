"""The logs of a run for a report: the lines that can be drawn, and notes on all that cannot.

Every value that is left out has a note with file and line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from loquent.core.guards import json_files
from loquent.core.guards.json_files import BadJson, is_number, show
from loquent.errors import Damaged
from loquent.files.run_records import Records

LARGEST = 1e100  # in size: the sums and squares of larger numbers overflow a float


class Read(NamedTuple):
    """The lines of a log that can be drawn, by rising update, and the notes on what was left out.

    A line has numbers and nulls only.
    """

    lines: list[dict[str, Any]]
    notes: list[str]


def read(path: Path, records: Records) -> Read:
    """Read a log as far as it can be drawn.

    Args:
        path: the log.
        records: the records of the run's files in a checkpoint; empty if there is no checkpoint.
    """
    log = Read([], _compared(path, records))
    if not path.is_file():
        return log
    last = -1
    with path.open("rb") as file:
        for number, text in enumerate(iter(lambda: file.readline(json_files.MOST_BYTES + 1), b""), 1):
            place = f"{path}:{number}"
            try:
                line, last = _line(json_files.loads(text, nan="null"), place, last, log.notes)
            except BadJson as error:
                if text.endswith(b"\n"):  # otherwise the run is writing it now
                    log.notes.append(f"{place}: {error}; the line is left out")
            else:
                log.lines.append(line)
    return log


def drawable(value: Any) -> bool:
    """Whether a value is a number that a chart can show."""
    return is_number(value) and abs(value) <= LARGEST


def _compared(path: Path, records: Records) -> list[str]:
    """A note if the file is not as the checkpoint recorded it."""
    try:
        records.check(path.name)
    except Damaged as error:
        return [f"{error}. It is drawn as it is now"]
    return []


def _line(line: Any, place: str, last: int, notes: list[str]) -> tuple[dict[str, Any], int]:
    """The values of a line that can be drawn, and its update.

    Args:
        line: the value read from JSON.
        place: its file and line.
        last: the update of the line before it.
        notes: receives a note on every value that is left out.

    Raises:
        BadJson: the line is not an object with a rising update.
    """
    if not isinstance(line, dict):
        raise BadJson(f"a line must be an object, got {show(line)}")
    update = line.get("update")
    if isinstance(update, bool) or not isinstance(update, int) or not 0 <= update < 2**53:
        raise BadJson(f"its update must be a whole number of at least 0, got {show(update)}")
    if update <= last:
        raise BadJson(f"its update {update} must be larger than {last}, the update before it")
    odd = [name for name, value in line.items() if value is not None and not drawable(value)]
    notes += [
        f"{place}: {name:.80} must be a number of at most {LARGEST:g} in size, got {show(line[name])}; it "
        "is left out"
        for name in odd
    ]
    return {name: value for name, value in line.items() if name not in odd}, update
