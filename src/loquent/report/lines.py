"""The logs of a run for a report: what can be drawn, and in words what cannot, with file and line.

Nothing is left out in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from loquent.core.guards import json_files
from loquent.core.guards.json_files import BadJson, shown
from loquent.errors import Damaged
from loquent.files.final_evaluation import is_number
from loquent.files.run_records import Records

LARGEST = 1e100  # in size: the sums and squares of larger numbers are no floats


class Read(NamedTuple):
    """The lines that can be drawn, by rising update, each with numbers and nulls only.

    And what was left out, in words.
    """

    lines: list[dict[str, Any]]
    notes: list[str]


def read(path: Path, known: Records) -> Read:
    """A log as far as it can be drawn.

    Args:
        known: the records of the run's files in a checkpoint; empty where there are none.
    """
    found = Read([], _compared(path, known))
    if not path.is_file():
        return found
    last = -1
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(json_files.MOST_BYTES + 1), b""), 1):
            place = f"{path}:{number}"
            try:
                kept, last = _line(json_files.loads(line, nan="null"), place, last, found.notes)
            except BadJson as error:
                if line.endswith(b"\n"):  # else it is being written
                    found.notes.append(f"{place}: {error}; the line is left out")
            else:
                found.lines.append(kept)
    return found


def drawable(value: Any) -> bool:
    """Whether a value is a number that a chart can hold."""
    return is_number(value) and abs(value) <= LARGEST


def _compared(path: Path, known: Records) -> list[str]:
    try:
        known.check(path.name)
    except Damaged as error:
        return [f"{error}. It is drawn as it is now"]
    return []


def _line(line: Any, place: str, last: int, notes: list[str]) -> tuple[dict[str, Any], int]:
    """What can be drawn of a line, and its update; BadJson where that is nothing."""
    if not isinstance(line, dict):
        raise BadJson(f"it holds {shown(line)}, and an object is right")
    update = line.get("update")
    if isinstance(update, bool) or not isinstance(update, int) or not 0 <= update < 2**53:
        raise BadJson(f"its update is {shown(update)}, and a whole number of at least 0 is right")
    if update <= last:
        raise BadJson(f"its update {update} stands after update {last}, and a rising one is right")
    odd = [name for name, value in line.items() if value is not None and not drawable(value)]
    notes += [
        f"{place}: {name:.80} is {shown(line[name])}, and a number of at most {LARGEST:g} in size is "
        "right; it is left out"
        for name in odd
    ]
    return {name: value for name, value in line.items() if name not in odd}, update
