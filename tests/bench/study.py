"""How often the intervals and verdicts of benchmarks are right, by simulation through their own code.

Run: python tests/bench/study.py        (minutes; writes docs/results/evidence.jsonl, prints the tables)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from loquent.bench.evidence import verdicts
from loquent.bench.evidence.rows import Row
from loquent.bench.suite_schema import Ordering
from loquent.core.seeding import Key
from loquent.statistics import intervals, power, two_way
from loquent.statistics.tables import text_table

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "evidence.jsonl"
SEEDS = (3, 5, 10, 30)
ROWS = (50, 200, 1000)
SPREADS = {"mostly rows": (0.02, 0.5, 0.1), "both": (0.05, 0.3, 0.3), "mostly seeds": (0.1, 0.1, 0.4)}
"""The deviations of the effects of seed, row, and seed and row together."""
PAIRS = tuple(Ordering(claim=str(i), column="a", rising=(f"c{i}", f"c{i + 1}")) for i in range(0, 10, 2))
FOUR = Ordering(claim="four", column="a", rising=("c10", "c11", "c12", "c13"))


def main() -> None:
    """Compute all tables, print them and write them."""
    start = time.perf_counter()
    record = {
        "seed_intervals": [seed_intervals(count, 4000) for count in SEEDS],
        "two_way": [two_way_intervals(count, 1000) for count in SEEDS],
        "verdicts": [wrong_decisions(count, 1000) for count in SEEDS],
        "power": [seen(count, 1000) for count in SEEDS],
    }
    record["seconds"] = round(time.perf_counter() - start)
    record["command"] = "python tests/bench/study.py"
    RESULTS.write_text(json.dumps(record) + "\n", encoding="utf-8")
    for name in ("seed_intervals", "two_way", "verdicts", "power"):
        head = list(record[name][0])
        body = [[str(line[key]) for key in head] for line in record[name]]
        sys.stdout.write(f"{name}\n{text_table(head, body)}\n\n")


def seed_intervals(count: int, times: int) -> dict[str, float | str]:
    """The share of intervals over seeds that hold the mean on the same rows, in per cent."""
    stream = Key(count, ("seed intervals",)).generator()
    normal = stream.normal(size=(times, count))
    uniform = stream.uniform(-1, 1, size=(times, count))
    skewed = stream.exponential(size=(times, count)) - 1
    return {
        "seeds": f"{count} seeds",
        "normal": held(intervals.interval(line.tolist()) for line in normal),
        "uniform": held(intervals.interval(line.tolist()) for line in uniform),
        "skewed": held(intervals.interval(line.tolist()) for line in skewed),
    }


def two_way_intervals(count: int, times: int) -> dict[str, float | str]:
    """The share of intervals that hold the mean over all rows: two-way, and over seeds alone."""
    line: dict[str, float | str] = {"seeds": f"{count} seeds"}
    for rows, (name, (seed, row, rest)) in zip(ROWS, SPREADS.items(), strict=True):
        stream = Key(count, ("two-way", name)).generator()
        both, alone = [], []
        for _ in range(times):
            values = seed * stream.normal(size=(count, 1)) + row * stream.normal(size=(1, rows))
            values = values + rest * stream.normal(size=(count, rows))
            both.append(two_way.interval(values))
            alone.append(intervals.interval(values.mean(1).tolist()))
        line[f"{name}, {rows} rows"] = held(both)
        line[f"{name}, {rows} rows, seeds alone"] = held(alone)
    return line


def held(found) -> float:
    """The share of intervals that hold 0, in per cent."""
    return share([item.low is not None and item.low <= 0 <= item.high for item in found])


def share(outcomes) -> float:
    """The share of true outcomes, in per cent."""
    return round(100 * sum(outcomes) / len(outcomes), 1)


def wrong_decisions(count: int, times: int) -> dict[str, float | str]:
    """The share of tables of equal cells with a decided claim, in per cent.

    A table has five claims on two cells and one on four; deviations over seeds differ by up to four times.
    """
    stream = Key(count, ("verdicts",)).generator()
    corrected, uncorrected = [], []
    for _ in range(times):
        spread = np.exp2(stream.uniform(-1, 1, size=(14, 1)))
        values = spread * stream.normal(size=(14, count))
        found = verdicts.judge(
            suite((*PAIRS, FOUR)), {f"c{i}": row(f"c{i}", own) for i, own in enumerate(values)}
        )
        corrected.append(any(item.verdict != verdicts.UNDECIDED for item in found))
        uncorrected.append(any(item.uncorrected != verdicts.UNDECIDED for item in found))
    return {"seeds": f"{count} seeds", "Holm": share(corrected), "uncorrected": share(uncorrected)}


def seen(count: int, times: int) -> dict[str, float | str]:
    """How often a claim is decided if the smallest visible difference is true, and an order of four cells."""
    stream = Key(count, ("power",)).generator()
    difference = power.smallest_difference(1.0, count)
    pair, four = [], []
    for _ in range(times):
        values = stream.normal(size=(4, count)) + difference * np.arange(4)[:, None]
        cells = {f"c{10 + i}": row(f"c{10 + i}", own) for i, own in enumerate(values)}
        first = Ordering(claim="pair", column="a", rising=("c10", "c11"))
        pair.append(verdicts.judge(suite((first,)), cells)[0].verdict == verdicts.HOLDS)
        four.append(verdicts.judge(suite((FOUR,)), cells)[0].verdict == verdicts.HOLDS)
    return {
        "seeds": f"{count} seeds", "smallest difference": round(difference, 2), "seen": share(pair),
        "order of four seen": share(four),
    }  # fmt: skip


def suite(orderings):
    """A suite of one table with these claims."""
    return SimpleNamespace(title="all", orderings=orderings, tables=())


def row(name, values):
    """A cell with these values."""
    return Row(
        name=name, label=name, task="", n=len(values), episodes=100, rows=100,
        values={"a": dict(enumerate(values.tolist()))}, intervals={}, paper={}, source="", paper_seeds=0,
        failures={}, seconds=0.0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
