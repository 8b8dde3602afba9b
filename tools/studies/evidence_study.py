"""How often verdicts are wrong and intervals hold, by simulation; what is printed is in docs/evidence.md.

    python -m tools.studies.evidence_study
    python -m tools.studies.evidence_study --seed 1 --seeds 4,7 --rows 150,500 --methods 3,6 --line 3

All values are made from effects of seed, row, method on a row, and rest, and tested by `array_tests`. The
record is a line of docs/results/evidence.jsonl, from which `python -m tools.pages` makes the page.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loquent.bench.evidence.verdicts import compare_paired_rows
from loquent.core.seeding import Key
from tools.studies.array_tests import (
    LEVEL,
    Array,
    Cells,
    any_decided,
    between,
    corrected,
    mean_of,
    of_seeds,
    order_p,
    summary,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
Line = dict[str, float | str]
VARIES = {"rows": (0.02, 0.5, 0.1), "both": (0.06, 0.46, 0.3), "seeds": (0.4, 0.1, 0.1)}
"""What varies most: the deviations of the effects of the seed, of the method on a row, and of the rest."""
LOGITS = {"rows": (0.05, 1.5), "both": (0.3, 1.5), "seeds": (0.8, 0.3)}
"""Of successes: those of the seed, and of the method on a row, in logits."""
CENTRES = {"half succeed": 0.0, "most succeed": 2.2}
KINDS = ("normal", "skewed", *CENTRES)
SHARED = 0.5  # the deviation of the effect of a row on all methods; 1 in logits
EFFECTS = (3, 5, 8)  # in true errors of the difference
ONE_SEED = {"seeds": 1, "rows": (30, 50, 100, 200), "tests": 6}
DRAWS: dict[str, Callable[..., Array]] = {
    "normal": lambda stream, size: stream.normal(size=size),
    "uniform": lambda stream, size: stream.uniform(-(3**0.5), 3**0.5, size=size),
    "skewed": lambda stream, size: stream.exponential(size=size) - 1,
    "log-normal": lambda stream, size: stream.lognormal(size=size) - math.exp(0.5),
}


@dataclass(frozen=True)
class Shape:
    """The tables of a study."""

    tables: int = 2000
    seed: int = 0
    seeds: tuple[int, ...] = (3, 5, 10)
    rows: tuple[int, ...] = (100, 300, 1000)
    methods: tuple[int, ...] = (2, 5, 8)


def main() -> None:
    """Compute a line of the results."""
    parser = argparse.ArgumentParser()
    whole = Shape()
    for name in ("tables", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(whole, name))
    for name in ("seeds", "rows", "methods"):
        parser.add_argument(f"--{name}", type=numbers, default=getattr(whole, name))
    parser.add_argument("--line", type=int, default=2)
    parser.add_argument("--commit", default="")
    given = vars(parser.parse_args())
    line, commit = given.pop("line"), given.pop("commit")
    shape, start = Shape(**given), time.process_time()
    record = dict(study(shape))
    options = {name: text(value) for name, value in given.items() if value != getattr(whole, name)}
    command = " ".join(
        ["python -m tools.studies.evidence_study", *(f"--{n} {v}" for n, v in options.items())]
    )
    head = {"command": command, "commit": commit, "seconds": round(time.process_time() - start)}
    results = DOCS / "results" / "evidence.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines()
    lines[line - 1 :] = [json.dumps(head | {"tables": shape.tables} | record), *lines[line:]]
    results.write_text("\n".join(lines) + "\n", encoding="utf-8")


def numbers(given: str) -> tuple[int, ...]:
    """Whole numbers from a text such as "3,5"."""
    return tuple(map(int, given.split(",")))


def text(value: object) -> str:
    """A setting as `numbers` reads it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def study(shape: Shape) -> Iterator[tuple[str, list[Line]]]:
    """The lines of each table, by name, in per cent."""
    wrong: dict[str, list[Line]] = {}
    for seeds in shape.seeds:
        for rows in shape.rows:
            own = dict(equal(shape, seeds, rows))
            for name, line in own.items():
                wrong.setdefault(name, []).append({"": f"{seeds} seeds, {rows} rows"} | line)
    yield from wrong.items()
    yield from worst(wrong).items()
    sizes = [(seeds, methods) for seeds in shape.seeds for methods in shape.methods]
    yield "power", [powers(shape, *size) for size in sizes]
    yield "unequal", [unequal(shape, *size) for size in sizes]
    counts = (*shape.seeds, 30)
    yield "seed_intervals", [seed_intervals(shape, count) for count in counts]
    yield "seed_differences", [seed_differences(shape, count) for count in counts]
    yield "one_seed", [one_seed(shape, rows) for rows in ONE_SEED["rows"]]


def worst(lines: dict[str, list[Line]]) -> dict[str, list[Line]]:
    """The largest shares of wrong decisions, and the least of intervals that hold, over numbers of rows."""
    found: dict[str, list[Line]] = {"wrong": [], "held": []}
    names = {name: f"{name.partition('_')[2]} methods" for name in lines if name.startswith("wrong_")}
    names |= {"orders": "one order", "before": "over seeds alone", "means": ""}
    for seeds in dict.fromkeys(str(line[""]).partition(",")[0] for line in lines["means"]):
        for name, label in names.items():
            own = [line for line in lines[name] if str(line[""]).startswith(f"{seeds},")]
            pick = min if name == "means" else max
            ends = {key: pick(float(line[key]) for line in own) for key in own[0] if key}
            found["held" if name == "means" else "wrong"].append({"": f"{seeds}, {label}".strip(", ")} | ends)
    return found


def equal(shape: Shape, seeds: int, rows: int) -> Iterator[tuple[str, Line]]:
    """Wrong decisions of tables of equal methods, before and now, and the intervals that hold a mean."""
    most = max(shape.methods)
    lines: dict[str, Line] = {}
    for varies in VARIES:
        for kind in KINDS:
            stream = Key(shape.seed, ("equal", varies, kind, str(seeds), str(rows))).generator()
            cells = simulate(stream, shape.tables, most, seeds, rows, kind, varies)
            names = [f"{varies}: {kind}"]
            found = [between(cells, 0, i).p() for i in range(1, most)]
            steps = [between(cells, i, i + 1) for i in range(most - 1)]
            for methods in shape.methods:
                alone, both = (np.stack(own, 1) for own in zip(*found[: methods - 1], strict=True))
                lines.setdefault(f"wrong_{methods}", {})[names[0]] = share(any_decided(both))
                if methods == shape.methods[len(shape.methods) // 2]:
                    lines.setdefault("before", {})[names[0]] = share(any_decided(alone))
                    order = order_p(steps[: methods - 1])
                    lines.setdefault("orders", {})[names[0]] = share(order <= LEVEL)
            truth = population(kind, *LOGITS[varies], 1.0) if kind in CENTRES else 0.0
            held = share(mean_of(cells, 0).p(-truth)[1] > LEVEL)
            lines.setdefault("means", {})[names[0]] = held
    yield from lines.items()


def powers(shape: Shape, seeds: int, methods: int) -> Line:
    """How often it is decided that one method of normal values is better, among claims without an effect."""
    rows, line = shape.rows[len(shape.rows) // 2], {"": f"{seeds} seeds, {methods} methods"}
    for varies in VARIES:
        stream = Key(shape.seed, ("power", varies, str(seeds), str(methods))).generator()
        cells = simulate(stream, shape.tables, methods, seeds, rows, "normal", varies)
        seed, method, rest = VARIES[varies]
        error = math.sqrt(2 * (seed**2 / seeds + method**2 / rows + rest**2 / (seeds * rows)))
        pairs = [between(cells, 0, i) for i in range(1, methods)]
        others = [pair.p()[1] for pair in pairs[1:]]
        for effect in EFFECTS:
            p = corrected(np.stack([pairs[0].p(effect * error)[1], *others], 1))[:, 0]
            rises = pairs[0].mean + effect * error > 0
            line[f"{varies}: {effect} errors"] = share((p <= LEVEL) & rises)
    return line


def unequal(shape: Shape, seeds: int, methods: int) -> Line:
    """Wrong decisions where every second method varies four times as much, or seeds of some methods fall."""
    rows, line = shape.rows[0], {"": f"{seeds} seeds, {methods} methods"}
    for kind in ("normal", "skewed"):
        for varies in VARIES:
            stream = Key(shape.seed, ("four times", varies, kind, str(seeds), str(methods))).generator()
            cells = simulate(stream, shape.tables, methods, seeds, rows, kind, varies, apart=4.0)
            pairs = [between(cells, 0, i) for i in range(1, methods)]
            both = np.stack([pair.p()[1] for pair in pairs], 1)
            line[f"four times: {kind}, {varies}"] = share(any_decided(both))
            if (kind, varies) == ("skewed", "seeds"):
                both = np.stack([pair.p(stretched=False)[1] for pair in pairs], 1)
                line["Student's: skewed, seeds"] = share(any_decided(both))
    for kind in ("normal", "half succeed"):
        stream = Key(shape.seed, ("falls", kind, str(seeds), str(methods))).generator()
        cells = simulate(stream, shape.tables, methods, seeds, rows, kind, "both", falls=True)
        both = np.stack([between(cells, 0, i).p()[1] for i in range(1, methods)], 1)
        line[f"falls: {kind}"] = share(any_decided(both))
    return line


def seed_intervals(shape: Shape, count: int) -> Line:
    """The share of intervals over seeds that hold the mean."""
    line: Line = {"": f"{count} seeds"}
    for name, draw in DRAWS.items():
        stream = Key(shape.seed, ("seeds", name, str(count))).generator()
        found = mean_of(of_seeds(draw(stream, (20 * shape.tables, 1, count))), 0)
        line[name] = share(found.p()[0] > LEVEL)
        line[f"{name}, Student's"] = share(found.p(stretched=False)[0] > LEVEL)
    return line


def seed_differences(shape: Shape, count: int) -> Line:
    """The share of intervals of differences over seeds that hold 0, of equal deviations and of 1:4."""
    line: Line = {"": f"{count} seeds"}
    for name in ("normal", "uniform", "skewed"):
        for times in (1, 4):
            stream = Key(shape.seed, ("differences", name, str(times), str(count))).generator()
            values = DRAWS[name](stream, (20 * shape.tables, 2, count)) * np.array([[1.0], [times]])
            found = between(of_seeds(values), 0, 1)
            apart = ", four times" * (times > 1)
            line[f"{name}{apart}"] = share(found.p()[0] > LEVEL)
            line[f"{name}{apart}, Student's"] = share(found.p(stretched=False)[0] > LEVEL)
    return line


def one_seed(shape: Shape, rows: int) -> Line:
    """Wrong decisions about the rows of one seed."""
    line: Line = {"": f"{rows} rows"}
    for kind in ("normal", "skewed", "rare"):
        one, six = decided_on_rows(kind, rows, shape.tables // 2, shape.seed)
        line |= {f"{kind}, one test": one, f"{kind}, six tests": six}
    return line


def decided_on_rows(kind: str, rows: int, tables: int, seed: int) -> tuple[float, float]:
    """The shares of tables with a decided claim, with one test and with six, by the code of verdicts.

    Paired differences are normal, skewed, or `rare`: -1 on one row of 20 and 1/19 on the others, with noise.
    """
    stream, names = Key(seed, ("one seed", kind, str(rows))).generator(), [str(i) for i in range(rows)]
    low, found = dict.fromkeys(names, 0.0), []
    for _ in range(tables * ONE_SEED["tests"]):
        if kind == "rare":
            values = np.where(stream.random(rows) < 0.05, -1, 1 / 19) + 0.01 * stream.normal(size=rows)
        else:
            values = DRAWS[kind](stream, rows)
        found.append(compare_paired_rows(low, dict(zip(names, values.tolist(), strict=True))).p)
    p = np.array(found).reshape(tables, -1)
    return share(p[:, 0] <= LEVEL), share(any_decided(p))


def simulate(
    stream: np.random.Generator, tables: int, methods: int, seeds: int, rows: int, kind: str, varies: str,
    *, apart: float = 1.0, falls: bool = False,
) -> Cells:  # fmt: skip
    """Tables of methods with equal means over all seeds and rows, in parts that fit into memory.

    Args:
        apart: how many times as much every second method varies.
        falls: in half of the methods one seed falls far down.
    """
    size = max(1, 4_000_000 // (methods * seeds * rows))
    parts = [
        summary(values(stream, count, methods, seeds, rows, kind, varies, apart=apart, falls=falls))
        for count in [size] * (tables // size) + [tables % size] * bool(tables % size)
    ]
    names = ("mean", "squared", "third", "rest", "by_row", "size")
    return Cells(seeds, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def values(
    stream: np.random.Generator, tables: int, methods: int, seeds: int, rows: int, kind: str, varies: str,
    *, apart: float = 1.0, falls: bool = False,
) -> Array:  # fmt: skip
    """float64[tables, methods, seeds, rows]; successes are 0 or 1."""
    shared, own, whole = (tables, 1, 1, rows), (tables, methods, 1, rows), (tables, methods, seeds, rows)
    runs, binary = (tables, methods, seeds, 1), kind in CENTRES
    draw = DRAWS["normal" if binary else kind]
    seed, method, *rest = LOGITS[varies] if binary else VARIES[varies]
    scale = np.where(np.arange(methods) % 2, apart, 1.0)[:, None, None]
    effects = seed * scale * draw(stream, runs)
    if falls:
        lost = stream.integers(seeds, size=(tables, methods, 1, 1)) == np.arange(seeds)[:, None]
        effects = effects - 6 * lost * (stream.random((tables, methods, 1, 1)) < 0.5)
    found = (
        effects + (2 if binary else 1) * SHARED * draw(stream, shared) + method * scale * draw(stream, own)
    )
    if binary:
        return (stream.random(whole) < logistic(CENTRES[kind] + found)).astype(float)
    return found + rest[0] * scale * draw(stream, whole)


def logistic(logits: Array) -> Array:
    """The chances of logits."""
    return 1 / (1 + np.exp(-logits))


def population(kind: str, *deviations: float) -> float:
    """The mean chance over normal effects with these deviations, by 200-point quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    chances = logistic(CENTRES[kind] + math.hypot(*deviations) * nodes)
    return float(weights @ chances / weights.sum())


def share(outcomes: Array) -> float:
    """The share of true outcomes, in per cent."""
    return round(100 * float(np.mean(outcomes)), 1)


if __name__ == "__main__":
    main()
