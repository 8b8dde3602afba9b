"""The flip-it sets built again from NLVR, and the solvability of the published statements (spec figures)."""

import json
from collections import Counter

import pytest

import loquent
from loquent.errors import BadRow, BadSetting
from loquent.tasks.blocks import published, solvable
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
        file = published.find(data / "lilgym", each.name.split("_")[0], "flipit", "dev")
        (tmp_path / f"{each.name}.json").write_text(json.dumps(each.entries))
        built = published.read(tmp_path / f"{each.name}.json")
        assert built.statements == published.read(file).statements


@pytest.mark.data
def test_the_fewest_additions_of_the_development_towers_are_as_measured(beside):
    file = published.find(beside / "data" / "lilgym", "tower", "scratch", "dev")
    statements = published.read(file).statements.values()
    found = Counter(solvable.solution(each.program, True, each.board, "tower").edits for each in statements)
    assert found == {0: 4, 1: 39, 2: 71, 3: 36, 4: 11, 7: 1, 8: 1}


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
        ({**EXAMPLE, "identifier": 3}, "identifier must be like '12-0', got 3"),
        ({**EXAMPLE, "identifier": "2-0", "sentence": None}, "sentence must be a text, got null"),
        ({**EXAMPLE, "identifier": "2-0", "label": True}, "label must be 'true' or 'false', got true"),
        ({**EXAMPLE, "identifier": "2-0", "structured_rep": [[]]}, "must be a list of 3 boxes"),
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
