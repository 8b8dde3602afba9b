"""Reading filled-in sheets, also as spreadsheets save them, and joining the judgements of several sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent.data.preferences import judgements, spreadsheets
from loquent.data.preferences.judgements import Judgements, Preference, Rating, number
from loquent.data.preferences.key import KEY, SHEETS, Case, ItemTexts, StudyKey, load, systems_of
from loquent.errors import BadRow, BadSetting

PREFERRED = {"a": "first", "b": "second", "tie": "tie"}
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]{1,2}")


def read(folder: Path, raters: str = "") -> tuple[Judgements, int]:
    """The judgements on the sheets of a folder, and the number of cells that are still empty.

    Args:
        raters: stands before the name of the sheet in the names of the raters.

    Raises:
        BadRow: a sheet lacks a column, has an unknown or a repeated code, or a judgement that is none.
        BadSetting: the folder has no key or a wrong one, or a sheet of the key is missing.
    """
    return _read(folder, load(folder), raters)


def read_all(paths: Sequence[Path]) -> tuple[Judgements, dict[Path, int]]:
    """The judgements of files and of prepared folders, and the number of empty cells by folder.

    The sheets of several folders have the folder in the names of their raters.

    Raises:
        BadRow, BadSetting: as from `judgements.read` and `read`; a source is named twice; two folders have
            different texts under one item, as studies of different tasks have.
    """
    resolved = [path.resolve() for path in paths]
    for path in (path for i, path in enumerate(paths) if resolved[i] in resolved[:i]):
        raise BadSetting(f"{path} is named twice; its judgements count once, so name it once")
    folders = [path for path in paths if path.is_dir()]
    keys = {folder: load(folder) for folder in folders}
    _check_items(keys)
    parts = [judgements.read([path for path in paths if not path.is_dir()])]
    cells: dict[Path, int] = {}
    for folder, key in keys.items():
        judged, cells[folder] = _read(folder, key, f"{folder}/" if len(folders) > 1 else "")
        parts.append(judged)
    return judgements.join_judgements(parts), cells


def _read(folder: Path, key: StudyKey, raters: str) -> tuple[Judgements, int]:
    ratings: list[Rating] = []
    preferences: list[Preference] = []
    empty = 0
    for sheet, codes in key.sheets.items():
        path, rater = folder / SHEETS / sheet, raters + sheet.removesuffix(".csv")
        if not path.is_file():
            raise BadSetting(f"{path} is missing; put it back, or take it out of {folder / KEY}")
        for line, case, record in _cases(path, codes, key.questions):
            for question in key.questions:
                cell = record[question].strip()
                about: dict[str, Any] = {"rater": rater, "question": question, "place": f"{path}:{line}"}
                about |= case
                try:
                    if not cell:
                        empty += 1
                    elif key.pairs:
                        about |= _shown(key.texts.get(case["item"]), case)
                        preferences.append(Preference(**about, preferred=_preferred(cell)))
                    else:
                        ratings.append(Rating(**about, value=_value(cell, question, key.scale)))
                except ValueError as error:
                    raise BadRow(str(error), file=path, line=line) from error
    return Judgements(tuple(ratings), tuple(preferences)), empty


def _cases(
    path: Path, codes: Mapping[str, Case], questions: Sequence[str]
) -> Iterator[tuple[int, Case, dict[str, Any]]]:
    """The lines of a sheet with their cases."""
    seen = set[str]()
    for line, record in spreadsheets.rows(path, ("code", *questions)):
        code = _code(record["code"].strip(), codes)
        if code not in codes or code in seen:
            what = "stands twice in" if code in seen else "is not of"
            raise BadRow(f"the code {code!r:.40} {what} this sheet", file=path, line=line)
        seen.add(code)
        yield line, codes[code], record


def _code(cell: str, codes: Mapping[str, Case]) -> str:
    """The code of a cell. Codes of old sheets, such as 0001, come back from spreadsheets as numbers."""
    padded = cell.rjust(4, "0")
    return padded if cell not in codes and cell.isdecimal() and padded in codes else cell


def _check_items(keys: Mapping[Path, StudyKey]) -> None:
    """Raise BadSetting if studies have different texts under the same names of item and system."""
    seen: dict[tuple[str, str], tuple[Path, str]] = {}
    for folder, key in keys.items():
        for item, own in key.texts.items():
            for name, text in (("", own.prompt), *own.answers.items()):
                other, before = seen.setdefault((item, name), (folder, text))
                if before != text:
                    what = f"answer of {name}" if name else "prompt"
                    raise BadSetting(
                        f"{folder}: the item {item} has another {what} than in {other}; these studies are "
                        "not of the same answers, so read each alone"
                    )


def _shown(own: ItemTexts | None, case: Case) -> dict[str, Any]:
    """The prompt and the texts of a case; none of an item that the key has no texts of."""
    if own is None:
        return {}
    first, second = systems_of(case)
    return {"prompt": own.prompt, "texts": (own.answers[first], own.answers[second])}


def _preferred(cell: str) -> str:
    if cell.lower() not in PREFERRED:
        raise ValueError(f"the choice is {cell!r:.40}; it must be A, B or tie")
    return PREFERRED[cell.lower()]


def _value(cell: str, question: str, scale: Sequence[float]) -> float:
    decimal = cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell
    value = number(decimal, f"the rating of {question!r}")
    if not scale[0] <= value <= scale[1]:
        raise ValueError(
            f"the rating of {question!r} is {cell}; it must be from {scale[0]:g} to {scale[1]:g}"
        )
    return value
