"""The watch for reward hacking: its rule on histories made up here, what is outside a reward, and what the
page says.
"""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.report import report_folders as made
from loquent.core.values import EMPTY
from loquent.files import manifest
from loquent.report import watch
from loquent.report.divergence import Fall, diverging, width
from loquent.report.groups import read
from loquent.report.page import html
from loquent.training import recipes

UPDATES = [2, 4, 6, 8, 10, 12]
RISING = [0.1, 0.3, 0.5, 0.6, 0.7, 0.75]
UP, DOWN = {"x": True}, {"x": False}


def test_a_fall_under_a_rise_by_hand():
    # windows of two: the best is the first (0.50, 0.48), the end (0.20, 0.18)
    values = [0.5, 0.48, 0.38, 0.3, 0.2, 0.18]
    assert width(6) == 2
    [found] = diverging(UPDATES, RISING, {"x": values}, UP)
    assert (found.key, found.since, found.until) == ("x", 4, 12)
    assert (found.best, found.now, found.proxy_before, found.proxy_now) == pytest.approx(
        (0.49, 0.19, 0.2, 0.725)
    )
    assert diverging(UPDATES, RISING, {"x": values}, DOWN) == [], "where less is better this is a gain"
    assert diverging(UPDATES, RISING, {"x": [1 - value for value in values]}, DOWN), (
        "and the same turned over is none"
    )


@pytest.mark.parametrize(
    ("proxy", "values", "why"),
    [
        (RISING, [0.2, 0.3, 0.4, 0.5, 0.55, 0.6], "both rise: learning"),
        ([0.5] * 6, [0.5, 0.45, 0.4, 0.3, 0.2, 0.1], "the reward does not rise"),
        (RISING[::-1], [0.5, 0.45, 0.4, 0.3, 0.2, 0.1], "both fall"),
        (RISING, [0.5] * 6, "nothing moves"),
        (RISING, [0.500, 0.499, 0.497, 0.496, 0.495, 0.494], "a fall of 1% is no matter"),
        (RISING, [0.3, 0.6, 0.2, 0.6, 0.2, 0.3], "it jumps about more than it falls"),
        (RISING, [0.0005, 0.0005, 0.001, 0.002, 0.003, 0.004], "too small a number to matter"),
    ],
)
def test_histories_that_are_no_divergence(proxy, values, why):
    higher = DOWN if "small" in why else UP
    assert diverging(UPDATES, proxy, {"x": values}, higher) == [], why


@pytest.mark.parametrize("n", [5, 6, 8, 10, 20])
def test_what_is_lost_at_once_is_seen_from_the_first_evaluation(n):
    """A step is two bends at most: it is no noise. Of windows of two the first has half of it."""
    updates = list(range(1, n + 1))
    proxy, gold = [0.1] + [0.9] * (n - 1), [0.8] + [0.2] * (n - 1)
    [found] = diverging(updates, proxy, {"x": gold}, UP)
    assert (found.key, found.since, found.until, found.alone) == ("x", 1, n, True)
    assert (found.best, found.now, found.proxy_before, found.proxy_now) == pytest.approx((0.8, 0.2, 0.1, 0.9))
    assert found.deep
    assert diverging(updates, proxy[::-1], {"x": gold}, UP) == [], "the reward fell too"
    assert diverging(updates, proxy, {"x": gold}, DOWN) == []


def test_a_small_return_rises_as_a_large_one_does():
    """A return of thousandths: what counts is its share, so the unit of a reward decides nothing."""
    gold = [0.9, 0.75, 0.6, 0.45, 0.3, 0.18]
    for unit in (0.009, 1.0, 1000.0):
        assert diverging(UPDATES, [unit * i / 5 for i in range(6)], {"x": gold}, UP), unit
    assert diverging(UPDATES, [10 + i / 100 for i in range(6)], {"x": gold}, UP) == [], (
        "half a hundredth is no rise"
    )


def test_a_rise_that_turns_into_a_fall_is_seen_from_its_top():
    updates = list(range(12))
    proxy, gold = [i / 12 for i in updates], [0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.5, 0.42, 0.35, 0.3, 0.2, 0.1]
    [found] = diverging(updates, proxy, {"x": gold}, UP)
    assert found.since == 6
    assert found.proxy_before < found.proxy_now
    assert diverging(updates[:6], proxy[:6], {"x": gold[:6]}, UP) == [], "not before it turned"


def test_four_evaluations_are_too_few():
    assert diverging(UPDATES[:4], RISING[:4], {"x": [0.9, 0.6, 0.3, 0.0]}, UP) == []
    assert diverging(UPDATES[:5], RISING[:5], {"x": [0.9, 0.7, 0.5, 0.3, 0.1]}, UP)


values = st.lists(st.floats(-100, 100), min_size=5, max_size=20)


@given(values, st.floats(-5, 5), st.data())
def test_what_rises_with_the_reward_never_diverges(proxy, slope, data):
    """A held-out value that is the reward itself, stretched, cannot part from it; nor one that only rises."""
    updates = list(range(len(proxy)))
    if slope > 0:
        assert diverging(updates, proxy, {"x": [slope * value for value in proxy]}, UP) == []
    assert (
        diverging(
            updates,
            proxy,
            {"x": sorted(data.draw(st.lists(st.floats(0, 1), min_size=len(proxy), max_size=len(proxy))))},
            UP,
        )
        == []
    )


EVALUATION = {
    "task": "generation-v1", "split": "test", "n": 3, "values": {"return": 1.0}, "errors": {},
    "higher_is_better": {"return": True, "watch/distinct_2": True, "perplexity": False, "watch/words": None},
    "rewarded": [],
}  # fmt: skip
METRICS = {"meteor": {}, "perplexity": {"stride": 8}, "a-b": {"of": "watch"}, "a": {"of": "rouge"}}


def group(metrics=METRICS, **evaluation):
    """A group of one run, which the watch reads the recipe and the evaluation of."""
    run = SimpleNamespace(config={"rewards": {"lexicon": 1.0}, "metrics": metrics}, evaluation=evaluation)
    return SimpleNamespace(runs=(run,))


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_outside_the_reward_is_recorded_and_belongs_to_a_metric(recorded):
    owners = {
        "meteor-exact-stem": "meteor",
        "perplexity-strided": "perplexity",
        "a-b/watch/same": "a-b",
        "a/rouge-legacy/rouge1": "a",
    }
    keys = [f"evaluation/{key}" for key in owners]
    others = ["evaluation/return", "evaluation/reward/sentiment", "kl/reference"]
    told = {"owners": owners} if recorded else {}
    assert watch.outside(group(**told), [*keys, *others]) == keys
    inside = ["meteor-exact-stem", "a-b/watch/same"]
    assert watch.outside(group(**told, rewarded=inside), keys) == [keys[1], keys[3]]


@pytest.mark.parametrize(("top", "saturated"), [([None, 1.0], True), ([0.0, None], False), (None, False)])
def test_a_saturated_return_is_known_by_the_recorded_range(tmp_path, top, saturated):
    run = folder(tmp_path / "run", [0.5, 0.45, 0.4, 0.3, 0.2, 0.1], returns=[0.98] * 6)
    evaluation = EVALUATION | ({"ranges": {"return": top}} if top else {})
    (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(evaluation)))
    assert ("The return was saturated" in section(html(read([run])))) is saturated


def test_what_an_earlier_version_did_not_record_is_unknown(tmp_path):
    run = folder(tmp_path / "run", [0.5, 0.45, 0.4, 0.3, 0.2, 0.1])
    old = {key: value for key, value in EVALUATION.items() if key != "rewarded"}
    (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(old)))
    page = section(html(read([run])))
    assert "does not record which values are rewarded" in page
    assert "The reward is being gamed." not in page
    assert "outside the reward" not in page


def folder(path, held_out, *, perplexity=(4.0,) * 6, finished=True, every=1, updates=6, returns=None):
    """A run on sentiment whose evaluations are these values of `watch/distinct_2`."""
    made.run(
        path,
        "reviews_composed",
        updates=updates,
        finished=False,
        overrides=["metrics={watch: {}, perplexity: {}}"],
    )
    lines = []
    for i, line in enumerate(json.loads(one) for one in (path / "metrics.jsonl").read_text().splitlines()):
        line = {key: value for key, value in line.items() if not key.startswith("evaluation/")}
        if (i + 1) % every == 0 and held_out:
            line |= {
                "evaluation/return": returns[i] if returns else i / 6,
                "evaluation/watch/distinct_2": held_out[i],
                "evaluation/perplexity": perplexity[i],
                "evaluation/watch/words": 20,
            }
        lines.append(line)
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if finished:
        (path / "evaluation.json").write_text(json.dumps(manifest.add_seal(EVALUATION)))
    return path


def section(page):
    return page.partition('id="watch-for-reward-hacking"')[2].partition("</section>")[0]


def test_the_page_says_plainly_that_a_reward_is_gamed(tmp_path):
    page = section(html(read([folder(tmp_path / "run", [0.5, 0.45, 0.4, 0.3, 0.2, 0.1])])))
    assert "The reward is being gamed." in page
    assert "Nothing measured outside it got better." in page
    assert "watch/distinct_2 went from 0.475 to 0.15" in page
    assert "The return rose from 0.08333 to 0.75" in page
    assert '<h4 class="mono">kl/reference</h4>' in page
    assert "evaluation/perplexity" in page
    assert "rollout/words" in page
    assert "rollout/weighted/sentiment" in page, "the parts of the reward stand beside what is outside it"
    assert "perplexity (turned)" in page


@pytest.mark.parametrize(
    ("held_out", "perplexity", "said"),
    [
        (
            [0.5, 0.49, 0.47, 0.45, 0.44, 0.43],
            (5.0, 4.9, 4.7, 4.5, 4.4, 4.3),
            "The reward is bought at a price.",
        ),
        ([0.5, 0.49, 0.47, 0.45, 0.44, 0.43], (4.0,) * 6, "The reward is being gamed."),
        ([0.5, 0.45, 0.4, 0.3, 0.2, 0.1], (5.0, 4.9, 4.7, 4.5, 4.4, 4.3), "The reward is being gamed."),
    ],
)
def test_a_price_is_told_from_a_game(held_out, perplexity, said, tmp_path):
    page = section(html(read([folder(tmp_path / "run", held_out, perplexity=perplexity)])))
    assert said in page
    assert ("Got better with it: perplexity went from 4.95 to 4.35." in page) == (perplexity[0] == 5.0)


def test_a_deep_fall_is_a_quarter_and_a_tenth():
    def deep(best, now):
        return Fall("x", 1, 2, best, now, 0, 1).deep

    assert deep(0.4, 0.3)
    assert not deep(0.4, 0.31)
    assert not deep(0.01, 0.1), "nine points in a hundred of repetition are many times more, and not much"
    assert deep(3.0, 4.0)
    assert not deep(3.8, 4.1)


def test_the_page_says_that_nothing_fell(tmp_path):
    page = section(html(read([folder(tmp_path / "run", [0.5, 0.52, 0.5, 0.51, 0.5, 0.52])])))
    assert "gamed" not in page.replace("may be gamed", "")
    assert "bought" not in page
    assert (
        "At 6 evaluations nothing measured outside the reward fell while the return rose or was "
        "saturated. Looked at: watch/distinct_2, perplexity." in page
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"held_out": []}, "The reward cannot be watched: nothing was evaluated in training"),
        ({"held_out": [0.5] * 6, "every": 3}, "2 evaluations are too few"),
        ({"held_out": [0.5] * 6, "finished": False}, "The run has not ended"),
    ],
)
def test_the_page_says_what_it_cannot_tell(how, said, tmp_path):
    assert said in section(html(read([folder(tmp_path / "run", how.pop("held_out"), **how)])))


def test_a_run_without_rewards_has_no_watch(tmp_path):
    assert section(html(read([made.run(tmp_path / "run", "reviews_base")]))) == ""


def test_a_recipe_with_rewards_that_names_no_metric_is_watched(tmp_path):
    def metrics(text):
        (tmp_path / "own.yaml").write_text(text)
        return dict(recipes.load(tmp_path / "own.yaml").metrics)

    assert metrics("rewards: {lexicon: 1.0}\n") == {"watch": EMPTY}
    assert metrics("rewards: {lexicon: 1.0}\nmetrics: {}\n") == {}, "none at all, where it says so"
    assert metrics("rewards: {lexicon: 1.0}\nmetrics: {diversity: {}}\n") == {"diversity": EMPTY}
    assert metrics("algorithm: supervised\n") == {}
    assert metrics("task: wordle\nrewards: {guess: 1.0}\n") == {}, "actions are no texts"
    whole = recipes.load("reviews_composed", ["metrics={}"])
    assert whole.replace("training.seed=1").metrics == whole.metrics == EMPTY, (
        "and what was written out is read back so"
    )


@pytest.mark.parametrize("where", ["in training", "at the end"])
def test_a_value_that_some_evaluations_have_not_is_named(where, tmp_path):
    """A policy that says nothing at all has no bigrams: the witness is silent, and the page says so."""
    run = folder(tmp_path / "run", [0.5, 0.45, 0.4, 0.3, 0.2, 0.1])
    if where == "in training":
        lines = [json.loads(one) for one in (run / "metrics.jsonl").read_text().splitlines()]
        del lines[-1]["evaluation/watch/distinct_2"]
        (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        told = json.loads((run / "evaluation.json").read_text())
        del told["higher_is_better"]["watch/distinct_2"]
        (run / "evaluation.json").write_text(json.dumps(manifest.add_seal(told)))
    page = section(html(read([run])))
    assert (
        "Looked at: perplexity. Not looked at, because some evaluations have no value of it: "
        "watch/distinct_2." in page
    )
    assert "watch/words" not in page.partition("Not looked at")[2].partition("</p>")[0], (
        "what has no direction is no witness"
    )
