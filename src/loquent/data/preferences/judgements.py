"""Ratings and preferences from files of JSON lines or CSV, one judgement a line.

A rating has `item`, `system`, `rating` (a number), and optionally `rater` and `question`. A preference has
`item`, `first` and `second` (two systems), `preferred` ("first", "second" or "tie"), and optionally `rater`,
`question`, and the texts that were judged: `prompt`, `first_text` and `second_text`. Reward models learn from
the texts. One file may hold both kinds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loquent.data.preferences.spreadsheets import MARKS
from loquent.data.readers import csv_rows, jsonl, reader
from loquent.errors import BadRow, BadSetting

QUESTION, CHOICE = "rating", "preference"  # the question of a rating and of a preference that name none
PREFERRED = ("first", "second", "tie")
LARGEST = 1e100  # of a rating; sums of squares of larger ones overflow
TEXTS = ("prompt", "first_text", "second_text")


@dataclass(frozen=True)
class Rating:
    """A rater's number for a system's answer to an item; `place` is the file and the line."""

    item: str
    rater: str
    system: str
    question: str
    value: float
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Preference:
    """A rater's choice between the answers of two systems to an item.

    `texts` has the answers of `first` and `second` to `prompt`, or is None; `place` is the file and the line.
    """

    item: str
    rater: str
    first: str
    second: str
    question: str
    preferred: str
    prompt: str = ""
    texts: tuple[str, str] | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Judgements:
    """All judgements of a study."""

    ratings: tuple[Rating, ...] = ()
    preferences: tuple[Preference, ...] = ()


def _check_text(path: Path) -> None:
    """Raise BadRow for a CSV file in UTF-16, as spreadsheets save the sheets of a study."""
    if path.suffix == ".csv" and path.is_file() and path.open("rb").read(2) in MARKS:
        raise BadRow(
            "this file is in UTF-16; if it is a sheet of a study, name the folder of the study "
            f"({path.absolute().parent.parent}), else save the file as UTF-8",
            file=path,
            line=1,
        )


def read(paths: Sequence[Path]) -> Judgements:
    """The judgements of files that end in .jsonl or .csv (also .gz).

    Raises:
        BadRow: a line is neither a rating nor a preference, or judges again what the rater has judged.
        BadSetting: a file has another ending, or does not exist.
    """
    ratings: list[Rating] = []
    preferences: list[Preference] = []
    for path in paths:
        _check_text(path)
        for line, record in _records(path):
            try:
                if "preferred" in record:
                    preferences.append(replace(preference(record), place=f"{path}:{line}"))
                else:
                    ratings.append(replace(rating(record), place=f"{path}:{line}"))
            except ValueError as error:
                raise BadRow(str(error), file=path, line=line) from error
    return join_judgements([Judgements(tuple(ratings), tuple(preferences))])


def join_judgements(parts: Iterable[Judgements]) -> Judgements:
    """All judgements of several sources.

    Raises:
        BadRow: a rater judges a case again; the error names both places.
    """
    parts = list(parts)
    ratings = tuple(one for part in parts for one in part.ratings)
    preferences = tuple(one for part in parts for one in part.preferences)
    seen: dict[Any, str] = {}
    judged: list[Rating | Preference] = [*ratings, *preferences]
    for one in judged:
        systems = one.system if isinstance(one, Rating) else frozenset((one.first, one.second))
        case = (type(one), one.item, one.rater, one.question, systems)
        if case in seen:
            why = f"rater {one.rater!r} judged this at {seen[case]} already; a rater judges once"
            raise BadRow(f"{one.place}: {why}")
        seen[case] = one.place
    return Judgements(ratings, preferences)


def rating(record: Mapping[str, Any]) -> Rating:
    """A rating from its fields; ValueError if one is missing or wrong."""
    item, rater, system, question = (_name(record, name) for name in ("item", "rater", "system", "question"))
    return Rating(item, rater, system, question, number(record.get("rating"), "the rating"))


def preference(record: Mapping[str, Any]) -> Preference:
    """A preference from its fields; ValueError if one is missing or wrong."""
    item, rater = (_name(record, name) for name in ("item", "rater"))
    question = _name(record, "question", CHOICE)
    first, second, chosen = _name(record, "first"), _name(record, "second"), record["preferred"]
    if chosen not in PREFERRED:
        raise ValueError(f"preferred = {chosen!r:.60}; it must be one of {', '.join(PREFERRED)}")
    if first == second:
        raise ValueError(f"first and second are both {first!r}; they must be two systems")
    return Preference(item, rater, first, second, question, chosen, *_texts(record))


def _texts(record: Mapping[str, Any]) -> tuple[str, tuple[str, str] | None]:
    """The prompt and both texts; no texts if the record has neither."""
    found = {name: record.get(name, "") for name in TEXTS}
    for name, text in found.items():
        if not isinstance(text, str):
            raise ValueError(f"the field {name!r} is {text!r:.60}; it must be a text")
    prompt, first, second = TEXTS
    if (first in record) != (second in record):
        raise ValueError(f"there is {first!r} without {second!r}, or the reverse; give both texts or none")
    return found[prompt], (found[first], found[second]) if first in record else None


def number(value: Any, noun: str) -> float:
    """A number of at most `LARGEST` from a number or its text; ValueError for anything else."""
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except ValueError:
        found = None
    if found is None or not math.isfinite(found):
        raise ValueError(f"{noun} is {value!r:.60}; it must be a finite number")
    if abs(found) > LARGEST:
        raise ValueError(f"{noun} is {value!r:.60}; it must be between -{LARGEST:g} and {LARGEST:g}")
    return found


def _name(record: Mapping[str, Any], field: str, question: str = QUESTION) -> str:
    defaults = {"rater": "", "question": question}
    value = record.get(field, defaults.get(field))
    if isinstance(value, bool) or not isinstance(value, str | int) or (value == "" and field not in defaults):
        found = f"is {value!r:.60}" if field in record else "is missing"
        raise ValueError(f"the field {field!r} {found}; it must be a name. Fields here: {', '.join(record)}")
    return str(value) or defaults.get(field, "")


def _records(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    read = reader(path)
    if read not in (jsonl, csv_rows) or not path.is_file():
        what = "there is no such file" if not path.exists() else "its name must end in .jsonl or .csv"
        raise BadSetting(
            f"{path}: {what}; a study reads judgements, or the folder of `loquent study prepare`"
        )
    assert read is not None
    return read(path)
