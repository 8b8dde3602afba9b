"""The flip-it sets built again from NLVR, and the solvability of the published statements (spec figures)."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import loquent
from loquent.cli import main as cli
from loquent.core.seeding import Key
from loquent.errors import BadRow, BadSetting
from loquent.tasks.blocks import solvable
from loquent.tasks.blocks.fixed_agent import FixedSequence
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.nlvr.rebuild import rebuild
from loquent.tasks.blocks.programs.program import compile_program


@pytest.mark.data
def test_the_development_sets_are_built_again_from_nlvr(beside, tmp_path):
    data = beside / "data"
    report = rebuild(data / "nlvr", data / "lilgym")
    assert (report.pictures, report.differing, report.unknown) == (40, (), ())
    assert {each.name: (len(each.entries), each.contexts, each.complete) for each in report.sets} == {
        "tower_flipit_dev": (676, 317, True),
        "scatter_flipit_dev": (313, 164, True),
    }
    assert [each.corrected for each in report.sets] == [(), ("831-1", "862-2")]
    assert report.missing[:3] == ("train.json", "test.json", "hidden.json")
    for each in report.sets:
        file = statement_files.find(data / "lilgym", each.name.split("_")[0], "flipit", "dev")
        (tmp_path / f"{each.name}.json").write_text(json.dumps(each.entries))
        built = statement_files.read(tmp_path / f"{each.name}.json")
        assert built.statements == statement_files.read(file).statements


@pytest.mark.data
def test_nlvr_beside_the_statements_from_scratch_is_a_source_of_rows(beside, tmp_path):
    data = beside / "data"
    (tmp_path / "nlvr").mkdir()
    (tmp_path / "nlvr" / "dev.json.gz").symlink_to(data / "nlvr" / "dev.json.gz")
    for file in (data / "lilgym").glob("*_scratch_*"):
        (tmp_path / file.name).symlink_to(file)
    for appearance, count in (("tower", 676), ("scatter", 313)):
        options = {"source": "path", "appearance": appearance, "start": "flip_it"}
        rows = loquent.task("blocks", path=str(tmp_path), **options).rows("dev")
        published_rows = loquent.task("blocks", path=str(data / "lilgym"), **options).rows("dev")
        assert len(rows) == count
        assert {row.id: row for row in rows} == {row.id: row for row in published_rows}


@pytest.mark.data
@pytest.mark.parametrize(
    ("step", "measured"),
    [
        (5, {1: 7, 2: 20, 3: 4, 4: 1, 8: 1}),  # each fifth
        pytest.param(1, {0: 4, 1: 39, 2: 71, 3: 36, 4: 11, 7: 1, 8: 1}, marks=pytest.mark.slow),
    ],
)
def test_the_fewest_additions_of_the_development_towers_are_as_measured(beside, step, measured):
    file = statement_files.find(beside / "data" / "lilgym", "tower", "scratch", "dev")
    statements = list(statement_files.read(file).statements.values())[::step]
    found = Counter(solvable.solution(each.program, True, each.board, "tower").edits for each in statements)
    assert found == measured


@pytest.mark.data
@pytest.mark.slow
def test_the_fewest_edits_of_the_development_boards_of_towers_are_as_measured(beside):
    file = statement_files.find(beside / "data" / "lilgym", "tower", "flipit", "dev")
    statements = statement_files.read(file).statements.values()
    edits = [
        solvable.solution(each.program, not each.label, each.board, "tower").edits for each in statements
    ]
    assert Counter(number if number and number <= 4 else "more" for number in edits) == {
        1: 466,
        2: 129,
        3: 53,
        4: 16,
        "more": 12,
    }


@pytest.mark.data
def test_one_edit_flips_about_as_many_scattered_boards_as_measured(beside):
    """Of the first 100 development boards, 500 random actions each: 68 flip, as 6.6% of legal edits do."""
    options = {"source": "path", "path": str(beside / "data" / "lilgym"), "start": "flip_it"}
    task = loquent.task("blocks", appearance="scatter", **options)
    flips = []
    for row in task.rows("dev")[:100]:
        mask = task.actions.mask(task.actions.legal(row["board"]))
        drawn = Key(0, ("test", row.id)).generator().integers(1, len(mask), size=500)
        edits = [int(i) for i in drawn if mask[i]]
        program = compile_program(row["program"])
        flips.append(np.mean([program(task._applied(row["board"], i)) == row["target"] for i in edits]))
    assert sum(share > 0 for share in flips) == pytest.approx(68, abs=5)
    assert np.mean(flips) == pytest.approx(0.066, abs=0.015)


@pytest.mark.data
@pytest.mark.parametrize("appearance", ["tower", "scatter"])
def test_no_published_board_has_the_target_value_at_the_start(beside, appearance):
    options = {"source": "path", "path": str(beside / "data" / "lilgym"), "start": "flip_it"}
    rows = loquent.task("blocks", appearance=appearance, **options).rows("dev")
    assert len(rows) == {"tower": 676, "scatter": 313}[appearance]
    assert all(compile_program(row["program"])(row["board"]) is (not row["target"]) for row in rows)


BLOCK = {"x_loc": 40, "y_loc": 80, "size": 20, "color": "Black", "type": "square"}
EXAMPLE = {
    "identifier": "1-0",
    "sentence": "There is a black block",
    "label": "true",
    "structured_rep": [[BLOCK], [], []],
}
SCRATCH = {"7": {"sentence": EXAMPLE["sentence"], "lf": "exist(filter_obj(all_items, is_black))"}}


def folders(tmp_path, lines):
    """A folder with NLVR's dev.json of these lines, and one with the statement from scratch."""
    nlvr, scratch = tmp_path / "nlvr", tmp_path / "scratch"
    nlvr.mkdir()
    scratch.mkdir()
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (nlvr / "dev.json").write_text("\n".join(texts) + "\n")
    (scratch / "tower_scratch_dev.json").write_text(json.dumps(SCRATCH))
    return nlvr, scratch


def test_a_small_set_is_built_with_the_value_of_the_program_as_the_label(tmp_path):
    others = (
        {"identifier": "2-0", "sentence": "There is a black  block"},
        {"identifier": "3-1", "label": "false"},
    )
    report = rebuild(*folders(tmp_path, [EXAMPLE, *({**EXAMPLE, **other} for other in others)]))
    (built,) = report.sets
    assert (built.name, built.dropped, built.corrected) == ("tower_flipit_dev", ("2-0",), ("3-1",))
    assert {key: (entry["label"], entry["uid"]) for key, entry in built.entries.items()} == {
        "1-0-0": ("true", "7"),
        "3-1-0": ("true", "7"),
    }
    assert not built.complete
    assert report.unknown == ("dev",)
    assert "scatter_scratch_dev.json" in report.missing


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        (EXAMPLE, "the identifier '1-0' repeats line 1"),
        ({**EXAMPLE, "identifier": 3}, "identifier must be a text, got 3"),
        ({**EXAMPLE, "identifier": "2-0", "sentence": None}, "sentence must be a text, got null"),
        ({**EXAMPLE, "identifier": "2-0", "label": True}, "label must be one of 'true', 'false', got true"),
        ({**EXAMPLE, "identifier": "2-0", "structured_rep": [[]]}, "must be a list of 3"),
        (
            {**EXAMPLE, "identifier": "2-0", "structured_rep": [[{**BLOCK, "color": "red"}], [], []]},
            "color",
        ),
        (
            {**EXAMPLE, "identifier": "2-0", "structured_rep": None},
            "no structured_rep, and there is no picture dev-2-0-0.png",
        ),
    ],
)
def test_a_bad_example_is_refused_with_its_file_and_line(tmp_path, line, message):
    with pytest.raises(BadRow, match=message) as caught:
        rebuild(*folders(tmp_path, [EXAMPLE, line]))
    assert "dev.json:2" in str(caught.value)


def test_a_program_that_fails_on_the_board_of_an_example_is_refused_with_its_place(tmp_path):
    nlvr, scratch = folders(tmp_path, [EXAMPLE])
    fails = "count(all_items) == 0 or count(1) == 1"
    statement = {"7": {**SCRATCH["7"], "lf": fails}}
    (scratch / "tower_scratch_dev.json").write_text(json.dumps(statement))
    with pytest.raises(BadRow, match=r"dev\.json:1: statement '7'\.lf: program"):
        rebuild(nlvr, scratch)


@pytest.mark.parametrize("start", ["scratch", "flip_it"])
def test_a_row_without_a_truth_value_is_refused_with_its_place(tmp_path, start):
    statement = {"sentence": "s", "lf": "count(all_items)", "label": "true", "uid": "7"}
    board = {"structured_rep": [[BLOCK], [], []]}
    name = f"tower_{start.replace('_', '')}_dev.json"
    (tmp_path / name).write_text(json.dumps({"7": {**statement, **board}}))
    options = {"source": "path", "path": str(tmp_path), "start": start}
    with pytest.raises(BadRow, match=rf"{name}: statement '7'\.lf: program .*must be a bool, got int"):
        loquent.task("blocks", **options).rows("dev")


def test_changed_files_are_read_again(tmp_path):
    nlvr, scratch = folders(tmp_path, [EXAMPLE])
    changed = [{**EXAMPLE, "sentence": "There is a block"}]
    statement = {"7": {**SCRATCH["7"], "sentence": changed[0]["sentence"]}}
    (nlvr / "tower_scratch_dev.json").write_text(json.dumps(SCRATCH))

    def sentences(folder, start):
        options = {"source": "path", "path": str(folder), "start": start}
        return [row["sentence"] for row in loquent.task("blocks", **options).rows("dev")]

    for folder, start in ((scratch, "scratch"), (nlvr, "flip_it")):
        assert sentences(folder, start) == [EXAMPLE["sentence"]]
        (folder / "tower_scratch_dev.json").write_text(json.dumps(statement))
        (nlvr / "dev.json").write_text(json.dumps(changed[0]) + "\n")
        assert sentences(folder, start) == ["There is a block"]
        (nlvr / "dev.json").write_text(json.dumps(EXAMPLE) + "\n")


def test_unsolvable_means_within_the_edits_of_the_horizon(tmp_path):
    few = {0: "exist(all_items)", 1: "count(all_items) == 4", 3: "1 == 2"}
    many = {2: "count(all_items) == 11"}  # of towers alone, whose boards of ten and more blocks take long

    def ids(horizon, appearance="tower", programs=few):
        statements = {str(i): {"sentence": f"s {i}", "lf": program} for i, program in programs.items()}
        (tmp_path / f"{appearance}_scratch_dev.json").write_text(json.dumps(statements))
        options = {"source": "path", "path": str(tmp_path), "exclude_unsolvable": True}
        task = loquent.task("blocks", appearance=appearance, horizon=horizon, **options)
        return [int(row.id.removeprefix("dev-")) for row in task.rows("dev")]

    assert [ids(horizon) for horizon in (1, 2, 4, 5, 6)] == [[], [0], [0], [0, 1], [0, 1]]
    assert [ids(horizon, programs=many) for horizon in (11, 12)] == [[], [2]]
    assert [ids(horizon, "scatter") for horizon in (1, 4, 5)] == [[], [0], [0, 1]]


def test_a_board_on_which_a_program_has_no_value_does_not_solve_a_row(tmp_path):
    """`unique(all_boxes)` has no value: one item fails, two items are right, and then nothing is."""
    fails = "exist(unique(all_boxes))"
    programs = {
        "1": f"exist(all_items) and (count(all_items) == 2 or {fails})",
        "2": f"exist(all_items) and {fails}",
    }
    statements = {id: {"sentence": f"s {id}", "lf": program} for id, program in programs.items()}
    entry = {"label": "false", "uid": "7", "structured_rep": [[], [], []]}
    flips = {f"{id}-0-0": {**statement, **entry} for id, statement in statements.items()}
    for appearance in ("tower", "scatter"):
        (tmp_path / f"{appearance}_scratch_train.json").write_text(json.dumps(statements))
        (tmp_path / f"{appearance}_flipit_train.json").write_text(json.dumps(flips))
        for start in ("scratch", "flip_it"):
            options = {"source": "path", "path": str(tmp_path), "appearance": appearance, "start": start}
            both = loquent.task("blocks", **options, horizon=4)
            assert FixedSequence(both).share == 0.5
            (row,) = loquent.task("blocks", **options, horizon=4, exclude_unsolvable=True).rows("train")
            assert row["program"] == programs["1"]


def test_a_program_that_needs_too_much_work_to_judge_its_row_is_refused(tmp_path):
    loops = "exist(all_items)"
    for level in range(13):
        loops = f"All(all_boxes, lambda x{level}: {loops})"
    statements = {"7": {"sentence": "s", "lf": f"exist(all_items) and {loops} and 1 == 2"}}
    (tmp_path / "tower_scratch_dev.json").write_text(json.dumps(statements))
    task = loquent.task("blocks", source="path", path=str(tmp_path), exclude_unsolvable=True)
    with pytest.raises(BadRow, match=r"the row 'dev-7' cannot be judged: program .* units of work"):
        task.rows("dev")


def test_built_in_rows_are_unsolvable_by_the_horizon_too():
    options = {"appearance": "tower", "start": "flip_it", "exclude_unsolvable": True}
    assert not loquent.task("blocks", horizon=1, **options).rows("test")


def test_import_writes_the_sets_and_reports_what_is_missing(tmp_path, capsys):
    nlvr, scratch = folders(tmp_path, [EXAMPLE, {**EXAMPLE, "identifier": "2-0", "sentence": "No program"}])
    command = ["import", "nlvr", str(nlvr), str(scratch), "--out", str(tmp_path / "out"), "--json"]
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert "1 statements, 1 contexts; the published file has 676 and 317" in printed
    report = json.loads(printed.splitlines()[-1])
    (built,) = report["sets"].values()
    file = Path(built["file"])
    assert file == tmp_path / "out" / "tower_flipit_dev_partial.json"
    assert built["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (built["dropped"], built["corrected"], built["complete"]) == (["2-0"], [], False)
    assert report["unknown"] == ["dev"]
    assert {"train.json", "tower_scratch_test.json"} <= set(report["missing"])
    rows = loquent.task("blocks", source="path", path=str(file.parent), start="flip_it").rows("dev")
    assert [(row.id, row["target"]) for row in rows] == [("dev-1-0-0", False)]
    options = {"source": "path", "path": str(file.parent), "start": "flip_it"}
    assert loquent.task("blocks", **options).spec.splits == ("dev",)
    env = gymnasium.make("loquent/Blocks-v0", split="dev", **options)
    assert env.reset(seed=0)[0]["sentence"] == EXAMPLE["sentence"]
    assert cli.main(command) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nlvr", "nlvr", "scratch", "more"], "got 3 folders"),
        (["nlvr", "nlvr", "nlvr"], "no flip-it set can be built"),
        (["nlvr", "scratch"], "holds none of NLVR's files"),
        (["nlvr", "nlvr", "scratch", "--accept-changes"], "--accept-changes belongs to import rl4lms"),
        (["rl4lms", "a.yml", "b.yml"], "takes one file, got 2"),
    ],
)
def test_import_refuses_other_folders_and_arguments(tmp_path, monkeypatch, capsys, words, message):
    folders(tmp_path, [EXAMPLE])
    monkeypatch.chdir(tmp_path)
    assert cli.main(["import", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_with_nlvr_alone_has_no_rows(tmp_path):
    nlvr, _ = folders(tmp_path, [EXAMPLE])
    with pytest.raises(BadSetting, match=r"has no file tower_flipit_train\.json"):
        loquent.task("blocks", source="path", path=str(nlvr), start="flip_it").rows("dev")


def test_a_folder_without_nlvr_is_refused(tmp_path):
    nlvr, scratch = folders(tmp_path, [EXAMPLE])
    with pytest.raises(BadSetting, match=r"holds none of NLVR's files dev\.json"):
        rebuild(scratch, scratch)
    with pytest.raises(BadSetting, match="is no folder"):
        rebuild(tmp_path / "absent", scratch)
    (nlvr / "more").mkdir()
    (nlvr / "more" / "dev.json").write_text("")
    with pytest.raises(BadSetting, match="keep one file with NLVR's dev examples"):
        rebuild(nlvr, scratch)
