"""The published files: read with typed errors, and compared with the counts and hashes that are known."""

import gzip
import json
from collections import Counter

import pytest

from loquent.errors import BadRow
from loquent.tasks.blocks.nlvr.statement_files import KNOWN, find, find_all, read

MISSING = {134, 1747, 1962, 2107, 2150}  # statements without a program


@pytest.fixture
def lilgym(beside):
    return beside / "data/lilgym"


@pytest.mark.data
def test_the_files_are_the_published_ones(lilgym):
    files = {file.name: read(file) for file in find_all(lilgym)}
    assert len(files) == 8
    assert {name: file.differences for name, file in files.items() if file.differences} == {}
    whole = {file.name for file in files.values() if not file.partial}
    assert whole == {name for name in KNOWN if name.endswith("_dev") or name.endswith("scratch_train")}
    partial = {file.name: len(file.statements) for file in files.values() if file.partial}
    assert partial == {"tower_flipit_train": 1656, "scatter_flipit_train": 1866}


@pytest.mark.data
def test_labels_and_states_per_context_are_as_counted(lilgym):
    for appearance, true, most in (("tower", 381, 10), ("scatter", 164, 4)):
        statements = read(find(lilgym, appearance, "flipit", "dev")).statements.values()
        assert sum(each.label for each in statements) == true
        assert max(Counter((each.sentence, each.label) for each in statements).values()) == most


@pytest.mark.data
def test_numbers_of_statements_are_one_to_one_with_sentences(lilgym):
    sentences = {}
    for appearance in ("tower", "scatter"):
        for split in ("train", "dev"):
            for each in read(find(lilgym, appearance, "scratch", split)).statements.values():
                assert sentences.setdefault(each.uid, each.sentence) == each.sentence
    assert len(set(sentences.values())) == len(sentences)
    assert {int(uid) for uid in sentences} <= set(range(1, 2667)) - MISSING


@pytest.mark.data
def test_boards_join_with_the_statements_by_uid(lilgym):
    for appearance in ("tower", "scatter"):
        for split in ("train", "dev"):
            scratch = read(find(lilgym, appearance, "scratch", split)).statements
            for each in read(find(lilgym, appearance, "flipit", split)).statements.values():
                same = scratch[each.uid]
                assert (each.sentence, each.program) == (same.sentence, same.program)


@pytest.mark.data
def test_blanks_around_a_program_are_removed(lilgym):
    program = read(find(lilgym, "scatter", "scratch", "train")).statements["307"].program
    assert program == program.strip()


GOOD = {
    "1-0-0": {
        "sentence": "There is a black block",
        "lf": " exist(filter_obj(all_items, is_black))",
        "label": "true",
        "uid": "7",
        "structured_rep": [
            [],
            [{"x_loc": 40, "y_loc": 80, "size": 20, "color": "Black", "type": "square"}],
            [],
        ],
    }
}


def written(tmp_path, entries, name="tower_flipit_dev.json"):
    file = tmp_path / name
    text = entries if isinstance(entries, str) else json.dumps(entries)
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


def test_a_file_is_read(tmp_path):
    file = read(written(tmp_path, GOOD, "tower_flipit_dev.json.gz"))
    (statement,) = file.statements.values()
    assert statement.program == "exist(filter_obj(all_items, is_black))"
    assert (statement.id, statement.uid, statement.label) == ("1-0-0", "7", True)
    assert file.differences[0] == "statements: 1, the published file has 676"
    assert len(file.differences) == 3


def with_(**fields):
    return {"1-0-0": {**GOOD["1-0-0"], **fields}}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("{", r"tower_flipit_dev.json:1: it is not JSON"),
        ("[]", r"it must hold a JSON object of statements"),
        ('{"a": {}, "a": {}}', r"'a' stands twice"),
        ({"1": 3}, r"statement '1' must be an object \{...\}, got 3"),
        (with_(sentence=" "), r"statement '1-0-0'.sentence must be a text"),
        (with_(sentence="x" * 321), r"sentence must have at most 320 characters, got 321"),
        (with_(lf=None), r"statement '1-0-0'.lf must be a text, got null"),
        (with_(lf="__import__(1)"), r"statement '1-0-0'.lf: program .*unknown function '__import__'"),
        (with_(label=True), "label must be one of 'true', 'false', got true"),
        (with_(uid=7), r"uid must be a text, got 7"),
        (with_(structured_rep=[[], []]), r"statement '1-0-0'.structured_rep must be a list of 3"),
        (
            with_(
                structured_rep=[
                    [{"x_loc": 4, "y_loc": 80, "size": 20, "color": "Black", "type": "square"}],
                    [],
                    [],
                ]
            ),
            r"structured_rep must be towers",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path, entries, message):
    with pytest.raises(BadRow, match=message) as caught:
        read(written(tmp_path, entries))
    assert "tower_flipit_dev.json" in str(caught.value)


def test_files_that_are_not_published_ones_are_refused(tmp_path):
    with pytest.raises(BadRow, match=r"no published file is here"):
        find_all(tmp_path)
    with pytest.raises(BadRow, match=r"the name of a published file must be as"):
        read(written(tmp_path, {}, "towers.json"))
    torn = tmp_path / "tower_flipit_dev.json.gz"
    torn.write_bytes(gzip.compress(b"{}" * 99)[:-9])
    with pytest.raises(BadRow, match=r"it cannot be read"):
        read(torn)
