"""Sheets as spreadsheets save them, several folders at once, and keys that are damaged or hostile."""

import csv
import json

import pytest

from helpers.bench.study_runs import run
from loquent.bench.study import sheets
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.episode import TASK, Episode, Turn
from loquent.data.preferences import judgements, sheet_files
from loquent.errors import BadRow, BadSetting, LoquentError


@pytest.fixture
def runs(tmp_path):
    return [run(tmp_path / "ppo", "first"), run(tmp_path / "nlpo", "second; third")]


def save(path, cell, code=str, delimiter=","):
    """Fill in all questions of a sheet with `cell`, and save it as a spreadsheet does."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = list(csv.reader(file))
    width = len(lines[0])
    lines[1:] = [[code(line[0]), *line[1:-1], cell] for line in lines[1:]]
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=delimiter).writerows([*lines, [""] * width])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_comes_back_from_a_spreadsheet(tmp_path, runs, delimiter):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    sheet = folder / "sheets" / "sheet-1.csv"
    codes = [line.split(",")[0] for line in sheet.read_text().splitlines()[1:]]
    assert not any(code.strip("+-.eE").isdigit() for code in codes)  # no spreadsheet takes one for a number
    save(sheet, "4", delimiter=delimiter)
    judged, empty = sheet_files.read(folder)
    assert ([one.value for one in judged.ratings], empty) == ([4.0] * 4, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_is_read_as_any_spreadsheet_saves_it(tmp_path, encoding, delimiter):
    folder = sheets.prepare([run(tmp_path / "ppo", "café – “ok”")], tmp_path / "study", sheets.Plan(raters=1))
    sheet = folder / "sheets" / "sheet-1.csv"
    save(sheet, "4,5", delimiter=delimiter)
    header, *rest = sheet.read_text(encoding="utf-8-sig").splitlines()
    header = delimiter.join([" CODE", "Prompt", "ANSWER", "Rating ", "", "Note"])
    lines = [header, *(f"{line}{delimiter * 3}" for line in rest)]  # an empty cell behind the last column
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    sheet.write_bytes((mark + "\r\n".join(lines)).encode(encoding))
    judged, empty = sheet_files.read(folder)
    assert ([one.value for one in judged.ratings], empty) == ([4.5, 4.5], 0)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"code,", b"rating,", r"sheet-1.csv:1: the sheet lacks the column 'code'"),
        (b",rating", b",RATING,Rating", "the sheet has twice the column 'rating'"),
        (b"first", b"fi\x81rst", "not text in UTF-8, UTF-16 or Windows-1252"),
        (b",4", b",4,5", r"sheet-1.csv:2: this row has 5 cells; it must have 4"),
        (b",4", b"", r"sheet-1.csv:2: this row has 3 cells"),
        (b",4", b',"4,000"', "the rating of 'rating' is '4,000'"),
        (b",4", b',"4"5', r"sheet-1.csv:2: this is not CSV"),
    ],
)
def test_a_sheet_that_is_no_table_is_named_with_its_line(tmp_path, runs, old, new, says):
    folder = sheets.prepare(runs[:1], tmp_path / "study", sheets.Plan(raters=1))
    sheet = folder / "sheets" / "sheet-1.csv"
    save(sheet, "4")
    sheet.write_bytes(sheet.read_bytes().replace(old, new, 1))
    with pytest.raises(BadRow, match=says):
        sheet_files.read(folder)


def test_columns_that_differ_in_case_alone_are_two_questions(tmp_path, runs):
    plan = sheets.Plan(raters=1, questions=("Good", "good"))
    folder = sheets.prepare(runs[:1], tmp_path / "study", plan)
    save(folder / "sheets" / "sheet-1.csv", "3")
    judged, empty = sheet_files.read(folder)
    assert ({one.question for one in judged.ratings}, empty) == ({"good"}, 2)


def test_numbers_for_codes_of_an_old_sheet_are_read(tmp_path, runs):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    key = json.loads((folder / "key.json").read_text())
    key["sheets"]["sheet-1.csv"] = {code[1:]: case for code, case in key["sheets"]["sheet-1.csv"].items()}
    (folder / "key.json").write_text(json.dumps(key))
    save(folder / "sheets" / "sheet-1.csv", "2", code=lambda code: str(int(code[1:])))
    assert len(sheet_files.read(folder)[0].ratings) == 4
    with (folder / "sheets" / "sheet-1.csv").open("a") as file:
        file.write("7,prompt,answer,2\n")
    with pytest.raises(BadRow, match="the code '7' is not of this sheet"):
        sheet_files.read(folder)


def test_a_sheet_without_a_question_is_named(tmp_path, runs):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    sheet = folder / "sheets" / "sheet-1.csv"
    sheet.write_text(sheet.read_text().replace(",rating", ",ratings", 1))
    with pytest.raises(BadRow, match=r"sheet-1.csv:1: the sheet lacks the column 'rating'; it has code, "):
        sheet_files.read(folder)


def test_judgements_count_once(tmp_path, runs, capsys):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    save(folder / "sheets" / "sheet-1.csv", "4")
    (tmp_path / "here").symlink_to(folder)
    for again in (folder, tmp_path / "study" / ".", tmp_path / "here"):
        assert cli.main(["study", str(folder), str(again)]) != 0
        assert "is named twice" in capsys.readouterr().err
    table = tmp_path / "same.csv"
    table.write_text("item,rater,system,rating\nr0/0,sheet-1,ppo,4\n")
    with pytest.raises(BadRow, match=r"sheet-1.csv:\d: rater 'sheet-1' judged this at .*same.csv:2 already"):
        sheet_files.read_all([table, folder])


def test_raters_of_two_folders_are_different_people(tmp_path, runs):
    folders = [sheets.prepare(runs, tmp_path / name, sheets.Plan(raters=1)) for name in ("one", "two")]
    for folder, value in zip(folders, "24", strict=True):
        save(folder / "sheets" / "sheet-1.csv", value)
    judged, _ = sheet_files.read_all(folders)
    assert {one.rater for one in judged.ratings} == {f"{folder}/sheet-1" for folder in folders}
    assert len(judged.ratings) == 8


def test_studies_of_different_answers_are_not_joined(tmp_path, runs):
    one = sheets.prepare(runs, tmp_path / "one", sheets.Plan())
    for name, prompts, what in (
        ("answer", ("prompt 0", "prompt 1"), "answer of ppo"),
        ("prompt", "ab", "prompt"),
    ):
        others = [run(tmp_path / name / "ppo", "other", prompts)]
        two = sheets.prepare(others, tmp_path / f"two-{name}", sheets.Plan())
        with pytest.raises(BadSetting, match=f"two-{name}: the item r0/0 has another {what} than in .*one"):
            sheet_files.read_all([one, two])


def test_answers_to_different_prompts_are_not_judged_together(tmp_path, runs):
    other = run(tmp_path / "other", "third", ("prompt 0", "Summarize: prompt 1"))
    for plan in (sheets.Plan(), sheets.Plan(pairs=True)):
        with pytest.raises(
            BadSetting, match="the prompts of r1/0 differ: ppo has 'prompt 1', other has 'Summ"
        ):
            sheets.prepare([*runs, other], tmp_path / "s", plan)
    assert not (tmp_path / "s").exists()


def test_a_dialogue_is_rated_with_its_own_turns_and_not_paired(tmp_path):
    folders = []
    for name in ("a", "b"):
        turns = [(TASK, "hello"), ("agent", f"{name}?"), (TASK, f"yes {name}"), ("agent", "bye")]
        said = tuple(Turn(seat, text, to="agent" if seat == TASK else TASK) for seat, text in turns)
        folders.append(run(tmp_path / name, ""))
        episode.write(folders[-1] / "episodes.jsonl", [Episode("x-v1", "r", "test", 0, 0, said, "end")])
    text = sheets.prepare(folders, tmp_path / "s", sheets.Plan(raters=1)) / "sheets" / "sheet-1.csv"
    assert "hello / a? / yes a,bye" in text.read_text()
    with pytest.raises(BadSetting, match="prompts of r/0 differ"):
        sheets.prepare(folders, tmp_path / "p", sheets.Plan(pairs=True))


@pytest.mark.parametrize("text", ["\x00=HYPERLINK(1)", "=1", "\r=1", "+1", "\x00\x00@x", "-1", "\t=1"])
def test_no_answer_is_a_formula(tmp_path, text):
    folder = sheets.prepare([run(tmp_path / "ppo", text)], tmp_path / "s", sheets.Plan(raters=1))
    with (folder / "sheets" / "sheet-1.csv").open(newline="") as file:
        cells = [line["answer"] for line in csv.DictReader(file)]
    assert all(cell.startswith("'") for cell in cells)
    assert not any("\x00" in cell for cell in cells)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["prepare", "{run}", "--out", "{out}", "--level", "0.9"], "prepare does not read --level"),
        (["{file}", "--rows", "3"], "--rows belongs to `loquent study prepare`"),
        (["{file}", "--raters", "3"], "--raters belongs"),
        (["{file}", "--question", "q"], "--question belongs"),
        (["{file}", "--pairs"], "--pairs belongs"),
    ],
)
def test_an_option_that_is_not_read_is_refused(tmp_path, runs, capsys, arguments, says):
    file = tmp_path / "judged.csv"
    file.write_text("item,system,rating\nr,a,1\nr,b,2\n")
    names = {"run": runs[0], "out": tmp_path / "s", "file": file}
    assert cli.main(["study", *(word.format(**names) for word in arguments)]) != 0
    assert says in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("question", ["code", "prompt", "answer", "A", "=1", " space", "two\nlines"])
def test_a_question_that_is_no_column_of_its_own_is_refused(question):
    with pytest.raises(BadSetting, match="cannot be a column of a sheet"):
        sheets.Plan(questions=("rating", question))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda key: key.clear() or key.update(format=1), "it lacks the field 'pairs'"),
        (lambda key: key.update(format=2), "format must be 1, got 2"),
        (lambda key: key.update(sheets=[]), r"sheets must be an object \{...\}, got \[\]"),
        (lambda key: key.update(sheets={"../x.csv": {}}), r"sheets must be names .* got '\.\./x\.csv'"),
        (lambda key: key.update(sheets={"..\\x.csv": {}}), "sheets must be names"),
        (
            lambda key: key.update(sheets={"sheet-1.csv": 3}),
            "sheet-1.csv must be an object",
        ),
        (lambda key: key["sheets"]["sheet-1.csv"]["c0001"].pop("system"), "c0001 lacks the field 'system'"),
        (
            lambda key: key["sheets"]["sheet-1.csv"]["c0001"].update(item=3),
            "c0001.item must be a text, got 3",
        ),
        (lambda key: key.update(questions=["q", 1]), r"questions\[1\] must be a text, got 1"),
        (lambda key: key.update(scale=[1, "5"]), r"scale\[1\] must be a finite number, got '5'"),
        (lambda key: key.update(texts=3), "texts must be an object"),
        (lambda key: key["texts"]["r0/0"].pop("answers"), r"texts.r0/0 lacks the field 'answers'"),
        (lambda key: key["texts"]["r0/0"]["answers"].pop("ppo"), r"texts.r0/0.answers lacks the field 'ppo'"),
    ],
)
def test_a_damaged_key_is_named_with_its_field(tmp_path, runs, change, says):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    key = json.loads((folder / "key.json").read_text())
    change(key)
    (folder / "key.json").write_text(json.dumps(key))
    with pytest.raises(BadSetting, match=says) as error:
        sheet_files.read(folder)
    assert str(error.value).startswith(f"{folder / 'key.json'}: ")


def test_a_key_with_a_pair_of_one_system_is_refused_and_an_old_one_without_texts_is_read(tmp_path, runs):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1, pairs=True))
    save(folder / "sheets" / "sheet-1.csv", "A")
    key = json.loads((folder / "key.json").read_text())
    del key["texts"]
    (folder / "key.json").write_text(json.dumps(key))
    assert [one.texts for one in sheet_files.read(folder)[0].preferences] == [None, None]
    key["sheets"]["sheet-1.csv"]["c0001"]["first"] = key["sheets"]["sheet-1.csv"]["c0001"]["second"]
    (folder / "key.json").write_text(json.dumps(key))
    with pytest.raises(LoquentError, match="c0001 must be of two different systems"):
        sheet_files.read(folder)


def test_a_sheet_in_utf_16_that_is_named_alone_asks_for_its_folder(tmp_path):
    sheet = tmp_path / "st" / "sheets" / "sheet-1.csv"
    sheet.parent.mkdir(parents=True)
    sheet.write_text("code,prompt\n", encoding="utf-16")
    why = rf"sheet-1.csv:1: this file is in UTF-16; .* name the folder .* \({tmp_path / 'st'}\), else save"
    with pytest.raises(BadRow, match=why):
        judgements.read([sheet])
