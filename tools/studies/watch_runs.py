"""What the watch for reward hacking says of real runs: ten shipped recipes, and ten seeds of one without a
penalty.

    python -m tools.studies.watch_runs COMMIT OUT

It prints a line of docs/results/watch_runs.jsonl for each run, with the seconds of its training. OUT gets the
base models, and the runs that start from them; a run that is there already is not trained again.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import loquent
from loquent.report import witnesses
from loquent.report.groups import read
from loquent.report.keys import directions, logged_keys
from loquent.report.runs import ReportedRun

SHIPPED = (
    "reviews_ppo", "reviews_nlpo", "reviews_grpo", "reviews_rloo", "reviews_composed", "reviews_online_dpo",
    "reviews_trpo", "reviews_rest", "reviews_a2c", "orders_grpo",
)  # fmt: skip
HACKED, SEEDS = "reviews_ppo_no_kl", 10
START = {"orders_grpo": "orders_supervised"}
BASES = 5  # runs with the seeds i and i + 5 start from the base model with seed i


def train(recipe, seed, out):
    """The folder of a run from one of the base models of its task."""
    folder = out / f"{recipe}-{seed}"
    if not (folder / "evaluation.json").is_file():
        model = base(START.get(recipe, "reviews_base"), seed % BASES, out)
        settings = [f"model.path={model}", f"training.seed={seed}", "training.final_episodes=16"]
        loquent.train(recipe, folder, settings, progress=False)
    return folder


def base(recipe, seed, out):
    folder = out / f"{recipe}-{seed}"
    if not folder.is_dir():
        loquent.train(recipe, folder, [f"training.seed={seed}"], progress=False)
    return folder


def verdict(folder):
    """The return, the values that fell, and what the page calls them."""
    [group] = groups = read([folder])
    found = witnesses.judge(group, logged_keys(groups), directions(groups)).divergence
    moves = [{**asdict(one), "deep": one.deep} for one in (found.rise, *found.falls)]
    kinds = ("hacked", found.hacked), ("price", found.parted), ("fell", bool(found.fell))
    outcome = next((kind for kind, holds in kinds if holds), "calm")
    return {"outcome": outcome, "saturated": found.saturated, "changes": moves}


def runs():
    """The recipes and seeds of the study."""
    return [*((HACKED, seed) for seed in range(SEEDS)), *((recipe, 0) for recipe in SHIPPED)]


def line(folder, recipe, seed, commit):
    """The record of a run. Its seconds are those of its training and evaluations, by the clock."""
    times = chain.from_iterable(one.items() for one in ReportedRun(folder).timings)
    seconds = round(sum(value for name, value in times if name != "update"))
    record = {"command": "python -m tools.studies.watch_runs", "commit": commit, "seconds": seconds}
    return record | {"recipe": recipe, "seed": seed} | verdict(folder)


def main(commit, out):
    for recipe, seed in runs():
        print(json.dumps(line(train(recipe, seed, out), recipe, seed, commit)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
