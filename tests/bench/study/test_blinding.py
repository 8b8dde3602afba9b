"""What would tell raters the system of an answer: its place on a sheet, and what is invisible in a cell."""

import csv
import json

import pytest

from helpers.bench.study_runs import run
from loquent.bench.study import sheets
from loquent.cli import main as cli


def cells(folder, name="sheet-1.csv", column="answer"):
    with (folder / "sheets" / name).open(newline="", encoding="utf-8-sig") as file:
        return [line[column] for line in csv.DictReader(file)]


@pytest.fixture
def runs(tmp_path):
    prompts = [f"prompt {i}" for i in range(6)]
    return [run(tmp_path / name, name, prompts) for name in ("ppo", "nlpo")]


@pytest.mark.parametrize("column", ["answer", "A"])
def test_studies_of_one_seed_have_other_orders_and_sides(tmp_path, runs, column):
    plan = sheets.Plan(pairs=column == "A", raters=1)
    places = [cells(sheets.prepare(runs, tmp_path / str(n), plan), column=column) for n in range(25)]
    for line in zip(*places, strict=True):  # 25 times one system on a line: a chance of 2^-24
        assert set(line) == {"ppo", "nlpo"}


def test_the_salt_of_a_key_makes_the_same_sheets_again(tmp_path, runs, capsys):
    folder = sheets.prepare(runs, tmp_path / "one", sheets.Plan())
    key = json.loads((folder / "key.json").read_text())
    command = ["study", "prepare", *map(str, runs), "--out", str(tmp_path / "two"), "--salt", key["salt"]]
    assert cli.main(command) == 0
    for path in ("key.json", "sheets/sheet-1.csv", "sheets/sheet-3.csv"):
        assert (folder / path).read_bytes() == (tmp_path / "two" / path).read_bytes()
    assert len(key["salt"]) == 32
    other = sheets.prepare(runs, tmp_path / "three", sheets.Plan(salt="another"))
    assert json.loads((other / "key.json").read_text())["sheets"] != key["sheets"]


@pytest.mark.parametrize(
    "written",
    [
        " a cafe\u0301\n\n2nd line",
        "a caf\xe9\n\n2nd line\n",
        "\na caf\xe9\r\n\r\n2nd line\r\n",
        "a caf\xe9 \n\n2nd line\t",
        "a caf\xe9\r\r2nd line",
        "a caf\xe9\u2028\x852nd line",
        "a\xa0caf\xe9\n\n2nd\u2009line",
        "\ufeffa caf\xe9\n\n2nd\u200b line",
        "a ca\xadf\xe9\n\n2nd line\x00\x1b",
        "a caf\xe9\n\n2nd line</s>",
        "a caf\xe9\n\n2nd line <|endoftext|><pad><pad>\n",
        "a caf\xe9\n\n2nd line[PAD] [PAD]",
        "\u202aa caf\xe9\u202c\n\n2nd line<|im_end|>\n",
    ],
)
def test_what_nobody_sees_makes_no_other_cell(tmp_path, written):
    folder = sheets.prepare([run(tmp_path / "ppo", written)], tmp_path / "s", sheets.Plan(raters=1))
    assert set(cells(folder)) == {"a caf\xe9 /  / 2nd line"}
    texts = json.loads((folder / "key.json").read_text())["texts"]
    assert texts["r0/0"]["answers"]["ppo"] == written  # reward models learn from what was written


@pytest.mark.parametrize(
    "text",
    [
        "**bold** and <b>html</b> &amp; x",
        "a  b",
        "cut in the mid",
        "Is 3 < 4 </s> or not?",
        "\U0001f468\u200d\U0001f469 \U0001f600",
        "می\u200cروم",
        "fi\ufb01 ½",
    ],
)
def test_what_is_judged_stays(tmp_path, text):
    folder = sheets.prepare([run(tmp_path / "ppo", text)], tmp_path / "s", sheets.Plan(raters=1))
    assert set(cells(folder)) == {text}


def test_half_a_surrogate_pair_is_written(tmp_path):
    folder = sheets.prepare([run(tmp_path / "ppo", "a\ud800b")], tmp_path / "s", sheets.Plan(raters=1))
    assert set(cells(folder)) == {"a\ufffdb"}
