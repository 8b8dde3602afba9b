"""docs/results holds the records of figures on pages, and the figures that are drawn from them."""

import json
import re
from pathlib import Path

from loquent.bench.preferences import over_optimization
from loquent.bench.preferences.over_optimization import Point, Warned
from tools.studies import grue_figures

HERE = Path(__file__).resolve().parents[1]
RESULTS = HERE / "docs" / "results"
PAGES = [HERE / "README.md", *(HERE / "docs").rglob("*.md")]
NOT_RECORDED = 42  # older records without a command, a commit or seconds; this number may only fall
KEYS = ("command", "commit", "seconds")


def records():
    """(file, line, record) of each record."""
    for file in sorted(RESULTS.glob("*.jsonl")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            yield file.name, number, json.loads(line)


def test_each_file_of_the_results_is_named_by_their_index_or_shown_on_a_page():
    index = (RESULTS / "README.md").read_text(encoding="utf-8")
    files = {file.name for file in RESULTS.iterdir() if file.is_file()} - {"README.md"}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"\(results/([\w.-]+\.svg)\)", text))
    assert {file for file in files if f"`{file}`" not in index} == {f for f in files if f.endswith(".svg")}
    assert {file for file in files if file.endswith(".svg")} == shown
    assert set(re.findall(r"^- `([\w-]+\.jsonl)`", index, re.MULTILINE)) <= files


def test_each_record_has_its_command_its_commit_and_its_seconds():
    values = [((file, line, key), record[key]) for file, line, record in records() for key in KEYS]
    missing = [place for place, value in values if value == "not recorded"]
    assert len(missing) <= NOT_RECORDED, missing
    assert [place for place, value in values if place not in missing and not _is_right(place[2], value)] == []


def _is_right(key, value):
    """Whether a command or a commit is a text, and seconds are a number or numbers of parts."""
    if key != "seconds":
        return isinstance(value, str) and bool(value)
    return all(isinstance(part, int | float) for part in (value.values() if type(value) is dict else [value]))


def test_the_figure_of_over_optimisation_is_drawn_from_its_record():
    *_, record = [record for file, _, record in records() if file == "over_optimization.jsonl"]
    courses = {run["run"]: [Point(**point) for point in run["points"]] for run in record["runs"].values()}
    found = {run["run"]: run["warned"] and Warned(**run["warned"]) for run in record["runs"].values()}
    text = (RESULTS / "over_optimization.svg").read_text(encoding="utf-8")
    assert text == over_optimization.figure(courses, found)


def test_the_figures_of_grue_are_drawn_from_their_record():
    [record] = [record for file, _, record in records() if file == "grue-imdb.jsonl"]
    drawn = dict(grue_figures.figures(record["curves"]))
    assert len(drawn) == 3
    for name, text in drawn.items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text
