"""How often the intervals and verdicts of benchmarks are right, by simulation through their own code.

Run: python -m tools.studies.evidence_study  (a quarter of an hour; writes docs/results/evidence.jsonl and
                                              the tables of docs/evidence.md)
     python -m tools.studies.evidence_study power verdicts  (computes these tables alone again)
     python -m tools.studies.evidence_study page            (writes the tables of the page from the results)
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from loquent.bench.evidence import verdicts
from loquent.bench.evidence.rows import Row
from loquent.bench.schema.suite_schema import Ordering
from loquent.core.seeding import Key
from loquent.statistics import comparing, intervals, power, resampling, two_way
from loquent.statistics.resampling import Resampling
from loquent.statistics.tables import Table

DOCS = Path(__file__).resolve().parents[2] / "docs"
SEEDS = (3, 5, 10, 30)
ROWS = (50, 200, 1000)
TIMES = 1600
"""Samples a cell, or a multiple or half of it; the standard error of a share of 95% is half a point."""

SPREADS = {"rows": (0.02, 0.5, 0.1), "both": (0.05, 0.3, 0.3), "seeds": (0.1, 0.1, 0.4)}
"""What varies most; the deviations of the effects of seed, row, and seed and row together."""
LOGITS = {"rows": (0.1, 2.0), "both": (0.3, 1.0), "seeds": (0.8, 0.3)}
"""Of successes: the deviations of the effects of seed and row, in logits."""
CENTRES = {"half succeed": 0.0, "most succeed": 2.2}
KINDS = ("normal", "skewed", *CENTRES)
RARE = {
    "half score 0": 0.5,
    "one in five": 0.2,
    "one in ten": 0.1,
    "one in twenty": 0.05,
    "one in fifty": 0.02,
}
"""The shares of scores that are 0."""
DRAWS: dict[str, Callable[..., np.ndarray]] = {
    "normal": lambda stream, size: stream.normal(size=size),
    "uniform": lambda stream, size: stream.uniform(-(3**0.5), 3**0.5, size=size),
    "skewed": lambda stream, size: stream.exponential(size=size) - 1,
}
PAIRS = tuple(Ordering(claim=str(i), column="a", rising=(f"c{i}", f"c{i + 1}")) for i in range(0, 10, 2))
FOUR = Ordering(claim="four", column="a", rising=("c10", "c11", "c12", "c13"))
NODES = np.polynomial.hermite_e.hermegauss(200)
Line = dict[str, float | str]


def main() -> None:
    """Compute all tables or those that are named, write them, and write the tables of the page."""
    results, page, names = DOCS / "results" / "evidence.jsonl", DOCS / "evidence.md", sys.argv[1:]
    earlier = json.loads(results.read_text(encoding="utf-8")) if names else {"seconds": 0}
    record = {**earlier, "samples": TIMES, "command": "python -m tools.studies.evidence_study"}
    start = time.perf_counter()
    for name, lines in tables(TIMES):
        if not names or name in names:
            record[name] = list(lines)
            sys.stdout.write(f"{name}, {time.perf_counter() - start:.0f} s\n{markdown(record[name])}\n\n")
            sys.stdout.flush()
    record["seconds"] += round(time.perf_counter() - start)
    results.write_text(json.dumps(record) + "\n", encoding="utf-8")
    page.write_text(with_tables(page.read_text(encoding="utf-8"), record), encoding="utf-8")


def tables(times: int) -> Iterator[tuple[str, Iterator[Line]]]:
    """The lines of each table, by name."""
    both = [(count, rows) for count in SEEDS for rows in ROWS if count >= two_way.SEEDS]
    pairs = [(count, rows) for count, rows in both if count >= comparing.RUNS]
    yield "seed_intervals", (seed_intervals(count, 20 * times) for count in SEEDS)
    yield "long_tails", (long_tails(count, 4 * times) for count in SEEDS)
    many = [count for count in SEEDS if count >= comparing.RUNS]
    yield "seed_differences", (seed_differences(count, 8 * times) for count in many)
    few = (too_few_runs(count, 2 * times) for count in SEEDS if count < comparing.RUNS)
    yield "seed_differences_few", few
    yield "row_differences", (row_differences(rows, times) for rows in ROWS)
    yield "power", (seen(count, 2 * times) for count in SEEDS)
    yield "two_way_few", (too_few_seeds(rows, times // 2) for rows in ROWS)
    yield "row_intervals", (row_intervals(rows, times // 2) for rows in ROWS)
    yield "two_way", (two_way_intervals(*size, times) for size in both)
    yield "two_way_differences", (two_way_differences(*size, times // 2) for size in pairs)
    yield "over_tasks", (over_tasks(count, times // 2) for count in SEEDS)
    yield "verdicts", (wrong_decisions(count, times) for count in SEEDS)
    yield "bootstrap", (bootstrap(rows, times // 2) for rows in ROWS)
    yield "shares", (shares(rows) for rows in ROWS)


def seed_intervals(count: int, times: int) -> Line:
    """The share of intervals over seeds that hold the mean on the same rows, in per cent."""
    line: Line = {"": f"{count} seeds"}
    for name, draw in DRAWS.items():
        samples = draw(Key(count, ("seeds", name)).generator(), (times, count))
        line[name] = held(intervals.interval(sample.tolist()) for sample in samples)
        line[f"{name}, Student's"] = held(students(sample) for sample in samples)
    for rows in (ROWS[0], ROWS[-1]):
        stream = Key(count, ("seeds", "successes", rows)).generator()
        chances = logistic(CENTRES["most succeed"] + 0.8 * stream.normal(size=(times, count)))
        shares = stream.binomial(rows, chances) / rows
        mean = population("most succeed", 0.8)
        found = [intervals.interval((sample - mean).tolist()) for sample in shares]
        line[f"successes on {rows} rows"] = held(item for item in found if item.low is not None)
    return line


def long_tails(count: int, times: int) -> Line:
    """The same share of values whose logarithm is standard normal, in per cent."""
    samples = Key(count, ("long tails",)).generator().lognormal(size=(times, count)) - math.exp(0.5)
    return {"": f"{count} seeds", "log-normal": held(intervals.interval(own.tolist()) for own in samples)}


def students(sample: np.ndarray) -> intervals.Interval:
    """Student's t without stretching."""
    half = intervals.student(len(sample) - 1) * sample.std(ddof=1) / math.sqrt(len(sample))
    return intervals.Interval(sample.mean(), sample.mean() - half, sample.mean() + half, None, len(sample))


def seed_differences(count: int, times: int) -> Line:
    """The share of intervals of differences over seeds that hold 0, in per cent.

    The deviations of the two cells differ by up to four times.
    """
    line: Line = {"": f"{count} seeds"}
    for name, draw in DRAWS.items():
        stream = Key(count, ("differences", name)).generator()
        values = np.exp2(stream.uniform(-1, 1, size=(times, 2, 1))) * draw(stream, (times, 2, count))
        line[name] = held(difference(*cells) for cells in values)
        equal = draw(stream, (times, 2, count))
        line[f"{name}, equal deviations"] = held(difference(*cells) for cells in equal)
        apart = np.array([[1.0], [4.0]]) * draw(stream, (times, 2, count))
        line[f"{name}, four times"] = held(difference(*cells) for cells in apart)
    opposite = np.array([[1.0], [-1.0]]) * draw(stream, (times, 2, count))
    line["skewed, opposite sides"] = held(difference(*cells) for cells in opposite)
    return line


def too_few_runs(count: int, times: int) -> Line:
    """The line of `seed_differences`, if the code gave an interval for so few runs."""
    fewest, comparing.RUNS = comparing.RUNS, count
    try:
        return seed_differences(count, times)
    finally:
        comparing.RUNS = fewest


def difference(first: np.ndarray, second: np.ndarray) -> comparing.Difference:
    """The difference of two cells over seeds, as verdicts compute it."""
    found = verdicts.compare(dict(enumerate(first.tolist())), dict(enumerate(second.tolist())))
    assert found is not None
    return found


def row_differences(rows: int, times: int) -> Line:
    """The share of intervals of differences over paired rows that hold 0, in per cent.

    They are about two runs, so seeds have no effect.
    """
    line: Line = {"": f"{rows} rows"}
    for kind in KINDS:
        stream = Key(rows, ("rows", kind)).generator()
        found = []
        for _ in range(times):
            shared = rows_of(kind, stream, rows)
            own = [0.8 * shared + 0.6 * rows_of(kind, stream, rows) for _ in range(2)]
            cells = [values(kind, "rows", stream, 1, effect, 0.0)[0] for effect in own]
            named = [dict(zip(map(str, range(rows)), cell.tolist(), strict=True)) for cell in cells]
            found.append(verdicts.compare_paired_rows(*named))
        line[kind] = held(item for item in found if item is not None)
    return line


def two_way_intervals(count: int, rows: int, times: int) -> Line:
    """The share of intervals that hold the mean over all rows and seeds, in per cent."""
    line: Line = {"": f"{count} seeds, {rows} rows"}
    for varies in SPREADS:
        for kind in KINDS:
            stream = Key(count, ("two-way", varies, kind, rows)).generator()
            mean = population(kind, *LOGITS[varies]) if kind in CENTRES else 0.0
            cells = (values(kind, varies, stream, count, rows_of(kind, stream, rows)) for _ in range(times))
            found = [two_way.interval(cell - mean) for cell in cells]
            line[f"{varies}: {kind}"] = held(found)
    return line


def row_intervals(rows: int, times: int) -> Line:
    """The share of intervals over rows that hold the mean of these 3 runs over all rows, in per cent."""
    line: Line = {"": f"{rows} rows"}
    for varies in SPREADS:
        for kind in KINDS:
            stream, found = Key(rows, ("over rows", varies, kind)).generator(), []
            for _ in range(times):
                seeds = seeds_of(kind, varies, stream, 3)
                mean = float(seeds.mean())
                if kind in CENTRES:
                    chances = [population(kind, LOGITS[varies][1], beside=own) for own in seeds[:, 0]]
                    mean = sum(chances) / 3
                cell = cells(kind, varies, stream, seeds, rows_of(kind, stream, rows))
                found.append(intervals.interval((cell.mean(0) - mean).tolist()))
            line[f"{varies}: {kind}"] = held(found)
    return line


def too_few_seeds(rows: int, times: int) -> Line:
    """The line of `two_way_intervals` for 3 seeds, if the code gave an interval there."""
    fewest, two_way.SEEDS = two_way.SEEDS, 3
    try:
        return two_way_intervals(3, rows, times)
    finally:
        two_way.SEEDS = fewest


def two_way_differences(count: int, rows: int, times: int) -> Line:
    """The share of intervals of differences over seeds and rows that hold 0, in per cent.

    Both cells play the same rows; three fifths of the effect of a row are the cell's own.
    """
    line: Line = {"": f"{count} seeds, {rows} rows"}
    for varies in SPREADS:
        for kind in KINDS:
            stream = Key(count, ("two-way differences", varies, kind, rows)).generator()
            found = []
            for _ in range(times):
                shared = rows_of(kind, stream, rows)
                own = [0.8 * shared + 0.6 * rows_of(kind, stream, rows) for _ in range(2)]
                scales = np.ones(2) if kind in CENTRES else np.exp2(stream.uniform(-1, 1, size=2))
                cells = [
                    values(kind, varies, stream, count, effect, scale)
                    for effect, scale in zip(own, scales, strict=True)
                ]
                found.append(two_way.difference(*cells))
            line[f"{varies}: {kind}"] = held(found)
    return line


def rows_of(kind: str, stream: np.random.Generator, rows: int) -> np.ndarray:
    """The effects of rows, with deviation 1: float64[1, rows]."""
    return DRAWS["skewed" if kind == "skewed" else "normal"](stream, (1, rows))


def values(
    kind: str, varies: str, stream: np.random.Generator, count: int, rows: np.ndarray, scale: float = 1.0
) -> np.ndarray:
    """One value for each seed and row: float64[seeds, rows]; successes are 0 or 1.

    Args:
        scale: a factor of the effects of seeds.
    """
    return cells(kind, varies, stream, scale * seeds_of(kind, varies, stream, count), rows)


def seeds_of(kind: str, varies: str, stream: np.random.Generator, count: int) -> np.ndarray:
    """The effects of seeds, in logits for successes: float64[seeds, 1]."""
    if kind in CENTRES:
        return LOGITS[varies][0] * stream.normal(size=(count, 1))
    return SPREADS[varies][0] * DRAWS[kind](stream, (count, 1))


def cells(
    kind: str, varies: str, stream: np.random.Generator, seeds: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """One value for each seed and row from their effects: float64[seeds, rows]."""
    if kind in CENTRES:
        logits = CENTRES[kind] + seeds + LOGITS[varies][1] * rows
        return (stream.random(logits.shape) < logistic(logits)).astype(float)
    _, row, rest = SPREADS[varies]
    return seeds + row * rows + rest * DRAWS[kind](stream, (len(seeds), rows.shape[1]))


def logistic(logits: np.ndarray) -> np.ndarray:
    """The chances of logits."""
    return 1 / (1 + np.exp(-logits))


def population(kind: str, *deviations: float, beside: float = 0.0) -> float:
    """The mean chance over normal effects with these deviations and one `beside`, by 200-point quadrature."""
    nodes, weights = NODES
    chances = logistic(CENTRES[kind] + beside + math.hypot(*deviations) * nodes)
    return float(weights @ chances / weights.sum())


def bootstrap(samples: int, times: int) -> Line:
    """The share of bootstrap intervals that hold the mean of a score, in per cent."""
    line: Line = {"": f"{samples} samples"}
    for method in ("percentile", "bca"):
        settings = Resampling(method=method, resamples=500)
        for name, draw in DRAWS.items():
            stream = Key(samples, ("bootstrap", name)).generator()
            found = [bootstrapped(draw(stream, samples), settings) for _ in range(times)]
            line[f"{method}: {name}"] = held(item for item in found if item.low is not None)
    return line


def shares(samples: int) -> Line:
    """Of intervals of scores that are 0 or 1, in per cent: how many are printed, and how many of these hold.

    They are exact: sums of binomial probabilities over all numbers of scores that are 0. Equal scores have no
    interval.
    """
    rows, line = range(samples), {"": f"{samples} samples"}
    found = [resampling.share([float(row >= k) for row in rows], rows, 0.95) for k in range(1, samples)]
    for name, rare in RARE.items():
        chances = binomial(samples, rare)[1:-1]
        right = [item.low <= 1 - rare <= item.high for item in found]
        held = sum(chance for chance, holds in zip(chances, right, strict=True) if holds)
        line[f"{name}: printed"] = round(100 * sum(chances), 1)
        line[f"{name}: held"] = round(100 * held / sum(chances), 1)
    return line


def binomial(samples: int, chance: float) -> list[float]:
    """The probabilities of 0, 1, ..., `samples`."""
    ways = (
        math.lgamma(samples + 1) - math.lgamma(k + 1) - math.lgamma(samples - k + 1)
        for k in range(samples + 1)
    )
    return [
        math.exp(way + k * math.log(chance) + (samples - k) * math.log1p(-chance))
        for k, way in enumerate(ways)
    ]


def bootstrapped(sample: np.ndarray, settings: Resampling) -> resampling.Bounds:
    """The interval of the mean of a sample."""

    def mean(numbers: np.ndarray) -> dict[str, float]:
        return {"a": float(sample[numbers].mean())}

    return resampling.bounds(mean, len(sample), {"a": float(sample.mean())}, settings)["a"]


def over_tasks(count: int, times: int) -> Line:
    """The share of stratified bootstrap intervals over three tasks that hold the value, in per cent.

    The code gives none. Runs are drawn again within each task, as in arXiv:2108.13264; 500 draws.
    """
    line: Line = {"": f"{count} runs a task"}
    places, spread = np.array([[0.3], [0.5], [0.6]]), 0.1
    for kind in ("normal", "skewed"):
        stream, draw = Key(count, ("tasks", kind)).generator(), DRAWS[kind]
        many = places + spread * draw(stream, (2, 3, 200_000))
        many[1] += spread / 2
        truth = (
            middle(many[0].reshape(1, -1))[0],
            improvement(many[1][None, :, :400], many[0][None, :, :400])[0],
        )
        means, chances = [], []
        for _ in range(times):
            values = places + spread * draw(stream, (2, 3, count))
            values[1] += spread / 2
            drawn = [
                own[np.arange(3)[:, None], stream.integers(count, size=(500, 3, count))] for own in values
            ]
            means.append(quantiles(middle(drawn[0].reshape(500, -1)) - truth[0]))
            chances.append(quantiles(improvement(drawn[1], drawn[0]) - truth[1]))
        line[f"interquartile mean, {kind}"], line[f"improvement, {kind}"] = held(means), held(chances)
    return line


def middle(values: np.ndarray) -> np.ndarray:
    """Interquartile means, as `across_tasks.interquartile_mean`: [draws, values] to [draws]."""
    cut = values.shape[1] // 4
    return np.sort(values, axis=1)[:, cut : values.shape[1] - cut].mean(1)


def improvement(better: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Probabilities of improvement, as in `across_tasks`: [draws, tasks, runs] to [draws]."""
    return (better[..., None] > other[..., None, :]).mean((1, 2, 3))


def quantiles(draws: np.ndarray) -> resampling.Bounds:
    """The percentile interval of draws."""
    return resampling.Bounds(*map(float, np.quantile(draws, (0.025, 0.975))))


def held(found: Iterable[object]) -> float:
    """The share of intervals that hold 0, in per cent; an interval that is not given holds nothing."""
    ends = [(item.low, item.high) for item in found]
    return share([low is not None and low <= 0 <= high for low, high in ends])


def share(outcomes: list[bool]) -> float:
    """The share of true outcomes, in per cent."""
    return round(100 * float(np.mean(outcomes)), 1)


def wrong_decisions(count: int, times: int) -> Line:
    """The share of tables of equal cells with a decided claim, in per cent.

    A table has five claims on two cells and one on four; deviations over seeds differ by up to four times, as
    chance has it. `four times`: in each pair, the second cell varies four times as much as the first.
    """
    line: Line = {"": f"{count} seeds"}
    apart = np.array([[1.0], [4.0]] * 7)
    for name, spread in (("normal", None), ("skewed", None), ("skewed, four times", apart)):
        draw, stream = DRAWS[name.partition(",")[0]], Key(count, ("verdicts", name)).generator()
        corrected, uncorrected = [], []
        for _ in range(times):
            scale = np.exp2(stream.uniform(-1, 1, size=(14, 1))) if spread is None else spread
            cells = {f"c{i}": row(f"c{i}", own) for i, own in enumerate(scale * draw(stream, (14, count)))}
            found = verdicts.judge(suite((*PAIRS, FOUR)), cells)
            corrected.append(any(item.verdict != verdicts.UNDECIDED for item in found))
            uncorrected.append(any(item.uncorrected != verdicts.UNDECIDED for item in found))
        line[f"Holm, {name}"], line[f"uncorrected, {name}"] = share(corrected), share(uncorrected)
    return line


def seen(count: int, times: int) -> Line:
    """How often a claim is decided if the smallest visible difference is true, and an order of four cells.

    `seen of six` is a claim that Holm corrects together with five others, which have no effect.
    """
    stream = Key(count, ("power",)).generator()
    alone, in_table = (power.smallest_difference(1.0, count, tests) for tests in (1, len(PAIRS) + 1))
    pair, four, beside = [], [], []
    first = Ordering(claim="pair", column="a", rising=("c10", "c11"))
    for _ in range(times):
        noise = stream.normal(size=(14, count))
        steps = noise[:4] + alone * np.arange(4)[:, None]
        cells = {f"c{10 + i}": row(f"c{10 + i}", own) for i, own in enumerate(steps)}
        pair.append(verdicts.judge(suite((first,)), cells)[0].verdict == verdicts.HOLDS)
        four.append(verdicts.judge(suite((FOUR,)), cells)[0].verdict == verdicts.HOLDS)
        noise[1] += in_table
        cells = {f"c{i}": row(f"c{i}", own) for i, own in enumerate(noise)}
        beside.append(verdicts.judge(suite((*PAIRS, FOUR)), cells)[0].verdict == verdicts.HOLDS)
    return {
        "": f"{count} seeds", "smallest difference": round(alone, 2), "seen": share(pair),
        "smallest difference of six claims": round(in_table, 2), "seen of six": share(beside),
        "order of four seen": share(four),
    }  # fmt: skip


def suite(orderings):
    """A suite of one table with these claims."""
    return SimpleNamespace(title="all", orderings=orderings, tables=(), whole=None)


def row(name, values):
    """A cell with these values."""
    return Row(
        name=name, label=name, task="", n=len(values), episodes=100, rows=100,
        values={"a": dict(enumerate(values.tolist()))}, intervals={}, paper={}, source="", paper_seeds=0,
        failures={}, seconds=0.0,
    )  # fmt: skip


def markdown(lines: list[Line]) -> str:
    """The lines as a table."""
    head = list(lines[0])
    return Table(head, [[str(line[key]) for key in head] for line in lines]).markdown()


def with_tables(page: str, record: dict[str, object]) -> str:
    """The page with the tables of a record in the place of its own."""

    def table(match: re.Match[str]) -> str:
        lines = record[match[3]]
        chosen = [key for key in lines[0] if not key or key.startswith(match[2] or "")]
        return f"{match[1]}\n{markdown([{key: line[key] for key in chosen} for line in lines])}\n"

    pattern = r"((?:<!-- only: (.*?) -->)?<!-- table: evidence\.jsonl 1 (\w+) -->)\n(?:\|.*\n)*"
    return re.sub(pattern, table, page)


if __name__ == "__main__":
    main()
