"""The numbers of episodes row by row, and scores over the tasks of a suite."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from loquent.bench import notes
from loquent.bench.evidence.across import across
from loquent.bench.evidence.episode_scores import Played
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.evidence.rows import Row, _both, row, shared_rows
from loquent.bench.evidence.texts import both_text
from loquent.bench.pages import both_columns
from loquent.bench.schema.suite_schema import Column, Entry, Table


def test_numbers_by_row_are_means_over_their_episodes():
    played = Played(("a", "b", "a", "b"), {"return": (1.0, 4.0, 2.0, 6.0), "some": (1.0, None, 2.0, 3.0)})
    assert played.by_row("return") == {"a": 1.5, "b": 5.0}
    assert played.by_row("some") == {"a": 1.5}, "an episode of b has no number"
    assert Played(("a",), {"some": (None,)}).by_row("some") is None
    assert played.by_row("other") is None
    # mean 3.25, sums of deviations -3.5 and 3.5: sqrt(2 / 1 * 24.5) / 4
    assert played.error("return") == pytest.approx(1.75)
    assert played.error("some") == pytest.approx(2 / 3), "1, 2 of a and 3 of b: sqrt(2 / 1 * (1 + 1)) / 3"
    uneven = Played(("a", "b", "a"), {"return": (1.0, 4.0, 2.0)})
    assert uneven.by_row("return") is None, "the mean of the rows is not that of the episodes"
    twice = Played(("a", "b", "c", "a"), {"return": (1.0, 4.0, 3.0, 2.0)})
    assert twice.by_row("return") == {"b": 4.0, "c": 3.0}, "one row is lost, and a is twice"
    rounds = Played(tuple("ab" * 10 + "a"), {"return": (1.0, 3.0) * 10 + (1.0,)})
    assert rounds.by_row("return") == {"a": 1.0, "b": 3.0}, "11 and 10 times are about equally often"


def cell(seeds, rows=20, played=True, lost=None):
    """The row of a cell whose value is that of the seed and of the row together; seed `lost` has none."""
    numbers = [[0.1 * seed + 0.5 * (i % 2) for i in range(rows)] for seed in range(seeds)]
    outcomes = {
        str(seed): Outcome(
            str(seed),
            evaluation={"task": "t-v1", "n": rows, "rows": rows, "values": values},
            played=Played(tuple(map(str, range(rows))), {"return": tuple(own)} if values else {})
            if played
            else None,
        )
        for seed, own in enumerate(numbers)
        for values in [{} if seed == lost else {"return": sum(own) / rows}]
    }
    suite = SimpleNamespace(
        columns={"a": Column(metric="return", better="higher"), "b": Column(metric="kl", logged=True)},
        cells={"x": Entry(recipe="r")},
        paper="",
    )
    return row(suite, "x", {seed: str(seed) for seed in range(seeds)}, outcomes, {})


def test_five_seeds_have_an_interval_over_seeds_and_rows():
    found = cell(5)
    assert list(found.both) == list(found.by_row) == ["a"]
    both, alone = found.both["a"], found.intervals["a"]
    assert both.mean == pytest.approx(alone.mean)
    # seeds: deviation 0.1581, error 0.0707; rows: deviation 0.25649, error 0.05735
    assert both.error == pytest.approx((0.005 + 0.25 / 3.8 / 20) ** 0.5)
    assert both.low < alone.low < alone.high < both.high


@pytest.mark.parametrize("seeds", [3, 4])
def test_three_seeds_have_one_too(seeds):
    found = cell(seeds)
    both = found.both["a"]
    alone = found.intervals["a"]
    assert both.low - 1e-9 <= alone.low < alone.high <= both.high + 1e-9
    assert both_columns(["a", "b"], [found]) == ["a"]
    assert both_text(found, "a") == f"[{both.low:.3f}, {both.high:.3f}]"


@pytest.mark.parametrize(("seeds", "played"), [(2, True), (1, True), (5, False)])
def test_fewer_seeds_and_lost_episodes_have_none(seeds, played):
    assert cell(seeds, played=played).both == {}
    assert both_text(cell(seeds, played=played), "a") == "–"


def test_an_interval_stands_about_the_mean_of_the_episodes():
    """Rows that are not played equally often have another mean than the episodes."""
    found = cell(5)
    values = {seed: value + 0.01 for seed, value in found.values["a"].items()}
    other = _both(found.by_row["a"], values, 20)
    both = found.both["a"]
    assert (other.mean, other.low) == pytest.approx((both.mean + 0.01, both.low + 0.01))


def test_a_run_without_a_number_on_a_row_leaves_the_others():
    """Row 3 of seed 1 has no number: the interval is that of the other 19 rows, about their own mean."""
    numbers = {seed: {str(i): 0.1 * seed + 0.5 * (i % 2) for i in range(20)} for seed in range(5)}
    values = dict.fromkeys(range(5), 9.0)
    rest = {seed: {row: own[row] for row in own if row != "3"} for seed, own in numbers.items()}
    lost = numbers | {1: rest[1]}
    assert shared_rows(lost) == sorted(rest[1])
    assert _both(lost, values, 20) == _both(rest, values, 20)
    assert _both(lost, values, 20).mean == pytest.approx(0.2 + 0.5 * 9 / 19)


def test_a_note_says_how_many_rows_an_interval_is_over():
    found = cell(5)
    results = SimpleNamespace(rows={"x": found})
    assert notes.both_note(results).endswith("for means over episodes.")
    rest = dict(list(found.by_row["a"][1].items())[1:])
    lost = replace(found, by_row={"a": found.by_row["a"] | {1: rest}})
    results = SimpleNamespace(rows={"x": lost})
    assert notes.both_note(results).endswith(
        " x, a: on the 19 of 20 rows that all its runs have a number on."
    )


def test_a_run_without_a_value_leaves_the_values_by_row_of_the_others():
    found = cell(5, lost=3)
    assert list(found.by_row["a"]) == list(found.values["a"]) == [0, 1, 2, 4]
    assert list(found.both) == ["a"]


@pytest.mark.parametrize(
    ("rows", "count"), [([range(4), range(2, 6)], 2), ([range(4), range(3, 7)], 0), ([range(1)] * 2, 1)]
)
def test_shared_rows_are_at_least_half(rows, count):
    cells = [{0: {str(i): 0.0 for i in own}} for own in rows]
    assert len(shared_rows(*cells)) == count
    assert shared_rows({0: {"a": 1.0, "b": 2.0}, 1: {"b": 1.0, "c": 1.0}}) == [], "one row has no spread"


def score(name, task, column, *values):
    return Row(
        name=name, label=name, task=task, n=len(values), episodes=10, rows=10,
        values={"f1": {}, "accuracy": {}} | {column: dict(enumerate(values))}, intervals={}, paper={},
        source="", paper_seeds=0, failures={}, seconds=0.0,
    )  # fmt: skip


def suite_of(cells):
    titles = dict.fromkeys(name.partition("-")[0] for name in cells)
    tables = tuple(
        Table(title=title, cells=tuple(name for name in cells if name.startswith(title))) for title in titles
    )
    return SimpleNamespace(
        columns={"f1": Column(metric="f1", better="higher"), "accuracy": Column(metric="a", better="higher")},
        tables=tables,
        task_tables=tables,
    )


def test_methods_are_compared_over_tasks_by_hand():
    cells = {
        "tag-ppo": score("tag-ppo", "tagging", "f1", 0.5, 0.7),
        "tag-dqn": score("tag-dqn", "tagging", "f1", 0.6, 0.8),
        "tag-most": score("tag-most", "tagging", "f1", 0.4),
        "tag-masked": score("tag-masked", "tagging with other options", "f1", 0.9),
        "ask-ppo": score("ask-ppo", "asking", "accuracy", 0.9, 0.9),
        "ask-dqn": score("ask-dqn", "asking", "accuracy", 0.1, 0.2),
    }  # fmt: skip
    found = across(suite_of(cells), cells)
    assert found.columns == {"tag": "f1", "ask": "accuracy"}
    # ppo: .5 .7 .9 .9, the middle half is .7 .9; dqn: .1 .2 .6 .8, the middle half is .2 .6
    assert found.means == {"ppo": pytest.approx(0.8), "dqn": pytest.approx(0.4)}
    assert found.runs == {"ppo": 4, "dqn": 4}
    # tagging: .7 > .6 alone, 1 of 4; asking: 4 of 4
    assert found.improvements == {("ppo", "dqn"): pytest.approx(0.625)}
    large = cells | {"ask-ppo": score("ask-ppo", "asking", "accuracy", 90.0, 90.0)}
    assert across(suite_of(large), large).means == {}, "scores of different scales have no common mean"
    assert across(suite_of(large), large).improvements == found.improvements
    more = cells | {name: score(name, "asking", "accuracy", *[0.9] * 6) for name in ("ask-ppo", "ask-dqn")}
    assert across(suite_of(more), more).means == {}, "a task with three times the runs would count as three"


def test_one_task_has_no_scores_over_tasks():
    cells = {
        name: score(name, "tagging", "f1", 0.5, 0.7)
        for name in ("tag-ppo", "tag-dqn", "more-ppo", "more-dqn")
    }
    assert across(suite_of(cells), cells) is None, "two tables on one task"
    other = {name: score(name, name.partition("-")[0], "f1", 0.5) for name in ("tag-ppo", "ask-dqn")}
    assert across(suite_of(other), other) is None, "no common method"
