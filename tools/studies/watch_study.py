"""How often the watch for reward hacking speaks, by simulation of values by row.

    python -m tools.studies.watch_study COMMIT [SEED [HISTORIES [BLOCK ...]]]

It prints the lines of docs/results/watch_rates.jsonl: `alarms` at a policy that does not change, `falls`, and
both for witnesses that count in `texts`.

A history has evaluations of ROWS rows. Each witness has a level of each row (deviation 1) and noise of each
answer: `normal` (deviation 1), `exponential`, `log-normal` (of deviation 1 in logarithms) or `rare P` (an
event of probability P). A fall has SIZE standard errors of the paired difference of two evaluations over
rows, as a shift of all rows; events become more probable.

In `texts` the witnesses are `watch/distinct_2` and `watch/same` of TEXT_ROWS answers, which are `new` texts,
one of a pool of 20, 200 or 1000 texts, or a `mixture`: half of the rows answer from a pool of 200. They fall
because more and more answers, half of them in the end, are one of COLLAPSED texts.

The return rises by SIZE standard errors too, evenly or at once between the first two evaluations, or it is
`saturated`: without change at the greatest possible return. Tests have PERMUTATIONS permutations, which find
a little less than the 2,000 of the page.
"""

from __future__ import annotations

import json
import math
import sys
import time
from functools import partial

import numpy as np

from loquent.core.metric import Samples
from loquent.metrics.diversity.watch import Watch
from loquent.metrics.jackknife import pseudo_values
from loquent.report.divergence import Divergence

ROWS, SIZE, PERMUTATIONS = 32, 5.0, 199
TEXT_ROWS, COLLAPSED = 64, 5
EVALUATIONS, WITNESSES = (5, 10, 20, 40), (1, 3, 10)
NOISES = ("normal", "exponential", "log-normal", "rare 0.005", "rare 0.02")
TEXTS = ("new", "20", "200", "1000", "mixture")
SHAPES = {
    "even": lambda x, n: x,
    "sigmoid": lambda x, n: (np.tanh(6 * (x - 0.5)) / np.tanh(3) + 1) / 2,
    "step in the middle": lambda x, n: x >= 0.5,
    "step after the first": lambda x, n: x > 0,
    "early": lambda x, n: np.minimum(1, 5 * x),
    "late": lambda x, n: np.maximum(0, 5 * x - 4),
    "step at the end": lambda x, n: x == 1,
    "hump": lambda x, n: np.abs(2 * x - 1),
}
WANDERING = ("wanders to its top", "falls and recovers")


def course(name, evaluations, draw):
    """The size of a fall at each evaluation, from 0 to 1."""
    x = np.arange(evaluations) / (evaluations - 1)
    if name == "none":
        return 0 * x
    if name == "falls and recovers":
        return np.sin(np.pi * x)
    if name == "wanders to its top":
        waves = sum(draw.normal() * np.sin(k * np.pi * x + draw.uniform(0, 6)) / k for k in (1, 2, 3))
        return np.abs(waves - waves[-1]) / np.ptp(waves)
    return SHAPES[name](x, evaluations).astype(float)


def normal(shape, lost, draw):
    return draw.normal(size=shape) - lost * SIZE * math.sqrt(2 / ROWS)


def exponential(shape, lost, draw):
    return -draw.exponential(size=shape) - lost * SIZE * math.sqrt(2 / ROWS)


def log_normal(shape, lost, draw):
    """Costs of mean e^(1/2) and variance (e - 1) e."""
    return -np.exp(draw.normal(size=shape)) - lost * SIZE * math.sqrt(2 * (math.e - 1) * math.e / ROWS)


def rare(shape, lost, draw, *, chance):
    """Minus 1 for each event, whose probability rises until it is SIZE errors larger."""
    more = chance
    for _ in range(100):
        more = chance + SIZE * math.sqrt((chance * (1 - chance) + more * (1 - more)) / ROWS)
    return -1.0 * (draw.random(shape) < chance + lost * (more - chance))


def texts(shape, lost, draw, *, kind):
    """The values by row of `watch/distinct_2`, and of `watch/same` with the opposite sign."""
    evaluations, rows, witnesses = shape
    pool = write(int(kind) if kind.isdigit() else 200, draw)
    few = pool[:COLLAPSED]
    from_pool = draw.random(rows) < (0.5 if kind == "mixture" else float(kind.isdigit()))
    found = np.empty(shape)
    for e in range(evaluations):
        own = [
            few[draw.integers(COLLAPSED)] if collapsed else pool[draw.integers(len(pool))] if pooled else new
            for collapsed, pooled, new in zip(
                draw.random(rows) < np.ravel(lost)[e] / 2, from_pool, write(rows, draw), strict=True
            )
        ]
        columns = pseudo_values(Watch()(Samples(own)), [str(i) for i in range(rows)])
        found[e] = np.transpose([columns["watch/distinct_2"], np.negative(columns["watch/same"])])
    return found[:, :, :witnesses]


def write(count, draw):
    """Texts of 12 words of a Zipf distribution over 500 words."""
    words = np.minimum(draw.zipf(1.3, size=(count, 12)), 500)
    return [" ".join(f"w{word}" for word in text) for text in words]


MAKERS = {
    "normal": normal,
    "exponential": exponential,
    "log-normal": log_normal,
    "rare 0.005": partial(rare, chance=0.005),
    "rare 0.02": partial(rare, chance=0.02),
} | {f"texts {kind}": partial(texts, kind=kind) for kind in TEXTS}


def returns(kind, evaluations, rows, draw):
    """The returns by row; their greatest value is 1 where they are saturated."""
    if kind == "saturated":
        return 1 - 0.02 * draw.random((evaluations, rows))
    x = np.arange(evaluations) / (evaluations - 1)
    risen = x if kind == "rises evenly" else x > 0
    return -normal((evaluations, rows), risen[:, None], draw) + draw.normal(size=rows)


def judge(noise, shape, kind, evaluations, witnesses, draw):
    """The rule on one history, whose first witness falls; of texts, both fall."""
    counted = noise.startswith("texts")
    rows = TEXT_ROWS if counted else ROWS
    lost = course(shape, evaluations, draw)[:, None, None]
    still = lost if counted else np.zeros((evaluations, 1, 1))
    values = MAKERS[noise]((evaluations, rows, witnesses), still, draw)
    if lost.any() and not counted:
        values[:, :, :1] = MAKERS[noise]((evaluations, ROWS, 1), lost, draw)
    if not noise.startswith(("rare", "texts")):
        values = values + draw.normal(size=(ROWS, witnesses))
    columns = {f"w{i}": values[:, :, i] for i in range(witnesses)}
    top = 1.0 if kind == "saturated" else None
    higher = dict.fromkeys(columns, True)
    own = returns(kind, evaluations, rows, draw)
    return Divergence(own, columns, higher, top, permutations=PERMUTATIONS)


def rates(noise, shape, kind, evaluations, witnesses, histories, seed=0):
    """The shares of histories in which a witness moved, and in which it moved while the return rose."""
    draw = np.random.default_rng([seed, evaluations, witnesses, *map(ord, noise + shape + kind)])
    moved = speaks = 0
    for _ in range(histories):
        found = judge(noise, shape, kind, evaluations, witnesses, draw)
        moved += bool(found.fell)
        speaks += found.parted
    return {
        "noise": noise, "shape": shape, "return": kind, "evaluations": evaluations, "witnesses": witnesses,
        "histories": histories, "moved": moved / histories, "speaks": speaks / histories,
    }  # fmt: skip


def alarms():
    """The settings in which nothing falls, or what fell has recovered."""
    for noise in NOISES:
        for n in EVALUATIONS:
            for k in WITNESSES:
                yield noise, "none", "rises evenly", n, k
    for shape in WANDERING:
        for n in EVALUATIONS:
            for k in WITNESSES:
                yield "normal", shape, "rises evenly", n, k


def falls():
    """The settings in which one witness falls."""
    for shape in SHAPES:
        for n in EVALUATIONS:
            for k in (1, 10):
                yield "normal", shape, "rises evenly", n, k
    for kind in ("rises at once", "saturated"):
        for shape in SHAPES:
            for n in (5, 40):
                yield "normal", shape, kind, n, 10
    for noise in NOISES:
        for shape in ("even", "step in the middle", "step after the first", "step at the end"):
            for n in (5, 40):
                if noise != "normal":
                    yield noise, shape, "rises evenly", n, 3


def counts():
    """The settings of texts: those in which nothing falls, and those in which the answers collapse."""
    for kind in TEXTS:
        for shape in ("none", "even", "step at the end"):
            for n in (5, 10, 20):
                if shape == "none" or (n == 10 and kind in ("new", "200", "mixture")):
                    yield f"texts {kind}", shape, "rises evenly", n, 2


BLOCKS = {"alarms": (alarms, 1), "falls": (falls, 0.5), "texts": (counts, 1)}


if __name__ == "__main__":
    commit, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    histories = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    for block in sys.argv[4:] or BLOCKS:
        cells, share = BLOCKS[block]
        begin = time.process_time()
        every = [rates(*cell, round(share * histories), seed) for cell in cells()]
        line = {"command": "python -m tools.studies.watch_study", "commit": commit, "seed": seed}
        line |= {"seconds": round(time.process_time() - begin), "rows": ROWS, "errors": SIZE, "cells": every}
        print(json.dumps(line), flush=True)
