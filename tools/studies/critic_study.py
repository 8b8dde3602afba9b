"""The discount and the critic's learning rate of PPO, NLPO, A2C and TRPO, on the tasks of `learning_study`.

The settings, the GPT-2-shaped model, and the prompts are those of the study of learners; a variant
changes one setting. Its lines are in docs/results/critics.jsonl, its tables in docs/learners.md.

Run: python -m tools.studies.critic_study               (everything)
     python -m tools.studies.critic_study dates ppo     (only these tasks and learners)
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tools.studies.learning_study import DOCS, LEARNERS, TASKS, base, outcome, recipe_of, trained
from tools.studies.learning_study import write_texts as write

RESULTS = DOCS / "results" / "critics.jsonl"
SEEDS = {"increasing_numbers": range(3), "dates": range(6)}
VARIED = ("ppo", "nlpo", "a2c", "trpo")
RATED = ("ppo", "a2c")  # learners whose critic gets other rates
FACTORS = {"3 times": 3.0, "10 times": 10.0}
LAST = 5  # updates that the explained variance is a mean of


def variants(learner: str) -> dict[str, Mapping[str, Any]]:
    """The changed settings of a learner, by the row of the table."""
    rates = FACTORS if learner in RATED else {}
    rate = LEARNERS[learner]["learning_rate"]
    return {
        learner: {},
        f"{learner}, gamma 0.99": {"gamma": 0.99},
        **{
            f"{learner}, critic's rate {name}": {"critic_learning_rate": rate * by}
            for name, by in rates.items()
        },
    }


def measure(recipe: Any, task: str, folder: Path) -> dict[str, Any]:
    """The figures of a run, with what its critic explains at the end."""
    run = trained(recipe, folder)
    explained = [line["critic/explained_variance"] for line in run.metrics if line["update"]][-LAST:]
    return {**outcome(run, task), "explained": [share for share in explained if share is not None]}


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The means over the seeds of a variant."""
    return {
        "reward": fmean(run["reward"] for run in runs),
        "deviation": stdev(run["reward"] for run in runs),
        "validation": fmean(run["curve"][-1][1] for run in runs),
        "explained": fmean(share for run in runs for share in run["explained"]),
        "kl": fmean(run["kl"] for run in runs),
        "runs": list(runs),
    }


def study(task: str, learners: Sequence[str]) -> None:
    """Train the variants of the learners that the results lack, with every seed, and keep each at its end."""
    kept = next((record["variants"] for record in records() if record["task"] == task), {})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder)
        model = base("gpt2", task, folder)
        for learner in learners:
            for name, changed in variants(learner).items():
                if name in kept:
                    continue
                begun = time.perf_counter()
                overrides = [f"algorithm.{setting}={value}" for setting, value in changed.items()]
                recipes = [recipe_of(learner, "gpt2", task, model, seed, folder) for seed in SEEDS[task]]
                found = summary([measure(made.replace(*overrides), task, folder) for made in recipes])
                keep(task, name, {**found, "seconds": round(time.perf_counter() - begun, 1)})
                sys.stdout.write(f"{task} {name} {found['reward']:.3f} {found['validation']:.3f}\n")
                sys.stdout.flush()


def records() -> list[dict[str, Any]]:
    """The kept results, a record for each task."""
    return [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []


def keep(task: str, name: str, found: Mapping[str, Any]) -> None:
    """Add a variant to the results of its task."""
    every = records()
    record = next((old for old in every if old["task"] == task), None)
    if record is None:
        every.append(record := {"task": task, "variants": {}})
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    record |= {"command": f"python -m tools.studies.critic_study {task}", "commit": commit.stdout.strip()}
    base = record["variants"].get(name.partition(",")[0], found)
    gains = [run["reward"] - old["reward"] for run, old in zip(found["runs"], base["runs"], strict=True)]
    error = stdev(gains) / math.sqrt(len(gains))
    record["variants"][name] = {**found, "difference": fmean(gains), "difference/error": error}
    record["seconds"] = round(sum(variant["seconds"] for variant in record["variants"].values()), 1)
    RESULTS.write_text("".join(json.dumps(one) + "\n" for one in every), encoding="utf-8")


def main() -> None:
    """Run the study or the named parts of it, and write the results."""
    names = sys.argv[1:]
    tasks, learners = ([name for name in every if name in names] or list(every) for every in (TASKS, VARIED))
    for task in tasks:
        study(task, learners)


if __name__ == "__main__":
    main()
