"""The key of a prepared study: which answer of which system stands behind each code of each sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loquent.core import schema
from loquent.core.values import EMPTY
from loquent.errors import BadSetting

KEY, SHEETS, FORMAT = "key.json", "sheets", 1
Case = Mapping[str, str]  # the item, and the system or the first and the second one


@dataclass(frozen=True)
class ItemTexts:
    """The prompt of an item and the answers by system, as they were before a sheet changed them."""

    prompt: str
    answers: Mapping[str, str]


@dataclass(frozen=True)
class StudyKey:
    """What `key.json` holds: cases by sheet and code, and texts by item (none in a key of an old study)."""

    format: Literal[1]
    pairs: bool
    questions: tuple[str, ...]
    scale: tuple[float, float]
    sheets: Mapping[str, Mapping[str, Case]]
    texts: Mapping[str, ItemTexts] = EMPTY

    def __post_init__(self) -> None:
        if not self.questions:
            raise ValueError("questions must be a list of names, got []")
        for sheet, codes in self.sheets.items():
            if Path(sheet).name != sheet or "\\" in sheet or not sheet.endswith(".csv"):
                raise ValueError(
                    f"sheets must be names of files in {SHEETS}/ that end in .csv, got {sheet!r:.40}"
                )
            for code, case in codes.items():
                self._check(f"sheets.{sheet}.{code}", case)

    def _check(self, place: str, case: Case) -> None:
        """Check that a case has its names, and that texts have the answers of all its systems."""
        for name in ("item", "first", "second") if self.pairs else ("item", "system"):
            if name not in case:
                raise ValueError(f"{place} lacks the field {name!r}")
        systems = systems_of(case)
        if len(set(systems)) < len(systems):
            raise ValueError(f"{place} must be of two different systems, got {systems[0]!r:.40} twice")
        own = self.texts.get(case["item"])
        for name in systems:
            if own is not None and name not in own.answers:
                raise ValueError(f"texts.{case['item']}.answers lacks the field {name!r}")


def load(folder: Path) -> StudyKey:
    """The key of the folder of a prepared study.

    Raises:
        BadSetting: the file is missing, or a field is missing or wrong; the error names file and field.
    """
    advice = "read the folder that `loquent study prepare` wrote, with its key as it was"
    return schema.load(StudyKey, folder / KEY, advice, error=BadSetting, extra=True)


def systems_of(case: Case) -> list[str]:
    """The systems of a case."""
    return [case[name] for name in ("system", "first", "second") if name in case]
