"""The main results of a folder of the suite grue as a line of docs/results/grue.jsonl.

python -m tools.studies.grue_tables FOLDER COMMIT SECONDS [NOTE]

`python -m tools.pages docs/grue.md` makes the tables of the page from it.
"""

import json
import sys
from pathlib import Path
from statistics import fmean

METHODS = ("zero-shot", "supervised", "ppo", "nlpo", "supervised-ppo", "supervised-nlpo")
OUTCOMES = {"wins": "win", "losses": "loss"}


def cells(made):
    """By task and method: the mean reward over the seeds, what it is worth, all values, seconds and care.

    One seed has the standard error over test rows, several have their interval over seeds.
    """
    found = {}
    for table in made["tables"]:
        if not table["title"].startswith(("Figure", "Table")):
            of_task = {name.partition("-")[2]: made["cells"][name] for name in table["cells"]}
            found[table["title"]] = {
                method: {
                    **_reward(cell),
                    "values": {name: fmean(own.values()) for name, own in cell["values"].items() if own},
                    "seconds": cell["seconds"],
                    "care": cell["care"],
                }
                for method, cell in of_task.items()
            }
    return found


def _reward(cell):
    values, interval = cell["values"]["reward"], cell["intervals"]["reward"]
    found = {"reward": fmean(values.values()), "n": len(values)}
    if len(values) == 1:
        return found | {"error": next(iter(cell["errors"]["reward"].values()))}
    return found | {"low": interval["low"], "high": interval["high"]}


def stopped(made):
    """By run of supervised training: the update kept and its reward, the last update and its reward."""
    found = {}
    for folder, run in made["stopping"].items():
        values = dict(map(tuple, run["course"]))
        ends = {"value": values.get(run["kept"]), "last": run["last"], "last_value": run["course"][-1][1]}
        found[folder] = {"kept": run["kept"], **ends}
    return found


def claims(made):
    """By claim: wins, losses, what is neither, the tasks won, and the difference on each task."""
    found = {}
    for tally in made["tallies"]:
        tasks = {
            one["task"]: {"difference": one["difference"]["mean"] if one["difference"] else None}
            | {name: one[name] for name in ("outcome", "error", "paper")}
            for one in tally["tasks"]
        }
        outcomes = [one["outcome"] for one in tasks.values()]
        counts = {name: outcomes.count(outcome) for name, outcome in OUTCOMES.items()}
        won = ", ".join(name for name, one in tasks.items() if one["outcome"] == "win") or "–"
        neither = len(outcomes) - sum(counts.values())
        found[tally["claim"]] = {**counts, "neither": neither, "won": won, "tasks": tasks}
    return found


def main(folder, commit, seconds, note=""):
    """Print the line."""
    made = json.loads((folder / "table.json").read_text())
    head = {"command": "loquent bench grue --profile cpu --processes 2", "commit": commit}
    line = head | {"seconds": float(seconds), "note": note, "cells": cells(made), "claims": claims(made)}
    line |= {"stopped": stopped(made)}
    print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
