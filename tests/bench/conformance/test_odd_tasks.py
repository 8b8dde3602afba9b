"""The laws on odd tasks that are correct, and on broken twins of them."""

import contextlib

import pytest

from helpers.tracers.odd import BROKEN, CORRECT, Long
from loquent.bench.conformance.check import LAWS
from loquent.bench.conformance.walks import Bench, NotChecked, Tally


def problems(task, laws, episodes):
    bench, found = Bench(task(), episodes, 0), []
    for law in laws:
        tally = Tally()
        with contextlib.suppress(NotChecked):
            LAWS[law](bench, tally)
        found += tally.problems
    return found


@pytest.mark.parametrize("task", CORRECT, ids=lambda task: task.__name__)
def test_an_odd_task_is_not_called_broken(task):
    laws = LAWS.keys() - {"answers"}  # takes nine tenths of the time, and is the same for all of them
    assert problems(task, laws, episodes=1 if task is Long else 6) == []


@pytest.mark.parametrize("twin", BROKEN, ids=lambda twin: twin.task.__name__)
def test_a_broken_twin_is_caught_in_words(twin):
    found = problems(twin.task, [twin.law], episodes=6)
    assert any(twin.words in problem for problem in found), found
