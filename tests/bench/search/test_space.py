"""The space of a search, the points of trials, and the rungs; all without training."""

import json
import math
import subprocess
import sys

import pytest

from helpers.training.small_runs import recipe_of
from loquent.bench.search import halving, samplers, space
from loquent.bench.search.planning import plan
from loquent.bench.search.space import Choices, Range
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadSetting, MissingExtra
from loquent.training import recipes

RATE, EPOCHS = Range("algorithm.learning_rate", 1e-5, 1e-1, log=True), Range("a.epochs", 1, 4, whole=True)


@pytest.fixture(scope="module")
def small():
    return recipe_of("turn_ppo", None).replace("training.updates=3", "training.evaluate_every=0")


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("a.b=1,2.5,x", Choices("a.b", (1, 2.5, "x"))),
        ("a=[1, 2],{b: 3},'c,d'", Choices("a", ((1, 2), Record(b=3), "c,d"))),
        ("a=none,1e-3", Choices("a", ("none", 0.001))),
        ("a=0.5:2", Range("a", 0.5, 2.0)),
        ("a=-3:3", Range("a", -3, 3, whole=True)),
        ("a=log:1e-5:1e-3", Range("a", 1e-5, 1e-3, log=True)),
        ("a=log:8:64", Range("a", 8, 64, log=True, whole=True)),
    ],
)
def test_typed_values_are_choices_or_a_range(text, dimension):
    assert space.split([text, "fixed=1", "code=module:Name", "list=[1, 2]"]) == (
        [dimension], ["fixed=1", "code=module:Name", "list=[1, 2]"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["a=1,,2"], "a: choice 2 of '1,,2' is empty"),
        (["a=1,"], "choice 2"),
        (["a=1,2,1"], "a: 1 is twice among the choices"),
        (["a=log:0:1"], r"a=log:0:1: LOW must be above 0 on a logarithmic scale, got 0"),
        (["a=log:1e-5"], "a range on a logarithmic scale is log:LOW:HIGH"),
        (["a=log:x:1"], "the ends of a range must be finite numbers, got x and 1"),
        (["a=log:1:inf"], "finite"),
        (["a=2:1"], "LOW must be below HIGH, got 2 and 1"),
        (["a=1,2", "a=3:4"], "a is searched twice"),
        (["a=1"], "no setting has several values"),
        (["=1,2"], "not of the form KEY=VALUES"),
    ],
)
def test_a_wrong_space_is_refused_with_what_is_allowed(texts, says):
    with pytest.raises(BadSetting, match=says):
        space.split(texts)


def wish(recipe, *settings, on="return", **changes):
    return plan(recipe, settings, on=on, **{"trials": 2, **changes})


@pytest.mark.parametrize(
    ("settings", "changes", "says"),
    [
        (["algorithm.clipp=0.1,0.2"], {}, r"clipp.*Nearest: clip"),
        (["algorithm.clip=0.1,-0.2"], {}, r"algorithm\.clip must be at least 0"),
        (["algorithm.epochs=log:0.5:2"], {}, "algorithm.epochs"),
        (["training.minibatch=8,16"], {}, "minibatch"),
        (["algoritm.clip=0.1,0.2"], {}, "no section 'algoritm'. Nearest: algorithm"),
        (["training.seed=1,2"], {}, "training.seed cannot be searched.*--seeds"),
        (["training.updates=1,2"], {}, "cannot be searched.*--rungs"),
        (["task.reward=f1,exact"], {}, "changes what a trial is measured by"),
        (["rewards={a: 1},{b: 1}"], {}, "the return is the sum of the weighted rewards"),
        (["algorithm.clip=0.1,0.2"], {"on": "test/return"}, "never reads the split 'test'. A choice by it"),
        (["algorithm.clip=0.1,0.2"], {"on": "retrn"}, "--on retrn: .*choose `success`, `return`"),
        (["algorithm.clip=0.1,0.2"], {"on": "success"}, "--on success: .*declares no ending as success"),
        (["algorithm.clip=0.1,0.2"], {"trials": 3}, "the space has only 2 points; give at most 2"),
        (["algorithm.clip=0.1:0.2"], {"trials": None}, "--trials N is missing"),
        (["algorithm.clip=0.1,0.2"], {"rungs": "2,2"}, "rising numbers of at least 1, below the 3 updates"),
        (["algorithm.clip=0.1,0.2"], {"rungs": "3"}, "below the 3 updates"),
        (["algorithm.clip=0.1,0.2"], {"rungs": "x"}, "not every part is a whole number"),
        (["algorithm.clip=0.1,0.2"], {"keep": 0.0}, "--keep must be above 0"),
        (["algorithm.clip=0.1,0.2"], {"sampler": "grid"}, "one of random, tpe"),
        (["algorithm.clip=0.1,0.2", "algorithm.gamma=1"], {}, "algorithm.gamma=1 has one value"),
    ],
)
def test_a_search_that_cannot_work_is_refused_before_a_trial_runs(small, settings, changes, says):
    with pytest.raises(BadSetting, match=says):
        wish(small, *settings, **changes)


@pytest.mark.parametrize(("split", "says"), [("test", "too good"), ("train", "choose by memory")])
def test_a_search_reads_validation_rows_only(small, split, says):
    with pytest.raises(BadSetting, match=f"evaluate_split = '{split}'.*{says}"):
        wish(small.replace(f"training.evaluate_split={split}"), "algorithm.clip=0.1,0.2")


@pytest.mark.parametrize(
    ("overrides", "on", "says"),
    [
        (
            ["final_split=validation"],
            "return",
            "training.final_split = 'validation' .*Set training.final_split=",
        ),
        (["final_split=validation"], "validation/return", "training.final_split = 'validation' "),
        (["split=validation"], "return", "by memory. Set training.split=train$"),
    ],
)
def test_advice_about_splits_is_about_the_cause(small, overrides, on, says):
    with pytest.raises(BadSetting, match=says) as error:
        wish(small.replace(*(f"training.{text}" for text in overrides)), "algorithm.clip=0.1,0.2", on=on)
    assert "Set training.evaluate_split=validation" not in str(error.value)


def test_a_combination_that_the_recipe_refuses_is_found_in_a_corner():
    recipe = recipes.load("reviews_ppo", ["task.limit=20"], profile="smoke")
    with pytest.raises(BadSetting, match=r"width = 20 must be a multiple of heads = 3"):
        wish(recipe, "model.width=18,20", "model.heads=3,2")


def test_whole_ends_are_integers_only_where_the_setting_is_one(small):
    typed, _ = space.split(["algorithm.epochs=1:4", "algorithm.clip=0:1"])
    epochs, clip = space.settle(typed, small)
    assert epochs == Range("algorithm.epochs", 1, 4, whole=True)
    assert clip == Range("algorithm.clip", 0.0, 1.0)
    weights = recipes.load("reviews_ppo", ["task.limit=20"], profile="smoke")
    assert not space.settle(space.split(["rewards.lexicon=1:3"])[0], weights)[0].whole, "weights are real"


def test_draws_are_uniform_on_the_scale_of_their_range():
    draws = [RATE.draw(Key(1, (i,))) for i in range(4000)]
    assert min(draws) >= 1e-5
    assert max(draws) <= 1e-1
    shares = [sum(10.0**-k <= draw < 10.0 ** (1 - k) for draw in draws) / 4000 for k in (5, 4, 3, 2)]
    assert all(abs(share - 0.25) < 0.03 for share in shares)
    counts = [sum(EPOCHS.draw(Key(2, (i,))) == n for i in range(4000)) / 4000 for n in range(1, 5)]
    assert all(abs(share - 0.25) < 0.03 for share in counts)
    whole = Range("a", 1, 3, log=True, whole=True)
    ones = sum(whole.draw(Key(3, (i,))) == 1 for i in range(4000)) / 4000
    assert abs(ones - math.log(2) / math.log(4)) < 0.03, "from 1 to below 2, of 1 to below 4"
    assert {whole.draw(Key(3, (i,))) for i in range(50)} == {1, 2, 3}


def test_random_points_depend_on_the_key_alone_and_none_comes_twice():
    choices = [Choices("a", (1, 2, 3)), Choices("b", ("x", "y"))]
    trials = []
    for _ in range(6):
        trials.append((samplers.propose("random", choices, Key(4), trials, True), None))
    assert len({tuple(point.items()) for point, _ in trials}) == 6, "six trials are the grid"
    again = samplers.propose("random", choices, Key(4), trials[:3], False)
    assert again == trials[3][0]
    assert samplers.propose("random", [RATE], Key(4), [], True) != samplers.propose(
        "random", [RATE], Key(5), [], True
    )


def test_equal_values_go_on_in_the_order_of_the_trials_and_failed_ones_never():
    values = {0: 0.5, 1: 0.7, 2: None, 3: 0.7, 4: 0.1}
    assert halving.ranking(values, True) == [1, 3, 0, 4]
    assert halving.ranking(values, False) == [4, 0, 1, 3]
    assert halving.survivors(values, 0.5, True) == [0, 1, 3]  # 3 of 5: half of 5, rounded up
    assert halving.survivors(values, 0.01, False) == [4]
    assert halving.survivors(dict.fromkeys(range(100), 0.0), 0.07, True) == [*range(7)], "0.07 * 100 > 7"
    assert halving.survivors({0: None, 1: None, 2: 0.1}, 1.0, True) == [2]
    assert halving.survivors({0: None}, 1.0, True) == []
    assert halving.leaders([values, {1: 0.2, 3: 0.2}], True) == [1, 3]
    assert halving.leaders([values, {1: None}], True) == [3], "a trial that failed later is not the best"
    assert halving.leaders([{0: None}], True) == []
    assert halving.read_rungs("10, 30", 90) == (10, 30, 90)
    assert halving.read_rungs("", 90) == (90,)


PROPOSE = """
import json, sys
from loquent.bench.search import samplers
from loquent.bench.search.space import Choices, Range
from loquent.core.seeding import Key
space = [Range("rate", 1e-5, 1e-1, log=True), Range("n", 1, 64, log=True, whole=True),
         Choices("c", ((1, 2), "x", None))]
trials = [({**point, "c": tuple(point["c"]) if isinstance(point["c"], list) else point["c"]}, value)
        for point, value in json.loads(sys.argv[1])]
while len(trials) < 16:
    point = samplers.propose("tpe", space, Key(7), trials, True)
    trials.append((point, None if len(trials) % 5 == 3 else -abs(point["rate"] - 0.01) - point["n"] / 640))
print(json.dumps(trials))
"""


def propose_after(lines):
    done = subprocess.run([sys.executable, "-c", PROPOSE, json.dumps(lines)], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_optuna_goes_on_to_the_bit_in_another_process_from_any_line():
    pytest.importorskip("optuna")
    whole = propose_after([])
    assert propose_after(whole[:13]) == whole
    changed = [[point, value and value + (0.5 if i == 2 else 0)] for i, (point, value) in enumerate(whole)]
    assert propose_after(changed[:13])[13:] != whole[13:], "its proposals depend on the values"


def test_without_optuna_the_error_names_the_extra(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"loquent\[search\]"):
        wish(small, "algorithm.clip=0.1,0.2", sampler="tpe")
