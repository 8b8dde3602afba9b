"""The search for settings of the suite grue: four trials for each method of each task, on validation prompts.

python -m tools.studies.grue_search OUT [TASK ...]   (about an hour of one processor for all tasks; the same
                                                      command goes on with a stopped search)

python -m tools.studies.grue_search page             (prints the table of docs/grue.md)

When all methods of a task have ended, it writes their record into docs/results/grue-search.jsonl, and the
settings of their best trials into the suite, between the lines `# search: begin` and `# search: end`.
"""

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import yaml

from loquent.bench import crew, jobs
from loquent.bench import suite as suites
from loquent.bench.schema.suite_schema import Search
from loquent.bench.search.planning import plan
from loquent.bench.search.search import BEST, resume_search, search
from loquent.core.options import tree
from loquent.core.values import plain

HERE = Path(__file__).resolve().parents[2]
RECORD = HERE / "docs" / "results" / "grue-search.jsonl"
SUITE = HERE / "src" / "loquent" / "bench" / "suites" / "grue.yaml"
BEGIN, END = "    # search: begin", "    # search: end"
TASKS = ("imdb", "commongen", "cnn_daily_mail", "totto", "narrative_qa", "wmt16", "daily_dialog")
SUPERVISED = "supervised"  # the first method, because others start from its best model
SPACES = {
    SUPERVISED: ("algorithm.learning_rate=5e-4,1e-3,2e-3,4e-3",),
    **dict.fromkeys(
        ("ppo", "nlpo", "supervised-ppo", "supervised-nlpo"),
        ("algorithm.learning_rate=1.5e-4,4e-4", "algorithm.beta=0.01,0.05"),
    ),
}
"""Four trials of each method."""

LEAST = 10  # updates of a trial, which has half of those of its recipe
UNWATCHED = ("training.evaluate_every=0", "training.evaluate_first=false")
NOTE = (
    "seed 0 of the base model and of the supervised model, which has the settings of its own best trial; the "
    "value of a trial is the mean reward on validation prompts after half of the recipe's updates, at least "
    "10; of supervised training, that of the best checkpoint; two of its four trials go on after update 200"
)


def cells():
    """The cells that are searched: TASK-METHOD."""
    return [f"{task}-{method}" for task in TASKS for method in SPACES]


def suite_of(found):
    """The suite with the best settings of supervised models, and without another record."""
    suite = suites.load("grue")
    records = {
        suite.cells[cell].recipe: Search(
            set={path: tree(value, str(RECORD), None) for path, value in best_settings(results).items()},
            tuning=results.tuning,
        )
        for cell, results in found.items()
        if cell.partition("-")[2] == SUPERVISED
    }
    sized = dataclasses.replace(suite.profiles["cpu"], search=records)
    return dataclasses.replace(suite, profiles={**suite.profiles, "cpu": sized})


def best_settings(results):
    """The settings of the best trial by path."""
    return plain(results.journal.proposals[results.best])


def search_cell(cell, out, found):
    """Search the settings of a cell, from the models that the suite starts it from."""
    method, say = cell.partition("-")[2], lambda line: print(f"{cell}: {line}", flush=True)
    unsearched = {name: own for name, own in found.items() if name != cell}
    *starts, own = jobs.plan(suite_of(unsearched), out / "starts", "cpu", 1, {}, only=[cell]).jobs
    for outcome in crew.run(starts, 1, lambda job, outcome: None).values():
        if outcome.failure:
            raise SystemExit(f"{cell}: {outcome.failure}")
    supervised = method == SUPERVISED
    recipe = dataclasses.replace(own.recipe, tuning=None).replace(
        f"training.updates={max(LEAST, own.recipe.training.updates // 2)}", *(() if supervised else UNWATCHED)
    )
    planned = plan(recipe, SPACES[method], on="return", rungs="200" if supervised else "")
    begin = time.process_time()
    results = search(recipe, planned, out / cell, processes=1, say=say)
    if results.best is None:
        raise SystemExit(f"{cell}: all trials failed; {out / cell / 'search.jsonl'} says why")
    spent = out / cell / "processor_seconds"
    before = float(spent.read_text()) if spent.is_file() else 0.0
    spent.write_text(str(round(before + time.process_time() - begin, 1)))
    return results


def ended(out):
    """The results of all searches that have ended, by cell."""
    return {
        cell: resume_search(out / cell, processes=1, say=lambda line: None)
        for cell in cells()
        if (out / cell / BEST).is_file()
    }


def whole(found):
    """The searches of tasks whose methods have all ended: no method is tuned while another is not."""
    return {
        cell: found[cell]
        for cell in cells()
        if all(f"{cell.partition('-')[0]}-{method}" in found for method in SPACES)
    }


def line(out, found):
    """The record: for each cell its trials, the best one and what the search cost."""
    suite = suites.load("grue")
    record = {}
    for cell, results in found.items():
        own = {key: value for key, value in results.as_json().items() if key != "out"}
        spent = float((out / cell / "processor_seconds").read_text())
        record[cell] = {"recipe": suite.cells[cell].recipe, **own, "processor_seconds": spent}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE, check=True
    ).stdout.strip()
    return {
        "command": "python -m tools.studies.grue_search runs/grue-search",
        "commit": commit,
        "seconds": round(sum(one["tuning"]["seconds"] for one in record.values()), 1),
        "processor_seconds": round(sum(one["processor_seconds"] for one in record.values()), 1),
        "note": NOTE,
        "cells": record,
    }


def block(record):
    """The part of the suite that holds the best settings and what their search cost, by recipe."""
    yield BEGIN
    if record["cells"]:
        yield "    search:"
    for one in record["cells"].values():
        entry = {one["recipe"]: {"set": one["best"]["settings"], "tuning": one["tuning"]}}
        text = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10**6)
        yield f"      {text.strip()[1:-1]}"
    yield END


def in_suite():
    """The lines of the suite between the marks, with them."""
    lines = SUITE.read_text(encoding="utf-8").splitlines()
    return lines[lines.index(BEGIN) : lines.index(END) + 1]


def write(out, found):
    """Write the record, and the suite's part of it."""
    record = line(out, found)
    RECORD.write_text(json.dumps(record) + "\n", encoding="utf-8")
    before, after = "\n".join(in_suite()), "\n".join(block(record))
    SUITE.write_text(SUITE.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


def main(out, tasks):
    """Search what is missing, and write the record after each cell, with what other calls have searched."""
    for cell in cells():
        found = ended(out)
        if cell not in found and (not tasks or cell.partition("-")[0] in tasks):
            search_cell(cell, out, found)
            if searched := whole(ended(out)):
                write(out, searched)


def page():
    """The table of docs/grue.md, as Markdown."""
    yield "| | learning rate | weight of the KL | rewards of the trials | seconds |"
    yield "|---|---:|---:|---|---:|"
    for cell, one in json.loads(RECORD.read_text(encoding="utf-8"))["cells"].items():
        best = one["best"]["settings"]
        rewards = ", ".join(f"{trial['values'][-1]:.3f}" for trial in one["trials"])
        settings = (best.get(f"algorithm.{name}", "–") for name in ("learning_rate", "beta"))
        texts = (f"{value:.5f}".rstrip("0") if isinstance(value, float) else value for value in settings)
        yield f"| {cell} | {' | '.join(texts)} | {rewards} | {one['tuning']['seconds']:,.0f} |"


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        print(*page(), sep="\n")
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
