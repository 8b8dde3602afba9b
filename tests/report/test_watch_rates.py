"""How often the watch for reward hacking speaks, through the code that writes the page (`watch_study`)."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from loquent.report import watch
from loquent.report.divergence import diverging
from loquent.training import recipes
from tools.studies import watch_study
from tools.studies.watch_study import History, rates

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGE = RESULTS.parent / "reward-hacking.md"


@pytest.mark.parametrize("kind", ["noise", "walk", "t(3) walk", "settling walk", "rare 0.005 of 48"])
@pytest.mark.parametrize(("evaluations", "witnesses"), [(5, 7), (10, 7), (20, 3)])
def test_the_watch_is_silent_when_nothing_falls(kind, evaluations, witnesses):
    """At 300 histories, three binomial deviations above 5%."""
    found = rates(kind, "rises", evaluations, witnesses, 300)
    assert found["gamed"] <= found["speaks"] <= 0.088


def test_the_watch_speaks_of_a_fall_unless_the_return_is_flat():
    assert rates("fall by 0.4", "rises", 10, 7, 100)["gamed"] >= 0.9
    assert rates("fall by 0.4", "saturated", 10, 7, 100)["gamed"] >= 0.9
    assert rates("fall by 0.4", "flat", 10, 7, 200)["speaks"] <= 0.1
    assert rates("fall by 0.4 at once", "rises at once", 10, 7, 100)["gamed"] >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("cell", list(watch_study.cells()), ids=str)
def test_the_rates_of_the_page(cell):
    """Every cell of the study: at 1,000 histories, three binomial deviations above 5%."""
    found = rates(*cell, 1000)
    silent = not cell[0].startswith("fall") and cell[:2] != ("settling walk", "rises at once")
    if silent or cell[1] == "flat":
        assert found["gamed"] <= found["speaks"] <= 0.071


def records():
    """The study of this rule, and two cells of the rule before."""
    return [json.loads(line) for line in (RESULTS / "watch_rates.jsonl").read_text().splitlines()]


def recorded():
    return records()[0]["cells"]


def percent(value):
    return f"{100 * value:.1f}"


def false_alarms(kind):
    """The rows of the page's table: by evaluations, the share of alarms for each number of witnesses."""
    lines = [line for line in recorded() if (line["witness"], line["return"]) == (kind, "rises")]
    for n in sorted({line["evaluations"] for line in lines}):
        shares = {line["witnesses"]: line["speaks"] for line in lines if line["evaluations"] == n}
        yield f"| {kind} | {n} | " + " | ".join(percent(shares[k]) for k in sorted(shares)) + " |"


def by_course(lines, evaluations):
    """The rows of the page's other tables: by witness and return, with 1 and with 7 witnesses."""
    for kind, course in dict.fromkeys((line["witness"], line["return"]) for line in lines):
        own = [line for line in lines if (line["witness"], line["return"]) == (kind, course)]
        shares = [" / ".join(percent(x["speaks"]) for x in own if x["evaluations"] == n) for n in evaluations]
        yield f"| {kind} | {course} | " + " | ".join(shares) + " |"


def long_tails():
    lines = [
        line
        for line in recorded()
        if line["witness"] in watch_study.LONG_TAILS or line["return"] == "rises at once"
    ]
    return by_course([line for line in lines if not line["witness"].startswith("fall")], (5, 10, 20, 40))


def powers():
    return by_course([line for line in recorded() if line["witness"].startswith("fall")], (5, 8, 10, 20, 40))


def test_the_page_has_the_rates_that_were_measured():
    page = PAGE.read_text()
    rows = [
        row for kind in ("noise", "walk", "walk and noise", "autoregression") for row in false_alarms(kind)
    ]
    assert [row for row in [*rows, *long_tails(), *powers()] if row not in page] == []
    before = records()[1]["cells"]
    cells = {(line["witness"], line["evaluations"], line["witnesses"]): line["speaks"] for line in before}
    for cell in (("noise", 5, 7), ("walk", 10, 7)):
        assert f"in {percent(cells[cell])}% of" in page
    nothing = [line for line in recorded() if not line["witness"].startswith("fall")]
    too_often = {(line["witness"], line["return"]) for line in nothing if line["speaks"] > 0.05}
    assert too_often == {("settling walk", "rises at once")}, "the page says so"
    assert {
        (line["witness"], line["return"], line["evaluations"], line["witnesses"]) for line in recorded()
    } == (set(watch_study.cells()))


@pytest.mark.parametrize(
    ("recipe", "gamed", "rewarded", "top"),
    [
        ("reviews_gamed", True, [], 1.0),
        # 1 for sentiment, 0.2 for praise, 0.1 * 0.6 for overlap, 0 for repetition
        ("reviews_composed", False, ["watch/overlap", "watch/repetition"], 1.26),
    ],
)
def test_the_verdicts_on_two_real_runs(recipe, gamed, rewarded, top):
    """Their evaluations as they were logged: perplexity rises in both, words repeat in the first."""
    lines = [json.loads(line) for line in (RESULTS / "watch_runs.jsonl").read_text().splitlines()]
    [run] = [line for line in lines if (line["recipe"], line["seed"]) == (recipe, 0)]
    history = History(run["evaluations"])
    settings = recipes.load(recipe, ["model.path=runs/base"])
    config = {"rewards": settings.rewards, "metrics": settings.metrics}
    evaluation = {"rewarded": rewarded, "ranges": {"return": [None, top]}}
    history.runs = (SimpleNamespace(config=config, evaluation=evaluation),)
    found = watch.verdict(history, list(run["evaluations"]), run["higher_is_better"])
    fell = {fall.key.removeprefix("evaluation/") for fall in found.fell}
    assert found.gamed is gamed
    assert "perplexity" in fell
    assert ("watch/distinct_2" in fell) is gamed
    assert [rise.key for rise in found.rose] == ["evaluation/judge/positive"]


UPDATES = [2, 4, 6, 8, 10, 12]
FALLING = [0.5, 0.45, 0.4, 0.3, 0.2, 0.1]


@pytest.mark.parametrize(
    ("proxy", "top", "speaks"),
    [
        ([0.98, 0.97, 0.99, 0.98, 0.98, 0.97], 1.0, True),
        ([0.98, 0.97, 0.99, 0.98, 0.98, 0.97], None, False),
        ([0.98, 0.97, 0.99, 0.98, 0.98, 0.97], 2.0, False),
        ([0.98, 0.97, 0.99, 0.98, 0.9, 0.8], 1.0, False),
        ([1.96, 1.95, 1.98, 1.96, 1.96, 1.95], 2.0, True),
        ([-0.01, -0.01, -0.01, -0.01, -0.01, -0.01], 0.0, False),
    ],
)
def test_a_saturated_return_need_not_rise(proxy, top, speaks):
    found = diverging(UPDATES, proxy, {"x": FALLING}, {"x": True}, top=top)
    assert bool(found) is speaks
    assert all(fall.saturated for fall in found)
