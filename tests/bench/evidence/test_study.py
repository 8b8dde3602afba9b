"""The study of docs/evidence.md: its results keep what the pages promise, and a part of it is repeated."""

import json
from itertools import combinations

import numpy as np
import pytest

from loquent.bench import notes
from loquent.core.seeding import Key
from loquent.statistics import comparing, intervals, two_way
from loquent.statistics.resampling import share
from tools.studies import array_tests, evidence_study, score_study
from tools.studies.evidence_study import DOCS, KINDS, VARIES, Shape, simulate, values
from tools.studies.score_study import RARE, SIZES, binomial, bootstrap

LINES = (DOCS / "results" / "evidence.jsonl").read_text(encoding="utf-8").splitlines()
SCORES, FIRST, SECOND = map(json.loads, LINES)
WHOLE = {("50 samples", "one in ten: held"), ("50 samples", "one in fifty: held")}
"""Shares above 97%: numbers of scores are whole, so coverage jumps from number to number."""


def numbers(lines):
    """All figures of a table."""
    return [number for line in lines for name, number in line.items() if name]


@pytest.mark.parametrize("varies", VARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [2, 3, 6])
def test_the_tests_of_many_tables_are_those_of_verdicts(varies, kind, seeds):
    stream = Key(seeds, ("same", varies, kind)).generator()
    tables = values(stream, 4, 3, seeds, 40, kind, varies, apart=2.0, falls=True)
    cells = array_tests.summary(tables)
    for low, high in combinations(range(3), 2):
        alone, both = array_tests.between(cells, low, high).p()
        for i, table in enumerate(tables):
            real = two_way.difference(table[low], table[high])
            sides = [dict(enumerate(cell.mean(1).tolist())) for cell in (table[low], table[high])]
            of_seeds = comparing.between(*sides).p
            assert both[i] == pytest.approx(1.0 if real.p is None else real.p, rel=1e-8)
            assert alone[i] == pytest.approx(0.0 if of_seeds is None else of_seeds, rel=1e-8)
    found = array_tests.mean_of(cells, 0).p(-0.3)[1]
    for i, table in enumerate(tables):
        real = two_way.interval(table[0] - 0.3)
        assert found[i] == pytest.approx(1.0 if real.p is None else real.p, rel=1e-8)


def test_corrections_of_many_tables_are_holms_and_those_of_an_order():
    p = Key(0, ("holm",)).generator().random(size=(20, 5)) ** 3
    p[0, 1] = p[0, 2]
    assert array_tests.corrected(p).tolist() == [pytest.approx(comparing.holm(own)) for own in p.tolist()]
    decided = [min(comparing.holm(own)) <= 0.05 for own in p.tolist()]
    assert array_tests.any_decided(p).tolist() == decided
    cells = simulate(Key(1, ("order",)).generator(), 10, 4, 3, 30, "normal", "both")
    steps = [array_tests.between(cells, i, i + 1) for i in range(3)]
    above = [
        [float(tail) if rises else 1 - float(tail) for tail, rises in zip(step.p()[1] / 2, step.mean > 0)]
        for step in steps
    ]
    theirs = [comparing.order(own).p for own in zip(*above, strict=True)]
    assert array_tests.order_p(steps).tolist() == pytest.approx(theirs)


def test_tails_of_arrays_are_the_real_ones():
    t, freedom = np.meshgrid([0.0, 1e-9, 0.3, 2.0, 40.0], [1.0, 2.7, 30.0, 2000.0])
    real = [intervals.student_tail(*pair) for pair in zip(t.ravel().tolist(), freedom.ravel().tolist())]
    assert array_tests.two_sided(t, freedom).ravel().tolist() == pytest.approx(real, rel=1e-10)


@pytest.mark.parametrize("record", [FIRST, SECOND])
def test_the_tables_of_the_page_hold_the_worst_numbers_of_rows(record):
    assert evidence_study.worst(record) == {name: record[name] for name in ("wrong", "held")}
    first = record["wrong"][0]
    seeds, methods = (part.split()[0] for part in first[""].split(","))
    own = [line for line in record[f"wrong_{methods}"] if line[""].startswith(f"{seeds} seeds,")]
    assert first["both: skewed"] == max(line["both: skewed"] for line in own)
    assert record["held"][0][""] == f"{seeds} seeds"


@pytest.mark.parametrize("record", [FIRST, SECOND])
def test_at_most_five_tables_of_a_hundred_are_wrong(record):
    """Up to 1.5 of simulation; the standard error of a share is half a point."""
    for name, lines in record.items():
        if name.startswith("wrong_") or name == "orders":
            assert max(numbers(lines)) <= 6.5, name
    assert np.mean(numbers(record["orders"])) < 5
    assert max(numbers(record["before"])) > 75, "without rows"


@pytest.mark.parametrize("record", [FIRST, SECOND])
def test_unequal_spreads_and_falling_seeds(record):
    """At most 10%, but where skewed seeds alone vary: the note below a table names these."""
    skewed = [line["four times: skewed, seeds"] for line in record["unequal"]]
    students = [line["Student's: skewed, seeds"] for line in record["unequal"]]
    rest = [
        number
        for line in record["unequal"]
        for name, number in line.items()
        if name and name not in ("four times: skewed, seeds", "Student's: skewed, seeds")
    ]
    assert max(rest) <= 10
    assert max(skewed) < max(students)
    least, largest = notes.WRONG_MORE_OFTEN
    assert least - 1.5 <= min(skewed) <= max(skewed) <= largest + 1.5


@pytest.mark.parametrize("record", [FIRST, SECOND])
def test_intervals_hold_what_the_page_says(record):
    """Normal and uniform values and successes in 93% or more; skewed seeds in 93% from 10 seeds on."""
    for line in record["means"]:
        own = {name: held for name, held in line.items() if name and name != "seeds: skewed"}
        own.pop("both: skewed")
        assert min(own.values()) >= 92
    for line in record["seed_intervals"]:
        assert min(line["normal"], line["uniform"]) >= 92
        assert line["skewed"] >= line["skewed, Student's"]
        assert line["skewed"] >= (93 if int(line[""].split()[0]) >= 10 else 87)


def test_power_grows_with_seeds_and_effects():
    for line in FIRST["power"]:
        for varies in VARIES:
            assert line[f"{varies}: 3 errors"] <= line[f"{varies}: 5 errors"] <= line[f"{varies}: 8 errors"]
    two = [line for line in FIRST["power"] if line[""].endswith("2 methods")]
    assert two[0]["seeds: 3 errors"] >= 45


def test_the_record_of_one_seed_is_what_the_page_says():
    rare = {line[""]: max(line["rare, one test"], line["rare, six tests"]) for line in FIRST["one_seed"]}
    assert [rows for rows, share in rare.items() if share > 6.5] == ["30 rows", "50 rows"]
    others = [
        share
        for line in FIRST["one_seed"]
        for name, share in line.items()
        if name and not name.startswith("rare")
    ]
    assert max(others) <= 6.5


def test_scores_have_the_intervals_that_the_page_says():
    held = [number for line in SCORES["bootstrap"] for name, number in line.items() if "percentile" in name]
    assert 92 <= min(held) <= max(held) <= 97
    tasks = [line["interquartile mean, skewed"] for line in SCORES["over_tasks"][:3]]
    assert max(tasks) < 93, "scores over tasks have no interval"


def test_intervals_of_shares_are_exact_and_never_hold_less_than_93_per_cent():
    """Two of the cells are above 97%, as the page says; below 93% there is none, whatever the share."""
    assert SCORES["shares"] == [score_study.shares(rows) for rows in SIZES]
    lines = {line[""]: line for line in SCORES["shares"]}
    assert all(97 < lines[samples][name] < 98 for samples, name in WHOLE)
    held = []
    for samples in SIZES:
        found = [
            share([float(i >= k) for i in range(samples)], range(samples), 0.95) for k in range(1, samples)
        ]
        for expected in (5, 6, 8, 10, 15, 20, 25):
            rare = expected / samples
            chances = zip(binomial(samples, rare)[1:-1], found, strict=True)
            held.append(sum(chance for chance, item in chances if item.low <= 1 - rare <= item.high))
    assert (round(100 * min(held), 1), round(100 * max(held), 1)) == (94.1, 97.0)
    own = [line[f"{name}: held"] for line in SCORES["shares"] for name in RARE]
    assert min(own) >= 93


def test_a_small_study_has_all_tables():
    found = dict(evidence_study.study(Shape(tables=20, seeds=(3,), rows=(30,), methods=(2, 3))))
    kinds = "wrong_2 wrong_3 means before orders wrong held power unequal"
    assert set(found) == {*kinds.split(), "seed_intervals", "seed_differences", "one_seed"}
    assert all(0 <= number <= 100 for lines in found.values() for number in numbers(lines))
    again = dict(evidence_study.study(Shape(tables=20, seed=1, seeds=(3,), rows=(30,), methods=(2, 3))))
    assert again["means"] != found["means"], "another seed"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_fresh_study_agrees(seeds):
    """Another seed with 800 tables a cell: their shares have errors of 0.8 points."""
    shape = Shape(tables=800, seed=7, seeds=(seeds,), rows=(200,), methods=(2, 4, 6))
    found = dict(evidence_study.equal(shape, seeds, 200))
    for name in ("wrong_2", "wrong_4", "wrong_6", "orders"):
        assert max(found[name].values()) <= 8
        assert np.mean(list(found[name].values())) <= 5.5
    assert np.mean(list(found["means"].values())) > 93


@pytest.mark.slow
def test_intervals_over_samples_hold_the_mean():
    """Standard errors of the shares are 1.2 points at most; those of 0 and 1 are exact."""
    held = numbers([bootstrap(200, 300)])
    assert all(90 <= number <= 100 for number in held)
    assert 93 < np.mean(held) < 97
