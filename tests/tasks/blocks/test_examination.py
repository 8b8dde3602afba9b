"""`loquent check blocks --path`: counts, labels, and what can be made true."""

import json

import pytest

from loquent.cli.main import main
from loquent.tasks.blocks import solvable
from loquent.tasks.blocks.boards.board import board_to_json, tower_block
from loquent.tasks.blocks.examination import examine
from loquent.tasks.blocks.nlvr import statement_files

BLACK = {"sentence": "There is a black block", "lf": "exist(filter_obj(all_items, is_black))"}
NONE = {"sentence": "There is no black block", "lf": "count(filter_obj(all_items, is_black)) == 0"}
BOARD = board_to_json(((tower_block(0, 1),), (), ()))


def written(folder, **files):
    for name, entries in files.items():
        (folder / f"{name}.json").write_text(json.dumps(entries))
    return folder


def test_labels_and_additions_are_reported(tmp_path):
    boards = {"label": "true", "uid": "7", "structured_rep": BOARD}
    folder = written(
        tmp_path,
        tower_scratch_dev={"7": BLACK, "8": NONE, "9": {**BLACK, "lf": "unique(all_items) == 1"}},
        scatter_scratch_dev={"7": BLACK},
        tower_flipit_train_partial={"1-0-0": {**BLACK, **boards}, "1-1-0": {**NONE, **boards}},
    )
    lines, report = examine(folder)
    assert (report["agree"], report["total"]) == (1, 2)
    assert report["constant_true"] == report["constant_false"] == []
    scratch = report["files"]["tower_scratch_dev.json"]
    assert scratch["edits"] == {"0": 1, "1": 1}
    assert (scratch["true_at_start"], scratch["unsolvable"]) == (["8"], [])
    assert scratch["differences"][0] == "statements: 3, the published file has 163"
    assert scratch["failed"][0].startswith("9: program 'unique(all_items) == 1': unique needs exactly 1")
    assert scratch["blind"]["share"] == 0.5
    assert sum(report["files"]["scatter_scratch_dev.json"]["edits"].values()) == 1
    boards = report["files"]["tower_flipit_train_partial.json"]
    assert (boards["agree"], boards["disagree"], boards["differences"]) == (1, ["1-1-0"], [])
    assert (
        "tower_flipit_train_partial.json: 1-1-0: the program disagrees with the label" in report["problems"]
    )
    assert lines[-1] == "agree: 1 of 2 labels"


def test_the_sequence_of_the_training_file_is_the_baseline_that_reads_no_sentence(tmp_path):
    both = {"lf": "exist(filter_obj(all_items, is_blue)) and NOT(exist(filter_obj(all_items, is_black)))"}
    folder = written(
        tmp_path,
        tower_scratch_train={"7": BLACK},
        tower_scratch_dev={"8": NONE, "9": {**BLACK, **both}, "10": BLACK},
    )
    lines, report = examine(folder)
    train, dev = (report["files"][f"tower_scratch_{split}.json"]["blind"] for split in ("train", "dev"))
    assert train["share"] == 1.0
    assert all(text.startswith("add ") for text in train["additions"])
    assert "chosen_on_training" not in train
    assert (dev["share"], dev["chosen_on_training"]) == pytest.approx((2 / 3, 1 / 3))
    assert any(line.endswith("make 66.7% true, those chosen on the training file 33.3%") for line in lines)


def test_a_program_that_fails_on_its_board_does_not_agree(tmp_path):
    entry = {**BLACK, "lf": "unique(all_boxes) == 1", "label": "false", "uid": "7", "structured_rep": BOARD}
    _, report = examine(written(tmp_path, tower_flipit_train_partial={"1-0-0": entry}))
    assert (report["agree"], report["total"], len(report["problems"])) == (0, 1, 1)


def test_the_command_prints_json_and_ends_with_1_where_a_file_has_a_problem(tmp_path, capsys):
    entry = {**BLACK, "label": "true", "uid": "7", "structured_rep": BOARD}
    written(tmp_path, tower_flipit_train_partial={"1-0-0": entry})
    assert main(["check", "blocks", "--path", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["task"], report["agree"], report["total"]) == ("blocks-v1", 1, 1)
    written(tmp_path, tower_flipit_train_partial={"1-0-0": {**entry, "label": "false"}})
    assert main(["check", "blocks", "--path", str(tmp_path)]) == 1
    assert "agree: 0 of 1 labels" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_examined(tmp_path, capsys):
    entry = {**BLACK, "label": "true", "uid": "7", "structured_rep": BOARD}
    written(tmp_path, tower_scratch_dev={"7": {**BLACK, "lf": "__import__('os')"}})
    written(tmp_path, tower_flipit_train_partial={"1-0-0": entry})
    (tmp_path / "scatter_scratch_dev.json").write_text("{")
    assert main(["check", "blocks", "--path", str(tmp_path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["agree"], report["total"]) == (1, 1)
    assert [problem.partition(":")[0] for problem in report["problems"]] == [
        "tower_scratch_dev.json",
        "scatter_scratch_dev.json",
    ]
    assert "lf: program" in report["files"]["tower_scratch_dev.json"]["problem"]


@pytest.mark.data
def test_files_that_the_import_wrote_have_no_problem(tmp_path, beside):
    """Their rows stand in another order than in the published files."""
    data = beside / "data"
    command = ["import", "nlvr", str(data / "nlvr"), str(data / "lilgym"), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    for name in ("tower", "scatter"):
        file = statement_files.read(tmp_path / "out" / f"{name}_flipit_dev.json")
        assert (file.differences, file.remarks) == ([], [])
        entries = json.loads((tmp_path / "out" / f"{name}_flipit_dev.json").read_text())
        next(iter(entries.values()))["uid"] += "9"
        (changed,) = statement_files.from_entries(file.name, entries, partial=False).differences
        assert changed.startswith("hash of the statements")
    other = statement_files.from_entries("tower_flipit_test", {}, partial=False)
    assert len(other.differences) == 2
    assert "in another order" in other.remarks[0]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("wordle", "has no check of published files; tasks with one: blocks"),
        ("blocks", "no published file is here"),
    ],
)
def test_a_task_or_a_folder_without_published_files_is_an_error(tmp_path, capsys, task, message):
    assert main(["check", task, "--path", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_program_that_only_low_boards_decide_is_not_constant():
    assert not solvable.is_constant("count(all_items) < 3", True)
    assert not solvable.is_constant("exist(all_items)", False)

    assert not solvable.is_constant("count(all_items) < 3 or exist(unique(all_boxes))", True)


@pytest.mark.slow
def test_programs_that_only_full_boards_decide_are_not_constant():
    assert not solvable.is_constant("count(all_items) == 12", False)
    assert not solvable.is_constant("count(all_items) < 12", True)
    assert solvable.is_constant("1 == 2", False)
    assert solvable.is_constant("count(all_items) < 13", True)


@pytest.mark.slow
@pytest.mark.data
def test_the_published_files_have_the_measured_figures(beside):
    _, report = examine(beside / "data/lilgym")
    assert (report["agree"], report["total"], report["problems"]) == (4511, 4511, [])
    assert report["constant_true"] == []
    assert report["constant_false"] == ["tower_scratch_train:30", "tower_scratch_train:1786"]
    files = {name.removesuffix(".json.gz"): file for name, file in report["files"].items()}
    assert files["tower_scratch_train"]["edits"] == dict(
        zip("012345678", (25, 233, 406, 186, 124, 3, 6, 2, 2), strict=True), none=2
    )
    assert files["tower_scratch_dev"]["edits"] == {"0": 4, "1": 39, "2": 71, "3": 36, "4": 11, "7": 1, "8": 1}
    starts = {name: len(file["true_at_start"]) for name, file in files.items() if "true_at_start" in file}
    assert list(starts.values()) == [25, 4, 64, 4]
    blind = files["tower_scratch_dev"]["blind"]
    assert len(blind["additions"]) == 10
    found = [round(blind[name] * 100, 1) for name in ("share", "chosen_on_training")]
    assert found == [55.8, 50.3]
    unsolvable = [file["unsolvable"] for file in files.values() if "unsolvable" in file]
    assert unsolvable == [["30", "1786"], [], ["76"], []]


@pytest.mark.parametrize(
    ("program", "symmetric"),
    [
        ("count(filter_obj(all_items, is_black)) == 2", True),
        ("exist(filter_obj(all_boxes, lambda x: count([x]) == 1))", True),
        ("exist(all_boxes [0])", False),
        ("min (all_boxes, key=count) == all_boxes", False),
        ("query_color(all_items) == query_color(all_items)", False),
        ("equal(query_color(all_items), all_items)", False),
        ("all_items == all_boxes", False),
        ("count(all_items + all_items) == 2", False),
    ],
)
def test_the_syntax_tree_decides_whether_the_order_of_the_boxes_matters(program, symmetric):
    assert solvable.is_symmetric(program) is symmetric
