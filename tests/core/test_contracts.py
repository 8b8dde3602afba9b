"""The laws on all registered tasks and all tracers, and on broken twins that must be caught."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from helpers.tracers import TRACERS
from helpers.tracers.twins import TWINS, SlotsGuess
from loquent.bench.conformance.check import LAWS, check, findings
from loquent.core import registry

HELPERS = Path(__file__).parents[1] / "helpers"


@cache
def tried(twin):
    return findings(twin.task(), episodes=6)


@pytest.mark.parametrize("name", TRACERS)
def test_every_tracer_keeps_the_laws(name):
    assert check(TRACERS[name](), episodes=12) == []


@pytest.mark.parametrize("name", registry.names("task"))
def test_every_registered_task_keeps_the_laws(name):
    assert check(name, episodes=12) == []


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "official"},
        {"secret": "redrawn"},
        {"limit": 20, "secret": "redrawn", "rule": "official"},
        {"guesses": "words"},
    ],
)
def test_wordle_keeps_the_laws_under_every_option(options):
    wordle = registry.find("task", "wordle")
    assert check(wordle(wordle.Options(**options)), episodes=9) == []


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.task.__name__)
def test_every_broken_twin_is_caught_in_words(twin):
    problems = [problem for finding in tried(twin) for problem in finding.problems]
    assert any(twin.words in problem for problem in problems), problems


def test_slots_are_sound_before_they_are_mixed_up():
    assert check(SlotsGuess(), episodes=9) == []


def test_all_laws_have_a_twin():
    broken = {finding.law for twin in TWINS for finding in tried(twin) if finding.problems}
    assert broken == set(LAWS)


def test_a_tracer_is_under_40_lines():
    sizes = {name: _lines(HELPERS / "tracers" / f"{name}.py") for name in TRACERS}
    assert max(sizes.values()) < 40, sizes
    assert _lines(HELPERS / "tracers" / "twins.py") > 40  # the count can fail


def test_steps_survive_a_pipe_to_another_process():
    # the child unpickles what multiprocessing's pipes send, plays one answer, and sends the step back
    script = """
import sys; sys.path.insert(0, sys.argv[1])
from multiprocessing.reduction import ForkingPickler
from helpers.tracers import TRACERS
steps = ForkingPickler.loads(sys.stdin.buffer.read())
done = {name: TRACERS[name]().act(step, "7") for name, step in steps.items()}
sys.stdout.buffer.write(bytes(ForkingPickler.dumps(done)))
"""
    from multiprocessing.reduction import ForkingPickler

    from loquent.core.seeding import Key

    opened = {name: task().start(task().rows("train")[-1], Key(5)) for name, task in TRACERS.items()}
    sent = bytes(ForkingPickler.dumps(opened))
    child = subprocess.run(
        [sys.executable, "-c", script, str(HELPERS.parent)], input=sent, capture_output=True, timeout=60
    )
    assert child.returncode == 0, child.stderr.decode()
    here = {name: TRACERS[name]().act(step, "7") for name, step in opened.items()}
    back = ForkingPickler.loads(child.stdout)
    assert back == here
    assert {name: hash(step) for name, step in back.items()} == {
        name: hash(step) for name, step in here.items()
    }
    assert back != opened  # it can fail


def _lines(file):
    return sum(bool(line.strip()) for line in file.read_text().splitlines())
