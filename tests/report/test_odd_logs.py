"""A report over logs that hold odd values: the page is there, and says what it left out."""

import json
import re

import pytest

from helpers.report.report_folders import run
from loquent.files import manifest
from loquent.report import write_report

RETURN = "rollout/return must be a number of at most 1e+100 in size"
UPDATE = "its update must be a whole number of at least 0"
ODD = {
    "a string": (
        '{"update": 3, "rollout/return": "abc"}',
        f"{RETURN}, got 'abc'",
    ),
    "a list": (
        '{"update": 3, "rollout/return": [1]}',
        f"{RETURN}, got [1]",
    ),
    "an object": (
        '{"update": 3, "rollout/return": {"a": 1}}',
        f"{RETURN}, got {{'a': 1}}",
    ),
    "a truth": (
        '{"update": 3, "rollout/return": true}',
        f"{RETURN}, got true",
    ),
    "a huge integer": (
        '{"update": 3, "rollout/return": 1' + "0" * 400 + "}",
        f"{RETURN}, got 1000",
    ),
    "a huge float": (
        '{"update": 3, "rollout/return": 1e308}',
        f"{RETURN}, got 1e+308",
    ),
    "more than a float": (
        '{"update": 3, "rollout/return": 1e999}',
        f"{RETURN}, got inf",
    ),
    "no update": ('{"rollout/return": 1}', f"{UPDATE}, got null"),
    "an update that is a text": (
        '{"update": "3"}',
        f"{UPDATE}, got '3'",
    ),
    "an update that is none": ('{"update": -5}', f"{UPDATE}, got -5"),
    "a huge update": (
        '{"update": 1' + "0" * 30 + "}",
        f"{UPDATE}, got 1000",
    ),
    "half an update": ('{"update": 2.5}', f"{UPDATE}, got 2.5"),
    "an update twice": ('{"update": 2}', "its update 2 must be larger than 2"),
    "an update from before": ('{"update": 1}', "its update 1 must be larger than 2"),
    "a list for a line": ("[1, 2]", "a line must be an object, got [1, 2]"),
    "null for a line": ("null", "a line must be an object, got null"),
    "no JSON": ("nonsense", "it is not JSON"),
    "an empty line": ("", "it is not JSON"),
    "deep": ('{"update": 3, "a": ' + "[" * 100_000, "nested too deep"),
    "many digits": ('{"update": 3, "a": ' + "9" * 5000 + "}", "thousands of digits"),
    "no UTF-8": (b'{"update": 3, "a\xff": 1}', "it is not UTF-8"),
}


def page_of(folder, out):
    page = write_report([folder], out).read_text(encoding="utf-8")
    found = re.search(r'<section id="left-out">.*?</section>', page, re.DOTALL)
    return page, found.group() if found else ""


@pytest.mark.parametrize("name", ["metrics.jsonl", "timings.jsonl"])
@pytest.mark.parametrize("kind", ODD)
def test_the_page_says_what_it_left_out(kind, name, tmp_path):
    line, says = ODD[kind]
    folder = run(tmp_path / "run")
    lines = (folder / name).read_bytes().splitlines()
    lines[2] = line if isinstance(line, bytes) else line.encode()
    (folder / name).write_bytes(b"\n".join(lines) + b"\n")
    page, left_out = page_of(folder, tmp_path / "page.html")
    assert f"{name}:3: " in left_out
    assert says in left_out.replace("&#x27;", "'")
    assert "rollout/return" in page


@pytest.mark.parametrize("value", ["null", "NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_a_gap(value, tmp_path):
    folder = run(tmp_path / "run")
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    lines[2] = f'{{"update": 3, "rollout/return": {value}}}'
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    assert "metrics.jsonl" not in page_of(folder, tmp_path / "page.html")[1]


def test_every_line_may_be_odd(tmp_path):
    folder = run(tmp_path / "run")
    for name in ("metrics.jsonl", "timings.jsonl"):
        (folder / name).write_text("\n".join(json.dumps({"update": [i]}) for i in range(80)) + "\n")
    page, left_out = page_of(folder, tmp_path / "page.html")
    assert left_out.count("<li>") == 50
    assert "And 111 more." in left_out
    assert "<td>0</td>" in page, "no update can be drawn"


EVALUATIONS = {
    "a text among the values": (
        ("values", "return", "x"),
        "values.return must be a finite number or",
    ),
    "a list of values": (("values", None, [1]), r"values must be an object {...}, got \[1\]"),
    "no number of episodes": (("n", None, "3"), "n must be an integer, got '3'"),
    "a split that is none": (("split", None, None), "split must be a text, got null"),
    "a direction that is none": (("higher_is_better", "return", "up"), "higher_is_better.return must be"),
    "an owner that is none": (("owners", None, {"return": 1}), "owners.return must be a text, got 1"),
    "a range that is none": (("ranges", None, {"return": [0]}), "ranges.return must be"),
    "an end that is none": (("ranges", None, {"return": [0, "1"]}), r"ranges.return\[1\] must be"),
    "rewarded values that are none": (("rewarded", None, [1]), r"rewarded\[0\] must be a text, got 1"),
}


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_an_odd_evaluation_is_left_out_by_the_name_of_its_field(kind, tmp_path):
    (name, key, value), says = EVALUATIONS[kind]
    folder = run(tmp_path / "run")
    found = json.loads((folder / "evaluation.json").read_text())
    if key is None:
        found[name] = value
    else:
        found[name][key] = value
    (folder / "evaluation.json").write_text(json.dumps(manifest.add_seal(found)))
    assert re.search(
        rf"evaluation\.json is torn: {says}",
        page_of(folder, tmp_path / "page.html")[1].replace("&#x27;", "'"),
    )


def test_a_value_that_no_chart_can_hold_is_left_out(tmp_path):
    folder = run(tmp_path / "run")
    found = json.loads((folder / "evaluation.json").read_text())
    found["values"]["perplexity"] = 1e300
    (folder / "evaluation.json").write_text(json.dumps(manifest.add_seal(found)))
    assert "perplexity is too large to be drawn" in page_of(folder, tmp_path / "page.html")[1]
