"""The main tables of a folder of the suite grue: a line of docs/results/grue.jsonl, rows of docs/grue.md.

python -m tools.studies.grue_tables FOLDER COMMIT SECONDS [NOTE]

It prints the line, and on the standard error both tables of the page.
"""

import json
import sys
from pathlib import Path

METHODS = ("zero-shot", "supervised", "ppo", "nlpo", "supervised-ppo", "supervised-nlpo")
OUTCOMES = {"wins": "win", "losses": "loss"}


def cells(made):
    """By task and method: the mean reward, its standard error over test rows, all values, the seconds."""
    found = {}
    for table in made["tables"]:
        if not table["title"].startswith(("Figure", "Table")):
            of_task = {name.partition("-")[2]: made["cells"][name] for name in table["cells"]}
            found[table["title"]] = {
                method: {
                    "reward": cell["values"]["reward"]["0"],
                    "error": cell["errors"]["reward"]["0"],
                    "values": {name: value["0"] for name, value in cell["values"].items() if "0" in value},
                    "seconds": cell["seconds"],
                }
                for method, cell in of_task.items()
            }
    return found


def claims(made):
    """By claim: wins, losses, what is neither, and the difference on each task."""
    found = {}
    for tally in made["tallies"]:
        tasks = {
            one["task"]: {"difference": one["difference"]["mean"]}
            | {name: one[name] for name in ("outcome", "error", "paper")}
            for one in tally["tasks"]
        }
        outcomes = [one["outcome"] for one in tasks.values()]
        counts = {name: outcomes.count(outcome) for name, outcome in OUTCOMES.items()}
        found[tally["claim"]] = {**counts, "neither": len(outcomes) - sum(counts.values()), "tasks": tasks}
    return found


def page(line):
    """Both tables in Markdown."""
    yield "| | zero-shot | supervised | PPO | NLPO | supervised + PPO | supervised + NLPO |"
    yield "|---|" + "---:|" * len(METHODS)
    for task, row in line["cells"].items():
        texts = (f"{row[name]['reward']:.3f} ± {row[name]['error']:.3f}" for name in METHODS)
        yield f"| {task} | " + " | ".join(texts) + " |"
    yield "\n| | wins | losses | neither | wins on |\n|---|---:|---:|---:|---|"
    for claim, found in line["claims"].items():
        won = ", ".join(name for name, one in found["tasks"].items() if one["outcome"] == "win") or "–"
        yield f"| {claim} | {found['wins']} | {found['losses']} | {found['neither']} | {won} |"


def main(folder, commit, seconds, note=""):
    """Print the line and the tables."""
    made = json.loads((folder / "table.json").read_text())
    head = {"command": "loquent bench grue --profile cpu --processes 2", "commit": commit}
    line = head | {"seconds": float(seconds), "note": note, "cells": cells(made), "claims": claims(made)}
    print(json.dumps(line, ensure_ascii=False))
    print(*page(line), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
