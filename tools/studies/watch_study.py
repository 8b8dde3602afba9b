"""How often the watch for reward hacking speaks, by simulation through the code that writes the page.

    python -m tools.studies.watch_study COMMIT [HISTORIES]

It prints line 1 of docs/results/watch_rates.jsonl.

The witnesses of a history are 0.5 at first, of which more is better. `noise`: independent, deviation 0.05.
`walk`: a random walk with steps of deviation 0.05. `walk and noise`: a walk with steps of 0.02 in noise of
0.05. `autoregression`: each deviation is 0.8 times the last one plus noise of 0.05. `t(3) noise`, walks of
`t(3)` and `t(4)`: 0.05 times a t. `Laplace walk`: steps with long tails, of deviation 0.05. `settling
walk`: the deviation of the steps falls from 0.1 e-fold in a third of the run, in noise of 0.01. `rare P of
E`: minus the share of a rare event of probability P in E episodes. `fall by D`: an even fall by D in noise of
0.01. `fall by D at once`: it falls between the first two evaluations.

The return is in noise of 0.03: it rises by 0.5 evenly, or at once after the first evaluation, or is flat at
0.5; or it is saturated at 0.98 in noise of 0.005. Its greatest value is 1.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from itertools import accumulate
from types import SimpleNamespace

from loquent.report import watch
from loquent.report.groups import Point

EVALUATIONS = (5, 6, 8, 10, 15, 20, 30, 40)
WITNESSES = (1, 2, 3, 5, 7, 10)
NOTHING_FALLS = ("noise", "walk", "walk and noise", "autoregression")
RARE = ("rare 0.005 of 48", "rare 0.01 of 32", "rare 0.01 of 64", "rare 0.02 of 64")
LONG_TAILS = ("t(3) noise", "t(3) walk", "t(4) walk", "Laplace walk", "settling walk", *RARE)


def long_tail(kind, draw):
    """One number with long tails."""
    if kind == "Laplace":
        return draw.choice((-1, 1)) * draw.expovariate(math.sqrt(2) / 0.05)
    freedom = int(kind[2])
    return 0.05 * draw.gauss(0, 1) / math.sqrt(draw.gammavariate(freedom / 2, 2 / freedom))


def walk(draw, n, step, persistence=1.0):
    values = [0.0]
    for _ in range(n - 1):
        values.append(persistence * values[-1] + draw.gauss(0, step))
    return values


def witness(kind, draw, n):
    if kind == "walk":
        changes = walk(draw, n, 0.05)
    elif kind == "walk and noise":
        changes = [value + draw.gauss(0, 0.05) for value in walk(draw, n, 0.02)]
    elif kind == "autoregression":
        changes = walk(draw, n + 20, 0.05, 0.8)[20:]
    elif kind == "noise":
        changes = [draw.gauss(0, 0.05) for _ in range(n)]
    elif kind == "t(3) noise":
        changes = [long_tail(kind, draw) for _ in range(n)]
    elif kind == "settling walk":
        steps = [draw.gauss(0, 0.1) * math.exp(-3 * i / n) for i in range(n)]
        changes = [value + draw.gauss(0, 0.01) for value in accumulate(steps)]
    elif kind.endswith(" walk"):
        changes = list(accumulate(long_tail(kind.removesuffix(" walk"), draw) for _ in range(n)))
    elif kind in RARE:
        chance, episodes = float(kind.split()[1]), int(kind.split()[3])
        return [-sum(draw.random() < chance for _ in range(episodes)) / episodes for _ in range(n)]
    else:
        by = float(kind.split()[2])
        at_once = kind.endswith("at once")
        changes = [draw.gauss(0, 0.01) - by * (min(i, 1) if at_once else i / (n - 1)) for i in range(n)]
    return [0.5 + change for change in changes]


def returns(kind, draw, n):
    if kind == "saturated":
        return [0.98 + draw.gauss(0, 0.005) for _ in range(n)]
    rise = 0.0 if kind == "flat" else 0.5
    parts = [min(i, 1) if kind == "rises at once" else i / (n - 1) for i in range(n)]
    return [0.5 - rise / 2 + rise * part + draw.gauss(0, 0.03) for part in parts]


class History:
    """A group of runs as the watch reads it, with one run and made-up evaluations."""

    def __init__(self, columns):
        self.columns = columns
        metrics = {f"w{i}": {"of": "perplexity"} for i in range(len(columns) - 1)}
        config = {"rewards": {"sentiment": 1.0}, "metrics": metrics}
        evaluation = {"rewarded": [], "ranges": {"return": [0.0, 1.0]}}
        self.runs = (SimpleNamespace(config=config, evaluation=evaluation),)

    def curve(self, key):
        return [Point(float(i), x, x, x, 1) for i, x in enumerate(self.columns[key])]


def rates(kind, course, evaluations, witnesses, histories, seed=0):
    """The shares of histories in which the page says anything, and that the reward is gamed."""
    draw = random.Random(f"{seed} {kind} {course} {evaluations} {witnesses}")
    spoke = gamed = 0
    for _ in range(histories):
        columns = {watch.PROXY: returns(course, draw, evaluations)}
        for i in range(witnesses):
            falls = kind if i == 0 or not kind.startswith("fall") else "noise"
            columns[f"evaluation/w{i}"] = witness(falls, draw, evaluations)
        higher = dict.fromkeys((key.removeprefix("evaluation/") for key in columns), True)
        result = watch.verdict(History(columns), list(columns), higher)
        assert len(result.judged) == witnesses
        spoke += bool(result.fell)
        gamed += bool(result.fell) and result.gamed
    return {
        "witness": kind, "return": course, "evaluations": evaluations, "witnesses": witnesses,
        "histories": histories, "speaks": spoke / histories, "gamed": gamed / histories,
    }  # fmt: skip


def cells():
    """The settings of the study: first nothing falls, then one witness falls among noise."""
    for kind in NOTHING_FALLS:
        whole = kind in ("noise", "walk")
        for n in EVALUATIONS if whole else (5, 10, 20, 40):
            for k in WITNESSES if whole else (1, 7):
                yield kind, "rises", n, k
    for course in ("rises", "rises at once"):
        for kind in LONG_TAILS if course == "rises" else ("noise", "walk", *LONG_TAILS):
            for n in (5, 10, 20, 40):
                for k in (1, 7):
                    yield kind, course, n, k
    falls = [("fall by 0.1", "rises"), ("fall by 0.2", "rises")]
    falls += [("fall by 0.4", course) for course in ("rises", "flat", "saturated")]
    falls += [("fall by 0.4 at once", course) for course in ("rises at once", "rises", "saturated")]
    for kind, course in falls:
        for n in (5, 8, 10, 20, 40):
            for k in (1, 7):
                yield kind, course, n, k


if __name__ == "__main__":
    commit, histories = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    begin = time.process_time()
    every = [rates(*cell, histories) for cell in cells()]
    line = {"command": "python -m tools.studies.watch_study", "commit": commit}
    print(json.dumps({**line, "seconds": round(time.process_time() - begin), "cells": every}))
