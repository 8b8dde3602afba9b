"""How often intervals of `loquent score`, and of scores over tasks, hold the value, by simulation.

python -m tools.studies.score_study  (a quarter of an hour; renews the tables in line 1 of
                                      docs/results/evidence.jsonl)
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from loquent.core.seeding import Key
from loquent.statistics import resampling
from loquent.statistics.resampling import Resampling
from tools.studies.evidence_study import DOCS, DRAWS, Line, share

SIZES = (50, 200, 1000)
TIMES = 800
"""Samples a cell; the standard error of a share of 95% is three quarters of a point."""
BOOTSTRAPPED = ("normal", "uniform", "skewed")
RARE = {
    "half score 0": 0.5,
    "one in five": 0.2,
    "one in ten": 0.1,
    "one in twenty": 0.05,
    "one in fifty": 0.02,
}
"""The shares of scores that are 0."""


def main() -> None:
    """Compute the tables, and write them."""
    results, start = DOCS / "results" / "evidence.jsonl", time.process_time()
    first, *rest = results.read_text(encoding="utf-8").splitlines()
    record = json.loads(first) | {name: list(lines) for name, lines in tables(TIMES)}
    record |= {
        "seconds": round(time.process_time() - start),
        "command": "python -m tools.studies.score_study",
    }
    results.write_text("\n".join([json.dumps(record), *rest]) + "\n", encoding="utf-8")


def tables(times: int) -> Iterator[tuple[str, Iterator[Line]]]:
    """The lines of each table, by name."""
    yield "over_tasks", (over_tasks(count, times) for count in (3, 5, 10, 30))
    yield "bootstrap", (bootstrap(samples, times) for samples in SIZES)
    yield "shares", (shares(samples) for samples in SIZES)


def bootstrap(samples: int, times: int) -> Line:
    """The share of bootstrap intervals that hold the mean of a score, in per cent."""
    line: Line = {"": f"{samples} samples"}
    for method in ("percentile", "bca"):
        settings = Resampling(method=method, resamples=500)
        for name in BOOTSTRAPPED:
            stream = Key(samples, ("bootstrap", name)).generator()
            found = [bootstrapped(DRAWS[name](stream, samples), settings) for _ in range(times)]
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
    return share(np.array([low is not None and low <= 0 <= high for low, high in ends]))


if __name__ == "__main__":
    main()
