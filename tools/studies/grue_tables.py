"""The main tables of a folder of the suite grue: a line of docs/results/grue.jsonl, rows of docs/grue.md.

python -m tools.studies.grue_tables FOLDER COMMIT SECONDS [NOTE]

It prints the line, and on the standard error the tables of the page: rewards, claims, and where supervised
training stopped.
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
    """By claim: wins, losses, what is neither, and the difference on each task."""
    found = {}
    for tally in made["tallies"]:
        tasks = {
            one["task"]: {"difference": one["difference"]["mean"] if one["difference"] else None}
            | {name: one[name] for name in ("outcome", "error", "paper")}
            for one in tally["tasks"]
        }
        outcomes = [one["outcome"] for one in tasks.values()]
        counts = {name: outcomes.count(outcome) for name, outcome in OUTCOMES.items()}
        found[tally["claim"]] = {**counts, "neither": len(outcomes) - sum(counts.values()), "tasks": tasks}
    return found


def page(line):
    """The tables in Markdown."""
    yield "| | zero-shot | supervised | PPO | NLPO | supervised + PPO | supervised + NLPO | seeds |"
    yield "|---|" + "---:|" * (len(METHODS) + 1)
    for task, row in line["cells"].items():
        texts = [_text(row[name]) for name in METHODS]
        yield f"| {task} | " + " | ".join(texts) + f" | {row['ppo']['n']} |"
    yield "\n| | wins | losses | neither | wins on |\n|---|---:|---:|---:|---|"
    for claim, found in line["claims"].items():
        won = ", ".join(name for name, one in found["tasks"].items() if one["outcome"] == "win") or "–"
        yield f"| {claim} | {found['wins']} | {found['losses']} | {found['neither']} | {won} |"
    yield "\n| | update kept | its reward | last update | its reward |\n|---|---:|---:|---:|---:|"
    for folder, run in line["stopped"].items():
        yield f"| {folder} | {run['kept']} | {run['value']:.3f} | {run['last']} | {run['last_value']:.3f} |"


def _text(cell):
    if cell["n"] == 1:
        return f"{cell['reward']:.3f} ± {cell['error']:.3f}"
    ends = "" if cell["low"] is None else f" [{cell['low']:.3f}, {cell['high']:.3f}]"
    return f"{cell['reward']:.3f}{ends}"


def main(folder, commit, seconds, note=""):
    """Print the line and the tables."""
    made = json.loads((folder / "table.json").read_text())
    head = {"command": "loquent bench grue --profile cpu --processes 2", "commit": commit}
    line = head | {"seconds": float(seconds), "note": note, "cells": cells(made), "claims": claims(made)}
    line |= {"stopped": stopped(made)}
    print(json.dumps(line, ensure_ascii=False))
    print(*page(line), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
