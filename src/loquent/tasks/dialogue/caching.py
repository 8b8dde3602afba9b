"""Recorded progress: a judge's numbers for recorded dialogues, in files that the option `progress` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loquent.core.agent import Question, make
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent
from loquent.files.atomic import write_json
from loquent.tasks.dialogue import rows
from loquent.tasks.dialogue.game.rules import TURNS
from loquent.tasks.dialogue.sources.visdial import progress_file
from loquent.tasks.dialogue.state import JUDGING, State
from loquent.tasks.dialogue.task import JUDGE, Dialogue


def write_progress(task: Dialogue, folder: str | Path) -> dict[str, int]:
    """Ask the task's judge after every round of all recorded dialogues, and write its numbers.

    Each file of the source gives a file of the folder: a list with, for each dialogue, the percentile before
    the first question and its change with each answer. It is the cache of ILQL's release, from which
    `dialogue/recorded` judges without a model or a server.

    Returns:
        The number of dialogues by the name of the file.

    Raises:
        BadSetting: a dialogue has not ten rounds. BrokenAgent: the judge gives no number.
    """
    written = {}
    for file in rows.sizes(task.options):
        found = [row.fields for split in rows.everything(task.options).values() for row in split]
        found = sorted((fields for fields in found if fields["file"] == file), key=lambda one: one["image"])
        short = next((fields for fields in found if len(fields["dialog"]) != TURNS), None)
        if short is not None:
            raise BadSetting(
                f"dialogue {short['image']} of {file} has {len(short['dialog'])} rounds; progress is "
                f"recorded for dialogues of {TURNS}"
            )
        path = Path(folder).expanduser() / progress_file(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, judge_dialogues(task, found))
        written[path.name] = len(found)
    return written


def judge_dialogues(task: Dialogue, found: Sequence[Record]) -> list[tuple[float, ...]]:
    """The judge's numbers for each dialogue: before the first question, and after each answer."""
    judge = make(task.options.judge, task, place="task.judge")
    states = [State(fields["caption"]) for fields in found]
    for turn in range(TURNS + 1):
        if turn:
            states = [
                replace(state, stage=JUDGING, history=fields["dialog"][:turn])
                for state, fields in zip(states, found, strict=True)
            ]
        asked = [_question(state, fields) for state, fields in zip(states, found, strict=True)]
        numbers = [
            _number(task, state, answer.text)
            for state, answer in zip(states, judge.answer(asked), strict=True)
        ]
        states = [
            replace(state, progress=(*state.progress, number)) if turn else replace(state, initial=number)
            for state, number in zip(states, numbers, strict=True)
        ]
    return [(state.initial, *state.progress) for state in states]


def _question(state: State, fields: Record) -> Question:
    game = f"{fields['file']}-{fields['image']}"
    observation = Observation("", seat=JUDGE)
    return Question(game, (), observation, Key(0, ("dialogue", "caching", game)), state=state, row=fields)


def _number(task: Dialogue, state: State, text: str) -> float:
    number = task.read(state, text)
    if isinstance(number, str | Invalid):
        raise BrokenAgent(f"the judge gave {text!r:.80}, which is no number; progress holds numbers only")
    return number
