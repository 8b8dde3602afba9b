"""Figures and tables of a folder of the suite grue as a line of docs/results/grue.jsonl and as SVG files.

python -m tools.studies.grue_figures FOLDER COMMIT SECONDS [NOTE]

It prints the line, and writes docs/results/grue-figure-N.svg for the curves of figure 4.
"""

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from loquent.report.charts import Curve, alone
from loquent.report.groups import Point

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
TABLES = ("Figure 4: target KL on IMDB", "Table 7: data budget on IMDB")


def curves(folder):
    """By figure and label: the update and the mean of each point, and the unit of a figure."""
    found = defaultdict(lambda: defaultdict(list))
    keys = {}
    with (folder / "curves.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            keys[line["figure"]] = line["key"]
            found[line["figure"]][line["label"]].append([int(line["update"]), round(float(line["mean"]), 4)])
    return {name: dict(points) for name, points in found.items()}, keys


def tables(folder):
    """By table and label: the values by column, the published ones, and standard errors over test rows."""
    found = defaultdict(lambda: defaultdict(dict))
    with (folder / "table.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            if line["table"] in TABLES and line["mean"]:
                values = found[line["table"]][line["label"]]
                values[line["column"]] = round(float(line["mean"]), 4)
                if line["paper_value"]:
                    values[f"{line['column']}/paper"] = float(line["paper_value"])
                evaluation = folder / f"{line['cell']}-0" / "evaluation.json"
                samples = json.loads(evaluation.read_text())["samples"]
                values["judge"] = round(statistics.fmean(samples["judge/positive"]), 4)
                if line["metric"] in samples:
                    scores = samples[line["metric"]]
                    error = statistics.stdev(scores) / len(scores) ** 0.5  # one episode on each row
                    values[f"{line['column']}/error"] = round(error, 4)
    return {name: dict(rows) for name, rows in found.items()}


def figures(points):
    """The name and the text of the SVG file of each part of figure 4."""
    for name, lines in points.items():
        number = re.match(r"Figure (4[abc]): (.*)", name)
        if number:
            drawn = [
                Curve(label, i, [Point(x, y, y, y, 1) for x, y in line])
                for i, (label, line) in enumerate(lines.items())
            ]
            yield f"grue-figure-{number[1]}.svg", alone(f"{number[0]}, our runs", number[2], "update", drawn)


def main(folder, commit, seconds, note=""):
    """Print the line of results and write the figures."""
    points, keys = curves(folder)
    for name, text in figures(points):
        (RESULTS / name).write_text(text)
    line = {"command": "loquent bench grue --profile cpu --processes 1 --only CELLS (those of IMDB)"}
    line |= {"commit": commit, "seconds": float(seconds), "note": note, "keys": keys}
    print(json.dumps(line | {"curves": points, "tables": tables(folder)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
