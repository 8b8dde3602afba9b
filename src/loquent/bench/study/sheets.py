"""Blinded sheets of the answers of several runs, for people to judge; `study.sheet_files` reads them back.

`prepare` writes `sheets/sheet-1.csv` and so on, one for each rater, and `key.json` beside the folder. A
sheet has a code, a prompt and an answer (or answers A and B) in a random order of its own, and empty columns
for judgements. The names of the systems stand in the key alone, so raters get the sheets without the key. The
order and the sides depend on a salt that is drawn for each study and stands in the key too: with the seed
alone the same system would stand on the same line in every study of that size.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.data.preferences.key import FORMAT, KEY, SHEETS
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.report.runs import ReportedRun
from loquent.statistics.tables import Table, guard_formula

BYTE_ORDER_MARK = "\ufeff"  # without it Excel reads a sheet in another encoding than UTF-8
JOINERS = "\u200c\u200d"  # part of the spelling of some languages, and of emoji
END = re.compile(  # special tokens at the end of an answer that its decoder did not leave out
    r"\s*(<\|?/?(s|eos|eod|pad|end|endoftext|im_end|eot_id|end_of_text|end_of_turn|stop)\|?>|\[(PAD|SEP|EOS)\])\s*$"
)
COLUMNS = ("code", "prompt", "answer", "A", "B")  # of a sheet, beside the questions


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What sheets hold."""

    rows: int = setting(100, "the rows that are judged, drawn among those that all runs have", low=1)
    raters: int = setting(3, "sheets, one for each rater", low=1)
    questions: tuple[str, ...] = setting(("rating",), "a column of a sheet for each")
    low: float = setting(1.0, "the lowest rating")
    high: float = setting(5.0, "the highest rating")
    pairs: bool = setting(False, "two answers beside each other and a choice, not one answer and ratings")
    seed: int = setting(0, "the seed of the rows, and with the salt of the orders and the sides", low=0)
    salt: str = setting("", "decides the orders and the sides with the seed; empty: drawn by the system")

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.questions or len(set(self.questions)) != len(self.questions) or not all(self.questions):
            raise BadSetting(f"questions = {self.questions!r}; they must be different names")
        for question in self.questions:
            if (
                question in COLUMNS
                or question != guard_formula(_cell(question))
                or question != question.strip()
            ):
                raise BadSetting(
                    f"the question {question!r} cannot be a column of a sheet; choose a name that is not "
                    f"{', '.join(COLUMNS)}, and that does not begin like a formula or a space"
                )
        if not self.low < self.high:
            raise BadSetting(f"the lowest rating {self.low:g} must be below the highest, {self.high:g}")


Place = tuple[str, int]  # the row and the number of an episode


@dataclass(frozen=True)
class Answer:
    """The last answer of a system, the turns before it, and the task's text before the first answer."""

    opening: str
    prompt: str
    text: str


Answers = dict[Place, Answer]


def prepare(runs: Sequence[Path], out: Path, plan: Plan) -> Path:
    """Write the sheets and the key of a study of the last evaluations of some runs; return the folder.

    A rater sees each row once for each system (or pair of systems).

    Raises:
        BadSetting: there is one run alone for pairs, two runs have one name, they share no row, a row has
            different prompts, or `out` has a key already. BadCheckpoint: a folder holds no run.
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
    _check_prompts(shared, systems, plan.pairs)
    chosen = _shuffled(shared, Key(plan.seed, ("study", "rows")))[: plan.rows]
    groups = list(combinations(systems, 2)) if plan.pairs else [(name,) for name in systems]
    cases = [(place, group) for place in sorted(chosen) for group in groups]
    salt, keys = plan.salt or secrets.token_hex(16), dict[str, Any]()
    for rater in range(1, plan.raters + 1):
        name, key = f"sheet-{rater}.csv", Key(plan.seed, ("study", "sheet", rater, salt))
        lines, keys[name] = _sheet(_shuffled(cases, key.child("order")), systems, plan, key)
        (out / SHEETS).mkdir(parents=True, exist_ok=True)
        atomic.write_text(out / SHEETS / name, BYTE_ORDER_MARK + lines)
    content = {
        "format": FORMAT,
        "seed": plan.seed,
        "salt": salt,
        "pairs": plan.pairs,
        "questions": list(plan.questions),
        "scale": [plan.low, plan.high],
        "sheets": keys,
        "texts": {_item(place): _all_texts(place, systems) for place in sorted(chosen)},
    }
    atomic.write_json(out / KEY, content)
    return out


def _answers(path: Path) -> Answers:
    run = ReportedRun(path)
    run.files.require_run()
    episodes = run.final_episodes
    if not episodes:
        raise BadSetting(
            f"{path} has no episodes of a last evaluation; {'; '.join(run.unread) or 'finish it'}"
        )
    return {(one.row, one.number): _texts(one) for one in episodes if one.answers()}


def _texts(episode: Episode) -> Answer:
    turns = episode.seen_by(episode.learning)
    own = [i for i, turn in enumerate(turns) if turn.seat == episode.learning]
    opening, prompt = ("\n".join(turn.text for turn in turns[:end]) for end in (own[0], own[-1]))
    return Answer(opening, prompt, turns[own[-1]].text)


def _check_prompts(shared: Sequence[Place], systems: Mapping[str, Answers], pairs: bool) -> None:
    """Raise BadSetting if two runs had different prompts on a row.

    A prompt of its own would tell raters which system a line is of. In an episode of several turns the
    systems' own turns differ, so ratings compare what stands before the first answer.
    """
    (first, answers), *others = systems.items()
    for place in shared:
        for name, other in others:
            one, two = (found[place].prompt if pairs else found[place].opening for found in (answers, other))
            if one != two:
                raise BadSetting(
                    f"the prompts of {_item(place)} differ: {first} has {one!r:.80}, {name} has {two!r:.80}; "
                    "raters judge answers to the same prompts, so evaluate the runs on one task with equal "
                    "options"
                )


def _sheet(
    cases: Sequence[Any], systems: Mapping[str, Answers], plan: Plan, key: Key
) -> tuple[str, dict[str, Any]]:
    head = ["code", "prompt", *(("A", "B") if plan.pairs else ("answer",)), *plan.questions]
    lines = []
    swaps = key.child("sides").generator().random(len(cases)) < 0.5
    codes: dict[str, Any] = {}
    for i, (place, group) in enumerate(cases):
        code, item = f"c{i + 1:04d}", _item(place)
        shown = tuple(reversed(group)) if plan.pairs and swaps[i] else group
        prompt = systems[group[0]][place].prompt
        texts = map(_cell, (prompt, *(systems[name][place].text for name in shown)))
        lines.append([code, *texts, *[""] * len(plan.questions)])
        names = ("first", "second") if plan.pairs else ("system",)
        codes[code] = {"item": item, **dict(zip(names, shown, strict=True))}
    return Table(head, lines).csv(), codes


def _item(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def _all_texts(place: Place, systems: Mapping[str, Answers]) -> dict[str, Any]:
    """The prompt and the answers by system, as they were before a sheet changed them for spreadsheets."""
    prompt = next(iter(systems.values()))[place].prompt
    return {"prompt": prompt, "answers": {name: answers[place].text for name, answers in systems.items()}}


def _cell(text: str) -> str:
    """A text on one line, so that a row is a line."""
    return " / ".join(_plain(text).split("\n"))


def _plain(text: str) -> str:
    """A text without what a reader does not see and a system may leave behind; words and marks stay.

    That is white space around the text and at the ends of lines, kinds of line ends and of spaces, invisible
    characters, forms of one accented letter, and markers of the end.
    """
    text = unicodedata.normalize("NFC", "\n".join(text.splitlines()))
    text = "".join(map(_visible, text))
    while (shorter := END.sub("", text)) != text:
        text = shorter
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Zs" or character == "\t":
        return " "
    if kind == "Cs":  # half of a surrogate pair, which no file can hold
        return "\ufffd"
    hidden = kind in ("Cc", "Cf") and character not in JOINERS and character != "\n"
    return "" if hidden else character


def _shuffled(items: Sequence[Any], key: Key) -> list[Any]:
    return [items[i] for i in np.argsort(key.generator().random(len(items)), kind="stable")]
