"""What the record of the suite `ilql-wordle` must hold: every cell, and every list size."""

import json
from pathlib import Path

from loquent.bench import suite as suites

RECORD = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "docs/results/ilql-wordle.jsonl").read_text().splitlines()
]
LEARNERS = {"clone", "clone-0.3", "ilql"}
SUITE = suites.load("ilql-wordle")
VERSION = max(line.get("version", 0) for line in RECORD if line.get("seeds") == 3)
WAIT = {"in_order", "first", "frequent", "clone-greedy", "clone-0.3-greedy", "ilql-greedy"}
"""The cells of version 3, for which no table with three seeds has been made yet."""


def whole(line):
    """Whether the settings of a line are those of the newest version that has a table with three seeds."""
    return line.get("version") == VERSION and "=" not in line["command"]


def measured(line, column="return"):
    """The runs of each cell that have a number."""
    return {name: len(cell["values"].get(column, {})) for name, cell in line["cells"].items()}


def test_every_cell_of_the_suite_has_a_return():
    """All cells once the record is the suite's; until then all but the new ones, and the page says so."""
    runs = {
        name: n for line in RECORD if whole(line) and line["seeds"] == 1 for name, n in measured(line).items()
    }
    three = next(line for line in RECORD if whole(line) and line["seeds"] == 3)
    wait = set() if SUITE.version == VERSION else WAIT
    assert {name for name in SUITE.cells if not (runs | measured(three)).get(name)} == wait
    ordered = {name for ordering in SUITE.orderings for name in ordering.rising if "long" not in name}
    assert {name: measured(three).get(name) for name in ordered - wait} == dict.fromkeys(ordered - wait, 3)
    page = (Path(__file__).parents[2] / "docs/benchmarks.md").read_text()
    assert not wait or f"the table above is that of version {VERSION}" in " ".join(page.split())


def test_the_curve_has_four_list_sizes():
    sizes = {
        line["data"]["games-0.5"]["rows"]: {name for name, n in measured(line).items() if n} >= LEARNERS
        for line in RECORD
        if "algorithm.learning_rate=1e-3" in line.get("command", "")
    }
    assert sizes == {30: True, 60: True, 100: True, 200: True}
