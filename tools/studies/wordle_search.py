"""The search for the learning rates of the suite ilql-wordle: the same trials for every cell that learns.

python -m tools.studies.wordle_search OUT [CELL ...]   (the same command goes on with a stopped search)

When all cells have ended, it writes their record into docs/results/ilql-wordle-search.jsonl, and each best
rate into the suite, between the lines `# search: begin` and `# search: end`.
"""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

from loquent.bench import crew, jobs
from loquent.bench import suite as suites
from loquent.bench.schema.suite_schema import Search
from loquent.bench.search.planning import plan
from loquent.bench.search.search import search
from loquent.core.options import tree
from tools.studies.grue_search import HERE, best_settings, block

RECORD = HERE / "docs" / "results" / "ilql-wordle-search.jsonl"
SUITE = HERE / "src" / "loquent" / "bench" / "suites" / "ilql-wordle.yaml"
BEGIN, END = "    # search: begin", "    # search: end"
SPACE = ("algorithm.learning_rate=5e-4,1e-3,2e-3",)
NOTE = (
    "seed 0; the value of a trial is the mean return of 1,000 games on the rows of validation after all of "
    "the recipe's updates; learners of values start from the clone with its best rate"
)


def cells():
    """The cells that learn; the clone, from which others start, stands first."""
    trained = ((name, cell) for name, cell in suites.load("ilql-wordle").cells.items() if not cell.agent)
    updates = ((name, cell.set.get("training.updates")) for name, cell in trained)
    return [name for name, own in updates if own is None or own.value]


def suite_of(found):
    """The suite with the best settings of the cells that have been searched, and without another record."""
    suite = suites.load("ilql-wordle")
    records = {
        cell: Search(
            set={path: tree(value, str(RECORD), None) for path, value in best_settings(results).items()},
            tuning=results.tuning,
        )
        for cell, results in found.items()
    }
    sized = dataclasses.replace(suite.profiles["cpu"], search=records)
    return dataclasses.replace(suite, profiles={**suite.profiles, "cpu": sized})


def search_cell(cell, out, found, changes=()):
    """Search the settings of a cell, from the model and the games that the suite gives it."""
    suite = suite_of(found)
    overrides = jobs.by_entry(changes, list(suite.entries), list(suite.data))
    *starts, own = jobs.plan(suite, out / "starts", "cpu", 1, overrides, only=[cell]).jobs
    for outcome in crew.run(starts, 1, lambda job, outcome: None).values():
        if outcome.failure:
            raise SystemExit(f"{cell}: {outcome.failure}")
    planned = plan(own.recipe, SPACE, on="return")
    results = search(own.recipe, planned, out / cell, processes=1, say=lambda line: print(cell, line))
    if results.best is None:
        raise SystemExit(f"{cell}: all trials failed; {out / cell / 'search.jsonl'} says why")
    return results


def line(found):
    """The record: for each cell its trials, the best one and what the search cost."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE, check=True
    ).stdout.strip()
    record = {
        cell: {"recipe": cell, **{key: value for key, value in results.as_json().items() if key != "out"}}
        for cell, results in found.items()
    }
    return {
        "command": "python -m tools.studies.wordle_search runs/wordle-search",
        "commit": commit,
        "seconds": round(sum(one["tuning"]["seconds"] for one in record.values()), 1),
        "note": NOTE,
        "cells": record,
    }


def in_suite():
    """The lines of the suite between the marks, with them."""
    lines = SUITE.read_text(encoding="utf-8").splitlines()
    return lines[lines.index(BEGIN) : lines.index(END) + 1]


def main(out, only):
    """Search each cell, or what was given; a search that has ended is read again."""
    found = {}
    for cell in cells():
        if not only or cell in only or cell == cells()[0]:
            found[cell] = search_cell(cell, out, found)
    if list(found) == cells():
        record = line(found)
        RECORD.write_text(json.dumps(record) + "\n", encoding="utf-8")
        before, after = "\n".join(in_suite()), "\n".join(block(record))
        SUITE.write_text(SUITE.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
