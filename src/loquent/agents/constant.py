"""Baselines that ignore the observations: agents that give the same answers in every episode.

The answers are chosen on training rows with the help of the task's expert.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from loquent.core.agent import Answer, Question
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.errors import BadSetting

ROWS = 2000  # the most training rows that are read, evenly spaced
JUDGED = 300  # about how many of these rows compare the candidates
CANDIDATES = 20  # candidates of each kind

Script = tuple[str, ...]


class Scripted:
    """Gives the texts of a script, turn by turn, and repeats the last one."""

    def __init__(self, name: str, script: Script) -> None:
        self.name, self.script = name, script

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question: the seat's number of earlier answers is the place in the script."""
        return [Answer(self.script[min(_answered(question), len(self.script) - 1)]) for question in asked]


class Majority(Scripted):
    """The expert's most frequent action, in every turn.

    If the same action ends every episode and occurs nowhere else, the agent first gives the most frequent
    other action, then that one. So a tagger gives the most frequent label of all tokens. A labeller gives the
    most frequent label, then "terminate".
    """

    def __init__(self, task: Task) -> None:
        scripts = expert_scripts(task, _training_rows(task, ROWS))
        before = Counter(text for script in scripts for text in script[:-1])
        last = Counter(script[-1] for script in scripts)
        ending = tuple(last) if len(last) == 1 and not before.keys() & last.keys() else ()
        commonest = [text for text, _ in (before if ending else before + last).most_common(1)]
        super().__init__("majority", (*commonest, *ending))


class Constant(Scripted):
    """The best constant policy.

    It is the one action, or the expert's frequent action sequence, with the highest mean return on training
    rows. So a labeller gives the best set of labels. An agent that answers questions takes the choice at the
    best place.
    """

    def __init__(self, task: Task) -> None:
        rows = _training_rows(task, ROWS)
        scripts = expert_scripts(task, rows)
        actions = Counter(text for script in scripts for text in script)
        sequences = [script for script, _ in Counter(scripts).most_common(CANDIDATES)]
        single = [(text,) for text, _ in actions.most_common(CANDIDATES)]
        judged = rows[:: max(1, len(rows) // JUDGED)]
        best = max(
            dict.fromkeys((*single, *sequences)),
            key=lambda script: fmean(script_return(task, row, script) for row in judged),
        )
        super().__init__("constant", best)


def expert_scripts(task: Task, rows: Sequence[Row]) -> list[Script]:
    """The expert's answers in an episode on each row.

    Raises:
        BadSetting: the task has no expert, or asks other seats than "agent".
    """
    scripts = []
    for row in rows:
        step, texts = task.start(row, Key(0, (row.id, 0, "task"))), []
        while step.ended is None:
            text = task.expert(step.state) if step.observation.seat == "agent" else None
            if text is None:
                raise BadSetting(
                    f"{task.identity} has no expert for every turn (row {row.id}, seat "
                    f"{step.observation.seat!r}), so no constant answer can be chosen; choose another agent"
                )
            texts.append(text)
            step = task.act(step, text)
        scripts.append(tuple(texts))
    return scripts


def script_return(task: Task, row: Row, script: Script) -> float:
    """The return of a script in one episode, with the task's own weights."""
    step, total, turn = task.start(row, Key(0, (row.id, 0, "task"))), 0.0, 0
    while step.ended is None:
        step = task.act(step, script[min(turn, len(script) - 1)])
        total += task.total(step.rewards, task.spec.rewards)
        turn += 1
    return total


def _answered(question: Question) -> int:
    """How many answers the seat has given so far."""
    return sum(turn.seat == question.observation.seat for turn in question.turns)


def _training_rows(task: Task, most: int) -> Sequence[Row]:
    """At most `most` evenly spaced training rows."""
    rows = task.rows("train")
    if not rows:
        raise BadSetting(
            f"{task.identity} has no training rows, so no constant answer can be chosen; choose a task with "
            "training rows, or another agent"
        )
    return rows[:: -(-len(rows) // most)]
