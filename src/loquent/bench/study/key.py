"""The key of a prepared study: which answer of which system stands behind each code of each sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.guards.json_files import shown
from loquent.errors import BadSetting

KEY, SHEETS, FORMAT = "key.json", "sheets", 1
Case = dict[str, str]  # the item, and the system or the first and the second one


@dataclass(frozen=True)
class ItemTexts:
    """The prompt of an item and the answers by system, as they were before a sheet changed them."""

    prompt: str
    answers: Mapping[str, str]


@dataclass(frozen=True)
class StudyKey:
    """What `key.json` holds: cases by sheet and code, and texts by item (none in a key of an old study)."""

    pairs: bool
    questions: tuple[str, ...]
    scale: tuple[float, float]
    sheets: Mapping[str, Mapping[str, Case]]
    texts: Mapping[str, ItemTexts]


def load(folder: Path) -> StudyKey:
    """The key of the folder of a prepared study.

    Raises:
        BadSetting: the file is missing, or a field is missing or wrong; the error names file and field.
    """
    path = folder / KEY
    value = json_files.load_object(
        path, "read the folder that `loquent study prepare` wrote", error=BadSetting
    )
    check = _Checked(path)
    if value.get("format") != FORMAT:
        raise check.wrong("format", value.get("format"), str(FORMAT))
    pairs = value.get("pairs")
    if not isinstance(pairs, bool):
        raise check.wrong("pairs", pairs, "true or false")
    questions = value.get("questions")
    if not isinstance(questions, list) or not questions or not all(isinstance(q, str) for q in questions):
        raise check.wrong("questions", questions, "a list of names")
    scale = value.get("scale")
    if not isinstance(scale, list) or len(scale) != 2 or not all(map(_is_number, scale)):
        raise check.wrong("scale", scale, "the lowest and the highest rating")
    texts = {
        item: ItemTexts(check.text(own, f"texts.{item}", "prompt"), check.texts(own, f"texts.{item}"))
        for item, own in check.part(value.get("texts", {}), "texts").items()
    }
    sheets = {name: check.cases(name, codes, pairs) for name, codes in check.sheets(value.get("sheets"))}
    found = StudyKey(pairs, tuple(questions), (scale[0], scale[1]), sheets, texts)
    check.systems(found)
    return found


def systems_of(case: Case) -> list[str]:
    """The systems of a case."""
    return [case[name] for name in ("system", "first", "second") if name in case]


@dataclass(frozen=True)
class _Checked:
    """Reads fields of a key; an error names the file and the field."""

    path: Path

    def wrong(self, field: str, value: Any, allowed: str) -> BadSetting:
        return BadSetting(
            f"{self.path}: {field} must be {allowed}, got {shown(value)}; put back the file that `loquent "
            "study prepare` wrote"
        )

    def part(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(field, value, "an object")
        return value

    def text(self, value: Any, field: str, name: str) -> str:
        text = self.part(value, field).get(name)
        if not isinstance(text, str):
            raise self.wrong(f"{field}.{name}", text, "a text")
        return text

    def texts(self, value: Any, field: str) -> Mapping[str, str]:
        answers = self.part(self.part(value, field).get("answers"), f"{field}.answers")
        return {system: self.text(answers, f"{field}.answers", system) for system in answers}

    def sheets(self, value: Any) -> list[tuple[str, Any]]:
        sheets = self.part(value, "sheets")
        for name in sheets:
            if Path(name).name != name or "\\" in name or not name.endswith(".csv"):
                raise self.wrong("sheets", name, f"names of files in {SHEETS}/ that end in .csv")
        return list(sheets.items())

    def cases(self, sheet: str, value: Any, pairs: bool) -> Mapping[str, Case]:
        names = ("item", "first", "second") if pairs else ("item", "system")
        field = f"sheets.{sheet}"
        return {
            code: {name: self.text(case, f"{field}.{code}", name) for name in names}
            for code, case in self.part(value, field).items()
        }

    def systems(self, key: StudyKey) -> None:
        """Check that texts have the answers of all systems of their cases."""
        for sheet, codes in key.sheets.items():
            for code, case in codes.items():
                systems = systems_of(case)
                if len(set(systems)) < len(systems):
                    raise self.wrong(f"sheets.{sheet}.{code}", systems[0], "of two different systems")
                own = key.texts.get(case["item"])
                lacks = [name for name in systems if own is not None and name not in own.answers]
                if lacks:
                    raise self.wrong(f"texts.{case['item']}.answers.{lacks[0]}", None, "a text")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
