"""What the watch for reward hacking says of real runs: ten shipped recipes, and ten seeds of one without a
penalty.

    python -m tools.studies.watch_runs COMMIT OUT

It prints a line of docs/results/watch_runs.jsonl for each run. OUT gets the base model, and the runs that
start from it; a run that is there already is not trained again.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import loquent
from loquent.report import witnesses
from loquent.report.groups import read
from loquent.report.keys import directions, logged_keys

SHIPPED = (
    "reviews_ppo", "reviews_nlpo", "reviews_grpo", "reviews_rloo", "reviews_composed", "reviews_online_dpo",
    "reviews_trpo", "reviews_rest", "reviews_a2c", "orders_grpo",
)  # fmt: skip
HACKED = "reviews_ppo_no_kl"
BASES = {"orders_grpo": "orders_supervised"}


def train(recipe, seed, out):
    """The folder of a run from the base model of its task."""
    folder = out / f"{recipe}-{seed}"
    if not (folder / "evaluation.json").is_file():
        model = base(BASES.get(recipe, "reviews_base"), out)
        settings = [f"model.path={model}", f"training.seed={seed}", "training.final_episodes=16"]
        loquent.train(recipe, folder, settings, progress=False)
    return folder


def base(recipe, out):
    folder = out / recipe
    return folder if folder.is_dir() else loquent.train(recipe, folder, progress=False).folder


def verdict(folder):
    """The return, the values that fell, and what the page calls them."""
    [group] = groups = read([folder])
    found = witnesses.judge(group, logged_keys(groups), directions(groups)).divergence
    moves = [{**asdict(one), "deep": one.deep} for one in (found.rise, *found.falls)]
    kinds = ("hacked", found.hacked), ("price", found.parted), ("fell", bool(found.fell))
    outcome = next((kind for kind, holds in kinds if holds), "calm")
    return {"outcome": outcome, "saturated": found.saturated, "changes": moves}


def main(commit, out):
    for recipe, seed in chain.from_iterable(((HACKED, i), (recipe, 0)) for i, recipe in enumerate(SHIPPED)):
        begin = time.process_time()
        folder = train(recipe, seed, out)
        line = {"command": "python -m tools.studies.watch_runs", "commit": commit}
        line |= {"seconds": round(time.process_time() - begin), "recipe": recipe, "seed": seed}
        print(json.dumps(line | verdict(folder)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
