"""What is reached without looking: players that say the same in every game, chosen on the training rows with
the help of the task's expert.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from loquent.core.agent import Answer, Question
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.errors import BadSetting

ROWS = 2000  # of the training split, evenly spread, that are looked at
JUDGED = 300  # of these, on which candidates are compared
CANDIDATES = 20  # of each kind

Script = tuple[str, ...]


class Scripted:
    """Says the texts of a script, turn by turn, and the last one for ever."""

    def __init__(self, name: str, script: Script) -> None:
        self.name, self.script = name, script

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question: how many this seat has given decides."""
        return [
            Answer(
                self.script[
                    min(sum(turn.seat == one.observation.seat for turn in one.turns), len(self.script) - 1)
                ]
            )
            for one in asked
        ]


class Majority(Scripted):
    """The action the expert takes most often, in every turn.

    Where all games end by an action for that alone, the commonest other, then it.

    So a tagger says the commonest label of all tokens, and a labeller the commonest label, then "terminate".
    """

    def __init__(self, task: Task) -> None:
        plays = expert_plays(task, _some(task, ROWS))
        before, last = (
            Counter(text for play in plays for text in play[:-1]),
            Counter(play[-1] for play in plays),
        )
        ending = tuple(last) if len(last) == 1 and not before.keys() & last.keys() else ()
        commonest = [text for text, _ in (before if ending else before + last).most_common(1)]
        super().__init__("majority", (*commonest, *ending))


class Constant(Scripted):
    """The best constant player: of the expert's commonest games and of each common action for ever, what
    earns most on training rows.

    So a labeller says the best set of labels, and who answers questions takes the choice at the best place.
    """

    def __init__(self, task: Task) -> None:
        rows = _some(task, ROWS)
        plays = expert_plays(task, rows)
        whole = [script for script, _ in Counter(plays).most_common(CANDIDATES)]
        single = [
            (text,) for text, _ in Counter(text for play in plays for text in play).most_common(CANDIDATES)
        ]
        judged = rows[:: max(1, len(rows) // JUDGED)]
        super().__init__(
            "constant",
            max(
                dict.fromkeys((*single, *whole)),
                key=lambda script: fmean(earned(task, row, script) for row in judged),
            ),
        )


def expert_plays(task: Task, rows: Sequence[Row]) -> list[Script]:
    """What the expert says in a game on each row.

    Raises:
        BadSetting: the task has no expert, or asks other seats than "agent".
    """
    plays = []
    for row in rows:
        step, said = task.start(row, Key(0, (row.id, 0, "task"))), []
        while step.ended is None:
            text = task.expert(step.state) if step.observation.seat == "agent" else None
            if text is None:
                raise BadSetting(
                    f"{task.identity} has no expert for every turn, so there is nothing to take a "
                    "constant answer from"
                )
            said.append(text)
            step = task.act(step, text)
        plays.append(tuple(said))
    return plays


def earned(task: Task, row: Row, script: Script) -> float:
    """The return of a script in one game, with the task's own weights."""
    step, total, turn = task.start(row, Key(0, (row.id, 0, "task"))), 0.0, 0
    while step.ended is None:
        step = task.act(step, script[min(turn, len(script) - 1)])
        total += task.total(step.rewards, task.spec.rewards)
        turn += 1
    return total


def _some(task: Task, most: int) -> Sequence[Row]:
    rows = task.rows("train")
    if not rows:
        raise BadSetting(f"{task.identity} has no training rows to take a constant answer from")
    return rows[:: -(-len(rows) // most)]
