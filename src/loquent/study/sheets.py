"""Blinded sheets of the answers of several runs, for people to judge, and reading them back.

`prepare` writes `sheets/sheet-1.csv` and so on, one for each rater, and `key.json` beside the folder. A
sheet has a code, a prompt and an answer (or answers A and B) in a random order of its own, and empty columns
for judgements. The names of the systems stand in the key alone, so raters get the sheets without the key.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.data.readers import csv_rows
from loquent.errors import BadRow, BadSetting
from loquent.files import atomic
from loquent.report.runs import ReportedRun
from loquent.study import judgements
from loquent.study.judgements import Judgements, Preference, Rating, number

KEY, SHEETS = "key.json", "sheets"
PREFERRED = {"a": "first", "b": "second", "tie": "tie"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of these


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What sheets hold."""

    rows: int = setting(100, "the rows that are judged, drawn among those that all runs have", low=1)
    raters: int = setting(3, "sheets, one for each rater", low=1)
    questions: tuple[str, ...] = setting(("rating",), "a column of a sheet for each")
    low: float = setting(1.0, "the lowest rating")
    high: float = setting(5.0, "the highest rating")
    pairs: bool = setting(False, "two answers beside each other and a choice, not one answer and ratings")
    seed: int = setting(0, "the seed of the rows, the orders and the sides", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.questions or len(set(self.questions)) != len(self.questions) or not all(self.questions):
            raise BadSetting(f"questions = {self.questions!r}; they must be different names")
        if not self.low < self.high:
            raise BadSetting(f"the lowest rating {self.low:g} must be below the highest, {self.high:g}")


Answers = dict[tuple[str, int], tuple[str, str]]  # (row, number): (prompt, answer)


def prepare(runs: Sequence[Path], out: Path, plan: Plan) -> Path:
    """Write the sheets and the key of a study of the last evaluations of some runs; return the folder.

    A rater sees each row once for each system (or pair of systems).

    Raises:
        BadSetting: there is one run alone for pairs, two runs have one name, they share no row, or `out`
            has a key already. BadCheckpoint: a folder holds no run.
    """
    if (out / KEY).exists():
        raise BadSetting(f"{out} holds a study already; name another folder")
    systems = {path.resolve().name: _answers(path) for path in runs}
    if len(systems) < len(runs) or (plan.pairs and len(systems) < 2):
        why = "two runs have one name" if len(systems) < len(runs) else "pairs need at least two runs"
        raise BadSetting(f"{why}; the folders' names are the names of the systems: {', '.join(systems)}")
    shared = sorted(set.intersection(*(set(answers) for answers in systems.values())))
    if not shared:
        raise BadSetting("the runs' last evaluations have no row in common; evaluate them on the same rows")
    chosen = _shuffled(shared, Key(plan.seed, ("study", "rows")))[: plan.rows]
    groups = list(combinations(systems, 2)) if plan.pairs else [(name,) for name in systems]
    cases = [(place, group) for place in sorted(chosen) for group in groups]
    keys: dict[str, Any] = {}
    for rater in range(1, plan.raters + 1):
        name, key = f"sheet-{rater}.csv", Key(plan.seed, ("study", "sheet", rater))
        lines, keys[name] = _sheet(_shuffled(cases, key.child("order")), systems, plan, key)
        (out / SHEETS).mkdir(parents=True, exist_ok=True)
        atomic.write_text(out / SHEETS / name, lines)
    content = {
        "format": 1,
        "pairs": plan.pairs,
        "questions": list(plan.questions),
        "scale": [plan.low, plan.high],
        "sheets": keys,
        "texts": {_item(place): _all_texts(place, systems) for place in sorted(chosen)},
    }
    atomic.write_json(out / KEY, content)
    return out


def read(folder: Path) -> tuple[Judgements, int]:
    """The judgements on the sheets of a folder, and the number of cells that are still empty.

    Raises:
        BadRow: a sheet has an unknown or a repeated code, or a judgement that is none.
        BadSetting: the folder has no key, or a sheet of the key is missing.
    """
    why = "read the folder that `loquent study prepare` wrote"
    key = json_files.load_object(folder / KEY, why, error=BadSetting)
    ratings: list[Rating] = []
    preferences: list[Preference] = []
    empty = 0
    for sheet, codes in key["sheets"].items():
        path, seen = folder / SHEETS / sheet, set()
        if not path.is_file():
            raise BadSetting(f"{path} is missing; put it back, or take it out of {folder / KEY}")
        for line, record in csv_rows(path):
            code = record.get("code", "")
            if code not in codes or code in seen:
                what = "stands twice in" if code in seen else "is not of"
                raise BadRow(f"the code {code!r:.40} {what} this sheet", file=path, line=line)
            seen.add(code)
            try:
                for question in key["questions"]:
                    cell = record.get(question, "").strip()
                    case = codes[code] | {"rater": sheet.removesuffix(".csv"), "question": question}
                    if not cell:
                        empty += 1
                    elif key["pairs"]:
                        shown = _shown(key.get("texts", {}), case) | {"place": f"{path}:{line}"}
                        preferences.append(Preference(**case, preferred=_preferred(cell), **shown))
                    else:
                        ratings.append(Rating(**case, value=_value(cell, question, key["scale"])))
            except ValueError as error:
                raise BadRow(str(error), file=path, line=line) from error
    return Judgements(tuple(ratings), tuple(preferences)), empty


def read_all(paths: Sequence[Path]) -> tuple[Judgements, dict[Path, int]]:
    """The judgements of files and of prepared folders, and the number of empty cells by folder.

    Raises:
        BadRow, BadSetting: as from `judgements.read` and `read`.
    """
    found = judgements.read([path for path in paths if not path.is_dir()])
    ratings, preferences = list(found.ratings), list(found.preferences)
    cells: dict[Path, int] = {}
    for folder in (path for path in paths if path.is_dir()):
        judged, cells[folder] = read(folder)
        ratings += judged.ratings
        preferences += judged.preferences
    return Judgements(tuple(ratings), tuple(preferences)), cells


def _answers(path: Path) -> Answers:
    run = ReportedRun(path)
    run.files.require_run()
    episodes = run.final_episodes
    if not episodes:
        raise BadSetting(
            f"{path} has no episodes of a last evaluation; {'; '.join(run.unread) or 'finish it'}"
        )
    return {(one.row, one.number): _texts(one) for one in episodes if one.answers()}


def _texts(episode: Episode) -> tuple[str, str]:
    """The turns that the learning seat reads and writes before its last answer, and this answer."""
    turns = episode.seen_by(episode.learning)
    last = max(i for i, turn in enumerate(turns) if turn.seat == episode.learning)
    return "\n".join(turn.text for turn in turns[:last]), turns[last].text


def _sheet(
    cases: Sequence[Any], systems: Mapping[str, Answers], plan: Plan, key: Key
) -> tuple[str, dict[str, Any]]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "prompt", *(("A", "B") if plan.pairs else ("answer",)), *plan.questions])
    swaps = key.child("sides").generator().random(len(cases)) < 0.5
    codes: dict[str, Any] = {}
    for i, (place, group) in enumerate(cases):
        code, item = f"{i + 1:04d}", _item(place)
        shown = tuple(reversed(group)) if plan.pairs and swaps[i] else group
        prompt = systems[group[0]][place][0]
        writer.writerow(
            [
                code,
                *map(_cell, (prompt, *(systems[name][place][1] for name in shown))),
                *[""] * len(plan.questions),
            ]
        )
        names = ("first", "second") if plan.pairs else ("system",)
        codes[code] = {"item": item, **dict(zip(names, shown, strict=True))}
    return text.getvalue(), codes


def _item(place: tuple[str, int]) -> str:
    return f"{place[0]}/{place[1]}"


def _all_texts(place: tuple[str, int], systems: Mapping[str, Answers]) -> dict[str, Any]:
    """The prompt and the answers by system, as they were before a sheet changed them for spreadsheets."""
    prompt = next(iter(systems.values()))[place][0]
    return {"prompt": prompt, "answers": {name: answers[place][1] for name, answers in systems.items()}}


def _shown(texts: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt and the texts of a case; none of an item that the key has no texts of."""
    if case["item"] not in texts:
        return {}
    own = texts[case["item"]]
    pair = (own["answers"][case["first"]], own["answers"][case["second"]])
    return {"prompt": own["prompt"], "texts": pair}


def _cell(text: str) -> str:
    """A text for a spreadsheet, which must not run it as a formula; one line, so that a row is a line."""
    line = text.replace("\r", "").replace("\n", " / ").replace("\x00", "")
    return f"'{line}" if text.startswith(FORMULA) else line


def _shuffled(items: Sequence[Any], key: Key) -> list[Any]:
    return [items[i] for i in np.argsort(key.generator().random(len(items)), kind="stable")]


def _preferred(cell: str) -> str:
    if cell.lower() not in PREFERRED:
        raise ValueError(f"the choice is {cell!r:.40}; it must be A, B or tie")
    return PREFERRED[cell.lower()]


def _value(cell: str, question: str, scale: Sequence[float]) -> float:
    value = number(cell, f"the rating of {question!r}")
    if not scale[0] <= value <= scale[1]:
        raise ValueError(
            f"the rating of {question!r} is {cell}; it must be from {scale[0]:g} to {scale[1]:g}"
        )
    return value
