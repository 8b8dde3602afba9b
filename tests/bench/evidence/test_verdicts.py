"""Verdicts: one test a claim, corrected in each table; one seed decides about rows alone."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from loquent.bench import notes, pages
from loquent.bench import suite as suites
from loquent.bench.evidence import texts, verdicts, visible
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import ACROSS, CONTRADICTED, HOLDS, MISSING, UNDECIDED
from loquent.bench.schema.suite_schema import Ordering, Table
from loquent.core.seeding import Key
from loquent.statistics.intervals import interval
from tools.studies import evidence_study


def row(name, *values, error=None, rows=100):
    """A cell with these values in the column `a`."""
    by_seed = dict(enumerate(values))
    return Row(
        name=name, label=name, task="t", n=len(values), episodes=rows, rows=rows, values={"a": by_seed},
        intervals={"a": interval(list(values))} if values else {}, paper={}, source="", paper_seeds=0,
        failures={}, seconds=0.0, errors={"a": {0: error}} if error else {},
    )  # fmt: skip


def judge(*orders, tables=(), **cells):
    """The verdicts on orderings of cells; a cell is a tuple of values, or a row."""
    rows = {name: cell if isinstance(cell, Row) else row(name, *cell) for name, cell in cells.items()}
    orderings = tuple(Ordering(claim=str(names), column="a", rising=tuple(names)) for names in orders)
    suite = SimpleNamespace(
        title="all",
        orderings=orderings,
        tables=tuple(Table(title=t, cells=tuple(c)) for t, c in tables),
        whole=None,
    )
    return verdicts.judge(suite, rows)


FAR = (1.0, 1.1, 0.9)
NEAR = (0.0, 0.1, -0.1)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (NEAR, FAR, HOLDS),
        (FAR, NEAR, CONTRADICTED),
        ((0.0, 1.0, 2.0), (0.5, 1.5, 2.5), UNDECIDED),
        ((0.5, 0.5, 0.5), (0.9, 0.9, 0.9), UNDECIDED),  # no spread
        ((0.5, 0.5, 0.5), (0.5 + 1e-16, 0.5 + 2e-16, 0.5 + 1e-16), UNDECIDED),  # rounding
        ((0.0,), (1.0,), UNDECIDED),
        ((), FAR, MISSING),
    ],
)
def test_a_claim_is_decided_by_one_test(low, high, verdict):
    (found,) = judge("xy", x=low, y=high)
    assert (found.verdict, found.on_rows) == (verdict, "")


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e200])
def test_values_of_any_size_are_decided(size):
    small, large = (tuple(size * value for value in values) for values in (NEAR, FAR))
    assert judge("xy", x=small, y=large)[0].verdict == HOLDS
    assert judge("xy", x=NEAR, y=large)[0].verdict == (HOLDS if size > 1 else UNDECIDED)
    seen = visible.smallest([row("x", *small), row("y", *large)], "a", 1)
    assert seen.difference / size == pytest.approx(0.3504, abs=2e-4)
    cells = {"x": row("x", 0.5 * size, error=0.03 * size), "y": row("y", 0.8 * size, error=0.04 * size)}
    assert judge("xy", **cells)[0].on_rows == HOLDS


def test_equal_seeds_are_paired_only_where_the_ordering_says_so():
    """The values rise and fall together by 10, and differ by 1: only pairs see it."""
    rows = {"x": row("x", 0.0, 10.0, 20.0), "y": row("y", 1.0, 11.1, 20.9)}
    ordering = Ordering(claim="c", column="a", rising=("x", "y"))
    for paired, verdict in ((False, UNDECIDED), (True, HOLDS)):
        orderings = (dataclasses.replace(ordering, paired=paired),)
        suite = SimpleNamespace(title="all", orderings=orderings, tables=(), whole=None)
        assert verdicts.judge(suite, rows)[0].verdict == verdict


def test_the_claims_that_only_leaves_out_are_counted():
    """nlpgym has 5 claims on sentences. Two cells leave one of them, whose p-value counts five times."""
    pair = ["tagging-dqn", "tagging-ppo"]
    part = suites.only(suites.only(suites.load("nlpgym"), [*pair, "tagging-random"]), pair)
    cells = {
        name: dataclasses.replace(row(name, *values), values={"token_f1": dict(enumerate(values))})
        for name, values in (("tagging-dqn", NEAR), ("tagging-ppo", FAR))
    }
    (found,) = verdicts.judge(part, cells)
    assert (found.table, found.tests) == ("Table 1: sequence tagging", 5)
    assert found.corrected == pytest.approx(5 * found.p)


def test_the_tests_of_one_table_are_corrected_together():
    """p = 0.0478 (Welch by scipy) is decided alone and in a table of its own, and not beside two others."""
    cells = {"x": (0.0, 0.1, 0.2), "y": (0.22, 0.42, 0.36), "z": (0.2, 0.0, 0.1)}
    (alone,) = judge("xy", **cells)
    assert alone.p == pytest.approx(0.0478468, abs=1e-6)
    assert (alone.verdict, alone.corrected, alone.tests) == (HOLDS, alone.p, 1)
    together = judge("xy", "xz", "zx", **cells)
    assert (together[0].verdict, together[0].uncorrected) == (UNDECIDED, HOLDS)
    assert together[0].corrected == pytest.approx(3 * alone.p)
    assert "uncorrected it holds" in texts.decision_text(together[0])
    apart = judge("xy", "xz", "zx", tables=[("T", "xy"), ("U", "xz")], **cells)
    assert [(found.table, found.tests) for found in apart] == [("T", 1), ("U", 2), ("U", 2)]
    assert apart[0].verdict == HOLDS
    assert judge("xy", tables=[("T", "x")], **cells)[0].table == ACROSS


def test_a_claim_without_a_test_counts_in_the_correction():
    """p = 0.0478 alone, times 4 claims: one lacks its runs, one has equal values, one has p = 1."""
    cells = {"x": (0.0, 0.1, 0.2), "y": (0.22, 0.42, 0.36), "z": (), "w": (0.5,) * 3, "v": (0.6,) * 3}
    first, *others = judge("xy", "xz", "wv", "xx", **cells)
    assert [found.p for found in others] == [None, None, pytest.approx(1.0)]
    assert (first.tests, first.verdict) == (4, UNDECIDED)
    assert first.corrected == pytest.approx(4 * first.p)


def test_an_ordering_of_four_cells_is_one_test():
    rising = judge("abcd", a=NEAR, b=FAR, c=(2.0, 2.1, 1.9), d=(3.0, 3.1, 2.9))
    assert (len(rising), rising[0].tests, rising[0].verdict) == (1, 1, HOLDS)
    assert rising[0].p == pytest.approx(max(2 * (1 - 0) * s.difference.above for s in rising[0].steps))
    (flat,) = judge("abcd", a=NEAR, b=FAR, c=FAR, d=(3.0, 3.1, 2.9))
    assert flat.verdict == UNDECIDED, "one step is not shown"
    assert flat.effect.difference.mean == pytest.approx(3.0), "the effect is that of the ends"
    (falling,) = judge("abcd", a=NEAR, b=FAR, c=NEAR, d=FAR)
    assert falling.verdict == CONTRADICTED, "one step falls"


def test_one_seed_is_decided_about_its_rows_alone():
    cells = {"x": row("x", 0.5, error=0.03), "y": row("y", 0.8, error=0.04)}
    (found,) = judge("xy", **cells)
    assert (found.verdict, found.on_rows, found.single) == (UNDECIDED, HOLDS, True)
    assert found.steps[0].difference.error == pytest.approx(0.05)
    # 99 degrees of freedom each: Welch's are 99 * 0.0025² / (0.0009² + 0.0016²) = 183.6
    assert found.steps[0].difference.freedom == pytest.approx(183.6, abs=0.1)
    assert found.steps[0].difference.low is None, "rows that are not paired have a test, but no interval"
    assert "0.300 ± 0.050 over rows that are not paired, without an interval" in texts.effect_text(found)
    text = texts.decision_text(found)
    assert text.startswith("undecided about the methods (one seed); on these rows: holds")
    (noise,) = judge("xy", x=row("x", 0.5, error=1e-18), y=row("y", 0.5 + 1e-16, error=1e-18))
    assert noise.on_rows == ""


@pytest.mark.parametrize(("few", "many"), [(3, 100), (10, 100), (20, 20)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95])
def test_equal_episodes_are_no_certainty(few, many, share):
    """Both cells succeed equally often, on rows that are not paired: at most 5% of claims are decided.

    With an error of 0 for 3 successes of 3, they are above 90 of 100 in 72% of suites.
    """

    def odds(n):
        return [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]

    def cell(name, wins, n):
        error = (wins * (n - wins) / (n - 1)) ** 0.5 / n
        own = {f"{name}{i}": float(i < wins) for i in range(n)}
        return dataclasses.replace(row(name, wins / n, error=error, rows=n), by_row={"a": {0: own}})

    lower, higher = ([cell(name, k, n) for k in range(n + 1)] for name, n in (("x", few), ("y", many)))
    wrong = sum(
        one * other
        for one, low in zip(odds(few), lower, strict=True)
        for other, high in zip(odds(many), higher, strict=True)
        if one * other > 1e-5
        and (found := verdicts.step("a", low, high).difference) is not None
        and found.p is not None
        and found.p <= 0.05
    )
    assert wrong <= 0.06, "the exact level of a t test of few values is a little above 5%"
    (all_of_three,) = judge("xy", x=lower[-1], y=higher[-(many // 10) - 1])
    assert all_of_three.on_rows == UNDECIDED


@pytest.mark.parametrize("rises", [True, False])
@pytest.mark.parametrize(
    ("rows", "ways", "on_rows"),
    [(20, math.comb(40, 20), HOLDS), (4, 70, HOLDS), (3, 20, UNDECIDED)],
)
def test_all_against_none_is_fishers_test(rows, ways, on_rows, rises):
    """Of the C(2 n, n) ways to place n successes on 2 n rows, one puts all into y and one all into x."""

    def cell(name, value):
        return dataclasses.replace(
            row(name, value, rows=rows), by_row={"a": {0: {f"{name}{i}": value for i in range(rows)}}}
        )

    (found,) = judge("xy", x=cell("x", float(not rises)), y=cell("y", float(rises)))
    assert found.p == pytest.approx(2 / ways, rel=1e-4)
    decision = CONTRADICTED if on_rows == HOLDS and not rises else on_rows
    assert (found.verdict, found.on_rows, found.single) == (UNDECIDED, decision, True)
    assert "Fisher's exact test" in texts.effect_text(found)
    assert "± 0" not in texts.step_text(found.steps[0])
    (equal,) = judge("xy", x=cell("x", 1.0), y=cell("y", 1.0))
    assert (equal.p, equal.on_rows) == (None, "")


def test_the_rows_of_one_seed_are_paired():
    """Rows differ by 1, and y is above x by 0.1 on each: only pairs see it."""
    numbers = {f"r{i}": float(i % 2) for i in range(50)}
    higher = {name: number + 0.1 + 0.001 * (i % 3) for i, (name, number) in enumerate(numbers.items())}
    cells = {
        name: dataclasses.replace(row(name, sum(own.values()) / 50, error=0.07), by_row={"a": {0: own}})
        for name, own in (("x", numbers), ("y", higher))
    }
    (found,) = judge("xy", **cells)
    assert (found.verdict, found.on_rows) == (UNDECIDED, HOLDS)
    difference = found.steps[0].difference
    assert 0.1 < difference.low < difference.mean < difference.high < 0.102
    assert "over rows; **" not in texts.effect_text(found)
    assert texts.effect_text(found).endswith("] over rows")
    other = {name.replace("r", "q"): number for name, number in higher.items()}
    apart = cells | {"y": dataclasses.replace(cells["y"], by_row={"a": {0: other}})}
    assert judge("xy", **apart)[0].steps[0].difference.low is None, "other rows are no pairs"


@pytest.mark.parametrize(("kind", "most"), [("skewed", 5), ("normal", 5), ("rare", 100)])
def test_paired_rows_of_one_seed_are_rarely_decided(kind, most):
    """200 tables of six tests over 30 rows; rare losses that no row shows are a sure gain to any test."""
    one, six = evidence_study.decided_on_rows(kind, 30, 200, 0)
    assert max(one, six) <= most
    assert (six > 50) == (kind == "rare")


def with_rows(name, values):
    """A cell with these values by seed and row."""
    seeds = {
        seed: {f"r{i}": number for i, number in enumerate(own)} for seed, own in enumerate(values.tolist())
    }
    means = row(name, *values.mean(1).tolist(), rows=values.shape[1])
    return dataclasses.replace(means, by_row={"a": seeds})


def test_a_difference_is_over_seeds_and_rows():
    """Ten seeds play 20 rows, on which y is above x by 0, 2, 0, 2, ...: rows vary more than seeds."""
    seeds = 0.01 * np.arange(10.0)[:, None]
    shifts = {"x": np.zeros(20), "y": np.arange(20) % 2 * 2.0}
    (found,) = judge("xy", **{name: with_rows(name, seeds + shift) for name, shift in shifts.items()})
    difference = found.steps[0].difference
    # rows: deviation sqrt(20 / 19), squared error 1 / 19 with 19 degrees of freedom; seeds: variance
    # 9.1667e-4 of each cell, so 1.83333e-4 with 18
    assert difference.error == pytest.approx((1 / 19 + 1.83333e-4) ** 0.5)
    assert difference.freedom == pytest.approx(19.13, abs=0.01)
    assert difference.low == pytest.approx(1 - 2.0921 * difference.error, abs=1e-3)
    assert texts.effect_text(found) == (
        f"difference 1.000 [{difference.low:.3f}, {difference.high:.3f}] over seeds and rows"
    )
    assert texts.decision_text(found).startswith("holds (p = ")


def test_rows_that_all_cells_share_decide_nothing():
    """50 tables of 5 equal methods, each with its own effect on each of 200 rows: Welch decides in all."""
    stream, wrong, alone = Key(0, ("shared rows",)).generator(), 0, 0
    for _ in range(50):
        values = stream.normal(size=(5, 1, 200)) + 0.1 * stream.normal(size=(5, 10, 200))
        cells = {name: with_rows(name, own) for name, own in zip("vwxyz", values, strict=True)}
        pairs = ["vw", "vx", "vy", "vz"]
        wrong += any(found.verdict != UNDECIDED for found in judge(*pairs, **cells))
        bare = {name: dataclasses.replace(cell, by_row={}) for name, cell in cells.items()}
        alone += any(found.verdict != UNDECIDED for found in judge(*pairs, **bare))
    assert (wrong <= 5, alone) == (True, 50)


def without(cell, seed, *rows):
    """The cell whose run `seed` has no number on these rows."""
    by_seed = cell.by_row["a"]
    rest = {name: number for name, number in by_seed[seed].items() if name not in rows}
    return dataclasses.replace(cell, by_row={"a": by_seed | {seed: rest}})


@pytest.mark.parametrize("paired", [False, True])
def test_a_lost_row_is_left_out_of_all_runs(paired):
    """The methods differ on rows alone: the test over seeds would decide."""
    stream = Key(0, ("a lost row",)).generator()
    values = stream.normal(size=(2, 1, 40)) + 0.01 * stream.normal(size=(2, 5, 40))
    whole = {name: with_rows(name, own) for name, own in zip("xy", values, strict=True)}
    rest = {name: with_rows(name, own[:, 1:]) for name, own in zip("xy", values, strict=True)}
    lost = whole | {"y": without(whole["y"], 2, "r0")}
    expected = verdicts.step("a", rest["x"], rest["y"], paired).difference
    step = verdicts.step("a", lost["x"], lost["y"], paired)
    assert (step.over, step.compared, step.verdict) == ("seeds and rows", 39, UNDECIDED)
    assert (step.difference.mean, step.difference.p) == pytest.approx((expected.mean, expected.p))
    assert "40 episodes on 40 rows, compared on the 39 rows of all runs" in texts.step_text(step)
    assert "compared on" not in texts.step_text(verdicts.step("a", whole["x"], whole["y"]))
    few = without(whole["y"], 2, *(f"r{i}" for i in range(21)))
    (found,) = judge("xy", x=whole["x"], y=few)
    assert (found.verdict, found.p) == (UNDECIDED, None)
    assert texts.decision_text(found) == (
        "undecided (no test: the runs have numbers on different rows, and share fewer than half of them)"
    )


def test_one_seed_against_several_is_tested_over_rows():
    """y is above the mean of x's seeds by 0.1 and a little on each row; two of its seeds failed."""
    low = np.arange(3.0)[:, None] * 0.2 + np.arange(30) % 2
    high = low.mean(0, keepdims=True) + 0.1 + 0.001 * (np.arange(30) % 3)
    cells = {"x": with_rows("x", low), "y": with_rows("y", high)}
    (found,) = judge("xy", **cells)
    assert (found.verdict, found.on_rows, found.over) == (UNDECIDED, HOLDS, "rows")
    assert found.steps[0].difference.mean == pytest.approx(0.101)
    text = texts.decision_text(found)
    assert text.startswith("undecided about the methods (3 seeds against 1); on these rows: holds")
    assert "(3 seeds against 1; 30 episodes" in texts.step_text(found.steps[0])
    ordering = Ordering(claim="c", column="a", rising=("x", "y"), paired=True)
    suite = SimpleNamespace(title="all", orderings=(ordering,), tables=(), whole=None)
    (paired,) = verdicts.judge(suite, cells)
    assert paired.steps[0].difference.mean == pytest.approx(0.301), "only the common seed is subtracted"


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("names", ["xy", "xyz"])
def test_an_order_over_rows_is_decided_no_sooner_than_over_seeds(names, paired):
    """And each step is decided alone where its interval leaves out 0, and nowhere else."""
    stream, decided = Key(1, ("orders", names, str(paired))).generator(), set()
    for _ in range(40):
        values = stream.normal(size=(3, 1, 30)) + 0.3 * stream.normal(size=(3, 4, 1))
        values = values + 0.3 * stream.normal(size=(3, 4, 30)) + np.array([0, 0.8, 1.6])[:, None, None]
        cells = {name: with_rows(name, own) for name, own in zip("xyz", values, strict=True)}
        ordering = Ordering(claim="c", column="a", rising=tuple(names), paired=paired)
        suite = SimpleNamespace(title="all", orderings=(ordering,), tables=(), whole=None)
        bare = {name: dataclasses.replace(cell, by_row={}) for name, cell in cells.items()}
        (found,), (alone,) = verdicts.judge(suite, cells), verdicts.judge(suite, bare)
        assert (found.over, alone.over) == ("seeds and rows", "seeds")
        for step, seeds in zip(found.comparisons, alone.comparisons, strict=True):
            assert step.difference.p >= seeds.difference.p - 1e-12
            for one in (step, seeds):
                outside = not one.difference.low <= 0 <= one.difference.high
                assert outside == (one.verdict != UNDECIDED)
                decided.add(outside)
    assert decided == {True, False}


@pytest.mark.parametrize("seeds", [2, 3])
def test_verdicts_that_rest_on_seeds_alone_say_so(seeds):
    """A column without values by row, and two seeds, are decided on these rows."""
    values = 0.01 * np.arange(seeds)[:, None] + np.linspace(-0.01, 0.01, 20)
    cells = {"x": with_rows("x", values), "y": with_rows("y", values + 1)}
    if seeds == 3:
        assert texts.decision_text(judge("xy", **cells)[0]).startswith("holds (p")
        cells["y"] = dataclasses.replace(cells["y"], by_row={})
    (found,) = judge("xy", **cells)
    assert (found.verdict, found.over, found.on_rows) == (HOLDS, "seeds", "")
    assert texts.decision_text(found).startswith("holds on these rows (p ")
    assert "; on these rows, uncorrected: holds" in texts.step_text(found.steps[0])
    results = SimpleNamespace(
        verdicts=[found], suite=SimpleNamespace(whole=None), single=0, family_sizes={"all": 1}
    )
    assert 'Verdicts "on these rows" rest on seeds alone' in notes.number_caution(results)


def test_a_comparison_names_episodes_and_rows():
    cells = {"x": row("x", *NEAR), "y": dataclasses.replace(row("y", *FAR), episodes=500)}
    (found,) = judge("xy", **cells)
    assert "(n = 3; 100 episodes on 100 rows and 500 episodes on 100 rows)" in texts.step_text(found.steps[0])
    unknown = {name: dataclasses.replace(cell, rows=0) for name, cell in cells.items()}
    text = texts.step_text(judge("xy", **unknown)[0].steps[0])
    assert "100 episodes on an unknown number of rows" in text


def test_the_effect_stands_before_the_verdict():
    (found,) = judge("xy", x=NEAR, y=FAR)
    assert texts.effect_text(found) == "difference 1.000 [0.773, 1.227] over seeds"
    ten = [i / 100 for i in range(10)]
    (many,) = judge("xy", x=ten, y=[1 + number for number in ten])
    assert texts.effect_text(many).startswith("difference 1.000 [0.97")
    assert texts.effect_text(many).endswith("] over seeds")
    assert texts.decision_text(found).startswith("holds on these rows (p = 0.00026, of 1 test ")


def test_an_order_without_a_test_says_why():
    (mixed,) = judge("xy", x=row("x", 0.5, error=0.01), y=(0.9, 0.91, 0.92))
    assert texts.decision_text(mixed) == (
        "undecided on these rows (no test: 1 seed against 3, and no values on shared rows)"
    )
    (single,) = judge("xy", x=(0.5,), y=(0.9,))
    assert texts.decision_text(single) == (
        "undecided on these rows (no test: a cell has one seed, and its difference no error over rows)"
    )
    (equal,) = judge("xy", x=(0.5, 0.5, 0.5), y=(0.5, 0.5, 0.5))
    assert texts.decision_text(equal) == (
        "undecided on these rows (no test: the values of a step do not vary over seeds)"
    )


def test_a_table_has_the_smallest_difference_it_could_have_seen():
    """Deviation 0.1, three seeds, one test: Welch's test sees 3.51 deviations in 80% (200,000 simulated).

    By 60,000 draws they are 3.504.
    """
    rows = [row("x", *NEAR), row("y", *FAR), row("z", 0.5, 0.5, 0.5)]
    seen = visible.smallest(rows, "a", 1)
    assert (seen.difference, seen.deviation, seen.n) == (
        pytest.approx(0.3504, abs=2e-4),
        pytest.approx(0.1),
        3,
    )
    assert visible.smallest(rows, "a", 16).difference == pytest.approx(0.9690, abs=1e-3)
    single = visible.smallest([row("x", 0.5, error=0.03), row("y", 0.5, error=0.04)], "a", 1)
    # error 0.035355 of one mean, 0.05 of a difference; 2.8158 of them with 198 degrees of freedom,
    # and a little for skewness
    assert (single.difference, single.n) == (pytest.approx(0.1408, abs=1e-3), 1)
    assert pages.visible_text(single) == "0.142 (unpaired rows)"
    assert visible.smallest([row("x", 0.5)], "a", 1) is None


def test_the_smallest_difference_of_one_seed_is_that_of_paired_rows():
    """Rows vary by 1, paired differences by 0.1: a difference is visible where unpaired rows show nothing."""
    generator = np.random.default_rng(3)
    shared, own = generator.normal(size=50), 0.1 * generator.normal(size=(300, 50)) / 2**0.5

    def cell(name, numbers):
        by_row = {"a": {0: {f"r{i}": float(number) for i, number in enumerate(numbers)}}}
        return dataclasses.replace(row(name, float(np.mean(numbers)), error=0.14, rows=50), by_row=by_row)

    seen = visible.smallest([cell(str(i), shared + own[i]) for i in range(20)], "a", 1)
    assert (seen.n, seen.paired) == (1, True)
    assert seen.deviation == pytest.approx(0.1, rel=0.05)
    # 2.86 errors of 0.1 / sqrt(50) by the noncentral t with 49 degrees of freedom, and a little for skewness
    assert 2.86 < seen.difference / (seen.deviation / 50**0.5) < 3.2
    assert pages.visible_text(seen).endswith(" (paired rows)")
    decided = 0
    for i in range(0, 300, 2):
        cells = {"x": cell("x", shared + own[i]), "y": cell("y", shared + own[i + 1] + seen.difference)}
        decided += judge("xy", **cells)[0].on_rows == HOLDS
    assert decided / 150 == pytest.approx(0.8, abs=0.1)
    apart = cell("z", shared)
    other = {f"q{i}": 0.5 * (i % 2) for i in range(50)}
    apart = dataclasses.replace(apart, by_row={"a": {0: other}})
    assert not visible.smallest([cell("x", shared), apart], "a", 1).paired
