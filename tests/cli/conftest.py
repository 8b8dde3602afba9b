"""A folder to work in with a small task of one's own, and the command run as a user runs it."""

import sys
from pathlib import Path

import pytest

from helpers import commands

TASK = '''
"""Count: say the number that follows."""
from dataclasses import dataclass

from loquent.core.actions import Texts
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record


@dataclass(frozen=True)
class Options:
    rounds: int = setting(3, "numbers to say", low=1, high=9)

    def __post_init__(self):
        check_ranges(self)


class Count(Task):
    Options = Options
    spec = TaskSpec(id="count", rewards=Record(right=1.0), invalid=("no number",),
        turn_limit=9, splits=("train",))
    actions = Texts(str(i) for i in range(20))

    def rows(self, split):
        return [Row(f"r{i}", Record(start=i)) for i in range(5)]

    def first(self, row, rng):
        return Opening((row["start"], 0), Observation(f"after {row['start']}?\\x1b[31m"))

    def read(self, state, text):
        is_number = text.isascii() and text.isdecimal() and len(text) < 5
        return int(text) if is_number else Invalid("no number", text)

    def play(self, state, move):
        number, said = state
        right = not isinstance(move, Invalid) and move == number + 1
        state = (number + 1, said + 1)
        ending = "done" if said + 1 == self.options.rounds else None
        return Outcome(state, Observation(f"after {number + 1}?"), Record(right=float(right)), ending)

    def expert(self, state):
        return str(state[0] + 1)


class Slow(Count):
    """The same game, taking its time: so that a run can be killed in the middle."""

    def first(self, row, rng):
        import time

        time.sleep(0.005)
        return super().first(row, rng)


class Liar(Count):
    """Gives a reward that is not in its spec."""

    def play(self, state, move):
        return Outcome(state, Observation("?"), Record(wrong=1.0), "done")


class Counter:
    name = "counter"

    def __init__(self, task):
        pass

    def answer(self, asked):
        from loquent.core.agent import Answer

        draws = [one.key.generator().random() for one in asked]
        return [Answer(str(one.state[0] + 1) if draw < 0.5 else "?") for one, draw in zip(asked, draws)]
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder that holds counting.py."""
    (tmp_path / "counting.py").write_text(TASK)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command():
    """The words of a command line of `loquent` in this environment."""
    return _command


def _command(*words):
    return [str(Path(sys.executable).with_name("loquent")), *words]


@pytest.fixture
def loquent(folder):
    """Run `loquent WORDS` in the folder and give the finished process."""

    def run(*words, stdin="", timeout=120, **environment):
        return commands.loquent(words, folder, stdin=stdin, timeout=timeout, environment=environment)

    return run
