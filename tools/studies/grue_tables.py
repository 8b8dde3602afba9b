"""The results of a folder of the suite grue as a line of docs/results/grue.jsonl, and the page's figures.

python -m tools.studies.grue_tables FOLDER COMMIT [NOTE]

It prints the line: what the suite wrote into table.json, its tables by title and label, its counts of claims
and where supervised training stopped. It writes docs/results/grue-figure-4*.svg. `python -m tools.pages`
makes the tables of the page from the line.
"""

import json
import re
import sys
from pathlib import Path
from statistics import fmean

from loquent.bench.evidence import tallies, verdicts
from loquent.report.charts import Curve, alone
from loquent.report.groups import Point

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
OUTCOMES = {
    **{"wins": tallies.WIN, "losses": tallies.LOSS},
    **{"neither": tallies.NEITHER, "missing": tallies.MISSING},
}
KEPT = (
    *("date", "suite", "version", "profile", "machine", "seeds"),
    *("cells", "verdicts", "tallies", "cautions", "failures", "notes"),
)


def tables(made):
    """By table and label: the mean of each column over the seeds, and what it is worth.

    One seed has the standard error over test rows; several have their interval over seeds and rows, or over
    seeds where there are no values by row.
    """
    return {
        table["title"]: {
            cell["label"]: {"n": cell["n"], "seconds": cell["seconds"], **dict(_columns(cell))}
            for cell in (made["cells"][name] for name in table["cells"])
        }
        for table in made["tables"]
    }


def _columns(cell):
    published = (cell["published"] or {}).get("figures", {})
    for column, values in cell["values"].items():
        if values:
            yield column, fmean(values.values())
            interval = cell["over_seeds_and_rows"].get(column, cell["intervals"].get(column))
            errors = cell["errors"].get(column)
            if len(values) > 1:
                ends = [(f"{column}/{end}", interval[end]) for end in ("low", "high")] if interval else []
                yield from (pair for pair in ends if pair[1] is not None)
            elif errors:
                yield f"{column}/error", next(iter(errors.values()))
        if column in published:
            yield f"{column}/paper", published[column]["value"]


def stopped(made):
    """By run of supervised training: the update kept and its reward, the last update and its reward."""
    found = {}
    for folder, run in made["stopping"].items():
        values = dict(map(tuple, run["course"]))
        ends = {"value": values.get(run["kept"]), "last": run["last"], "last_value": run["course"][-1][1]}
        found[folder] = {"kept": run["kept"], **ends}
    return found


def claims(made):
    """By claim: the tasks that are won, lost, undecided and not measured.

    `wins held` and `losses held` are those after Holm's correction.
    """
    found = {}
    for tally in made["tallies"]:
        own = {name: [t for t in tally["tasks"] if t["outcome"] == kind] for name, kind in OUTCOMES.items()}
        line = {name: len(tasks) for name, tasks in own.items()}
        for name, tasks in (("won", own["wins"]), ("lost", own["losses"])):
            line[name] = ", ".join(task["task"] for task in tasks) or "–"
        for name in ("wins", "losses"):
            held = [verdicts.decide(task["p_corrected"], True) for task in own[name]]
            line[f"{name} held"] = held.count(verdicts.HOLDS)
        found[tally["claim"]] = line
    return found


def figures(line):
    """The name and the text of the SVG file of each part of figure 4, from a line of the results."""
    for title, courses in line["curves"].items():
        curves = [
            Curve(line["cells"][name]["label"], i, [Point(**point) for point in points])
            for i, (name, points) in enumerate(courses.items())
        ]
        number, unit = re.fullmatch(r"Figure (4[abc]): (.*)", title).groups()
        yield f"grue-figure-{number}.svg", alone(f"{title}, our runs", unit, "update", curves)


def main(folder, commit, note=""):
    """Print the line and write the figures."""
    made = json.loads((folder / "table.json").read_text())
    command = f"loquent bench grue --profile cpu --processes {made['machine']['processes']}"
    line = {"command": command, "commit": commit, "seconds": made["seconds"]}
    line |= {"note": note, **{key: made[key] for key in KEPT}}
    line |= {"tables": tables(made), "claims": claims(made), "stopped": stopped(made)}
    line["curves"] = {title: own for title, own in made["curves"].items() if title.startswith("Figure 4")}
    for name, text in figures(line):
        (RESULTS / name).write_text(text)
    print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
