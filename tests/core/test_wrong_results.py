"""Ordinary mistakes in a task are errors that name the method and the value, and one broken law."""

import pytest

from loquent.adapters.gymnasium import Environment
from loquent.bench.conformance.check import findings
from loquent.core.seeding import Key
from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BrokenTask

FINE = Observation("Say something.")


class Base(Task):
    spec = TaskSpec(id="base", rewards=Record(point=1.0), turn_limit=3, shared_rows="few")

    def rows(self, split):
        return [Row(f"{split}:{n}", Record(n=n)) for n in range(3)]

    def first(self, row, rng):
        return Opening(0, FINE)

    def read(self, state, text):
        return text[:1]

    def play(self, state, move):
        return Outcome(state + 1, FINE, Record(point=1.0))


def task(**methods):
    return type("Own", (Base,), {name: lambda self, *given, f=f: f(*given) for name, f in methods.items()})()


NO_RETURN = "; is its `return` missing?"
MISTAKES = {
    "play, no return": ({"play": lambda s, m: None}, f"play returned None; .*Outcome.*{NO_RETURN}"),
    "play, a tuple": ({"play": lambda s, m: (s, FINE)}, "play returned a tuple; it must return an Outcome"),
    "play, number as text": (
        {"play": lambda s, m: Outcome(s, Observation(5))},
        "play returned an observation with the text 5, an int; it must be a str",
    ),
    "play, text for observation": (
        {"play": lambda s, m: Outcome(s, "text")},
        r"play returned an observation that is a str; it must be an Observation\(text\)",
    ),
    "play, number as rewards": (
        {"play": lambda s, m: Outcome(s, FINE, 1.0)},
        r"play returned rewards that are a float; .* a mapping .* such as Record\(point=1.0\)",
    ),
    "play, True as ending": (
        {"play": lambda s, m: Outcome(s, FINE, Record(), True)},
        "play returned ended = True, a bool; it must be None or the name of a rule",
    ),
    "first, no return": ({"first": lambda r, k: None}, f"first returned None; .*Opening.*{NO_RETURN}"),
    "first, an observation": ({"first": lambda r, k: FINE}, "first returned an Observation; it must return"),
    "first, number as text": ({"first": lambda r, k: Opening(0, Observation(5))}, "first returned .*5, an"),
    "rows, a generator": (
        {"rows": lambda split: (Row(str(n)) for n in range(3))},
        r"rows\('train'\) returned a generator; it must return a sequence of Row, such as a list",
    ),
    "rows, no return": ({"rows": lambda split: None}, rf"rows\('train'\) returned None; .*{NO_RETURN}"),
    "rows, texts": (
        {"rows": lambda split: ["a"]},
        r"rows\('train'\) returned a sequence whose first item is a str; every item must be a Row",
    ),
}


@pytest.mark.parametrize(("methods", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_result_of_the_wrong_type_is_named(methods, words):
    own = task(**methods)
    with pytest.raises(BrokenTask, match=f"^base-v1: {words}"):
        own.act(own.start(own.rows("train")[0], Key(0)), "a")


@pytest.mark.parametrize(("methods", "words"), MISTAKES.values(), ids=MISTAKES)
def test_check_reports_such_a_mistake_as_one_broken_law(methods, words):
    found = findings(task(**methods), episodes=3)
    [broken] = [finding for finding in found if finding.problems]
    [problem] = broken.problems
    assert broken.law == "results"
    assert problem.startswith("base-v1: ")
    assert not any(finding.looked for finding in found if finding.law in ("values", "equality", "answers"))


OTHER = {
    "rewards, a text": (
        {"play": lambda s, m: Outcome(s, FINE, Record(point="1"))},
        "play returned the reward point = '1'; a reward must be a finite number",
    ),
    "first raises": ({"first": lambda r, k: r["secret"]}, "first raised KeyError .* on the row Row"),
    "read, no return": (
        {"read": lambda s, t: None, "play": lambda s, m: m + 1},
        r"play raised TypeError .*; read returned None for 'a'; it must return a move or Invalid",
    ),
}


@pytest.mark.parametrize(("methods", "words"), OTHER.values(), ids=OTHER)
def test_other_mistakes_name_the_method(methods, words):
    own = task(**methods)
    with pytest.raises(BrokenTask, match=f"^base-v1: {words}"):
        own.act(own.start(own.rows("train")[0], Key(0)), "a")


@pytest.mark.parametrize(("methods", "words"), OTHER.values(), ids=OTHER)
def test_check_names_the_law_of_other_mistakes_once(methods, words):
    assert len([f for f in findings(task(**methods), episodes=3) if f.problems]) == 1


def test_an_adapter_meets_the_same_error():
    with pytest.raises(BrokenTask, match="returned a generator"):
        Environment(task(rows=lambda split: (row for row in ()))).reset(seed=0)


class Text(str):
    __slots__ = ()


def test_subclasses_are_no_mistakes():
    own = task(play=lambda s, m: Outcome(s, Observation(Text("x")), Record(point=1)))
    assert own.act(own.start(own.rows("train")[0], Key(0)), "a").observation.text == "x"
