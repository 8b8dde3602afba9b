"""What the profiles of suites cost, from the estimate of the largest cell of each recipe.

    PYTHONPATH=src:. python -m tools.studies.suite_costs SUITE PROFILE [OVERRIDE...]

It prints a line for docs/results/costs.jsonl. Overrides name local folders in place of what is not on this
machine.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from loquent.bench import jobs
from loquent.bench import suite as suites
from loquent.bench.costs import costs
from loquent.bench.jobs import Job

OUT = "runs/costs"  # nothing is written there


def cost(name, profile, overrides=()):
    """The cost of a profile: runs, updates, hours one after the other, the largest peak, what is unknown."""
    whole, begun = suites.load(name), time.perf_counter()
    by_entry = jobs.by_entry(overrides, [*whole.entries], [*whole.data])
    plan = jobs.plan(whole, Path(OUT), profile, None, by_entry, whole.selection(profile))
    trained = [job for job in plan.jobs if isinstance(job, Job) and not job.agent]
    largest = {job.name: _size(job) for job in trained}
    cells = {_recipe(whole, each): each for each in sorted(largest, key=largest.get) if each in whole.cells}
    found = costs(name, OUT, profile=profile, overrides=overrides, only=[*cells.values()], say=_silent)
    one = {
        _recipe(whole, each.name): each for each in sorted(found.entries, key=lambda each: largest[each.name])
    }
    known = {recipe: each for recipe, each in one.items() if not each.why}
    shares = [(known.get(_recipe(whole, job.name)), _size(job)) for job in trained]
    return {
        "suite": whole.name,
        "profile": profile,
        "runs": len(trained),
        "updates": sum(job.recipe.training.last_update for job in trained),
        "hours": sum(each.seconds / each.runs * size / largest[each.name] for each, size in shares if each)
        / 3600,
        "peak_gib": max((each.peak for each in known.values()), default=0) / 2**30,
        "unknown": {recipe: each.why for recipe, each in one.items() if each.why},
        "missing": found.missing,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def _recipe(suite, entry):
    return suite.entries[entry].recipe


def _size(job):
    """The episodes of all updates, as which the runs of a recipe cost; 1 for a run without updates."""
    return job.recipe.training.last_update * job.recipe.training.episodes or 1


def _silent(line):
    pass


if __name__ == "__main__":
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    words = ["python", "-m", "tools.studies.suite_costs", *sys.argv[1:]]
    found = cost(sys.argv[1], sys.argv[2], sys.argv[3:])
    print(json.dumps({**found, "command": shlex.join(words), "commit": commit.stdout.strip()}))
