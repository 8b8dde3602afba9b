"""How often claims with one seed are decided about rows on which no cell is better; prints one JSON line.

    python -m tools.studies.row_verdicts > docs/results/row_verdicts.jsonl

The mean of the paired differences is 0 in truth: they are normal, exponential, or `rare`: -1 on one row of 20
and 1/19 on the others, with noise of 0.01. A table has one test, or six that Holm's method corrects together.
"""

import json
import sys
import time

import numpy as np

from loquent.bench.evidence.verdicts import compare_paired_rows
from loquent.statistics.comparing import holm

ROWS, TABLES, TESTS = (30, 50, 100, 200), 1000, 6


def differences(kind, generator, rows):
    if kind == "normal":
        return generator.normal(size=rows)
    if kind == "skewed":
        return generator.exponential(size=rows) - 1
    return np.where(generator.random(rows) < 0.05, -1, 1 / 19) + 0.01 * generator.normal(size=rows)


def decided(kind, rows, tables=TABLES):
    """The shares of tables with a decided claim, with one test and with six."""
    generator = np.random.default_rng(rows)
    names = [str(i) for i in range(rows)]
    low = dict.fromkeys(names, 0.0)
    alone = together = 0
    for _ in range(tables):
        ps = []
        for _ in range(TESTS):
            high = dict(zip(names, differences(kind, generator, rows).tolist(), strict=True))
            ps.append(compare_paired_rows(low, high).p)
        alone += ps[0] <= 0.05
        together += min(holm(ps)) <= 0.05
    return alone / tables, together / tables


if __name__ == "__main__":
    lines = {}
    for rows in ROWS:
        for kind in ("normal", "skewed", "rare"):
            one, six = decided(kind, rows)
            own = lines.setdefault(f"{rows} rows", {})
            own |= {f"{kind}, one test": round(100 * one, 1), f"{kind}, six tests": round(100 * six, 1)}
    commit = sys.argv[1] if len(sys.argv) > 1 else ""
    record = {"command": "python -m tools.studies.row_verdicts", "commit": commit, "tables": TABLES}
    print(json.dumps(record | {"seconds": round(time.process_time()), "decided": lines}))
