"""The study of docs/evidence.md: its results keep what the pages promise, and a part of it is repeated."""

import json

import pytest
from study import (
    DOCS,
    KINDS,
    SPREADS,
    bootstrap,
    markdown,
    row_differences,
    seed_differences,
    seed_intervals,
    seen,
    two_way_differences,
    two_way_intervals,
    with_tables,
    wrong_decisions,
)

from loquent.statistics import two_way

SEEDS = two_way.SEEDS
RECORD = json.loads((DOCS / "results" / "evidence.jsonl").read_text(encoding="utf-8"))
PRINTED = {
    "seed_intervals": ("normal", "uniform", "skewed", "successes on 50 rows", "successes on 1000 rows"),
    "seed_differences": ("normal", "uniform", "skewed"),
    "row_differences": KINDS,
    "two_way": tuple(f"{varies}: {kind}" for varies in SPREADS for kind in KINDS),
    "two_way_differences": tuple(f"{varies}: {kind}" for varies in SPREADS for kind in KINDS),
    "bootstrap": tuple(f"percentile: {name}" for name in ("normal", "uniform", "skewed", "half score 1")),
}
"""The columns of intervals that are printed, by table."""


@pytest.mark.parametrize("table", PRINTED)
def test_printed_intervals_hold_the_truth_in_93_to_97_per_cent(table):
    """The share of 800 samples or more has a standard error of up to 0.8 points."""
    shares = [line[name] for line in RECORD[table] for name in PRINTED[table]]
    assert len(shares) >= 12
    assert [share for share in shares if not 91.9 <= share <= 98.1] == []
    inside = [93 <= share <= 97 for share in shares]
    assert sum(inside) / len(inside) >= 0.8
    assert 94 < sum(shares) / len(shares) < 96.9


def test_the_results_have_what_decides_what_is_printed():
    for table in ("two_way", "two_way_differences"):
        few = [line[name] for line in RECORD[f"{table}_few"] for name in PRINTED[table]]
        assert max(few) > 98, "with 3 seeds no interval over seeds and rows is printed"
    skewed = [line["skewed, Student's"] for line in RECORD["seed_intervals"]]
    assert max(skewed) < 93.5, "Student's t is not printed"
    tasks = [line["interquartile mean, skewed"] for line in RECORD["over_tasks"][:3]]
    assert max(tasks) < 93, "scores over tasks have no interval"


def test_at_most_five_tables_of_a_hundred_are_wrong_and_power_is_80():
    for line in RECORD["verdicts"]:
        assert line["Holm, normal"] <= 5.5, "the standard error is 0.5"
        assert line["Holm, skewed"] <= 8, "as the page says"
        assert line["uncorrected, normal"] > 15
    for line in RECORD["power"]:
        assert 78 <= line["seen"] <= 82
        assert 78 <= line["seen of six"] <= 82


def test_the_tables_of_the_page_are_those_of_the_results():
    page = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert with_tables(page, RECORD) == page
    assert all(f"<!-- table: evidence.jsonl 1 {name} -->" in page for name in PRINTED)
    assert markdown(RECORD["power"]) in page


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_intervals_hold_the_mean_and_tables_are_rarely_wrong(count):
    """Standard errors of the shares are about 1 point."""
    found = [seed_intervals(count, 1000), seed_differences(count, 500)]
    shares = {
        f"{i}, {name}": line[name] for i, line in enumerate(found) for name in PRINTED["seed_intervals"][:3]
    }
    if count >= SEEDS:
        shares |= two_way_differences(count, 200, 400) | two_way_intervals(count, 50, 400)
    wrong = {name: share for name, share in shares.items() if name and not 91 <= share <= 99}
    assert wrong == {}
    assert found[0]["skewed, Student's"] < 94.5
    rates = wrong_decisions(count, 400)
    assert rates["Holm, normal"] <= 7.5
    assert rates["uncorrected, normal"] > rates["Holm, normal"]
    assert 75 <= seen(count, 500)["seen"] <= 85


@pytest.mark.slow
def test_intervals_over_rows_and_samples_hold_the_mean():
    shares = row_differences(200, 500) | bootstrap(200, 300)
    rare = {name for name in shares if name.endswith("one in fifty scores 0")}
    wrong = {name: shares[name] for name in shares.keys() - rare if name and not 91 <= shares[name] <= 99}
    assert wrong == {}
    assert all(shares[name] > 85 for name in rare), "they have a caution"
