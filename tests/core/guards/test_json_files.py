"""The one reader of JSON: what is refused, in which words, and that nobody reads JSON beside it."""

import ast

import pytest

from helpers.sources import HOUSE, nodes
from loquent.core.guards import json_files
from loquent.core.guards.json_files import LEVELS, BadJson
from loquent.errors import BadCheckpoint, BadModel

REFUSED = {
    "empty": (b"", 1, "is not JSON"),
    "cut off": (b'{\n"a": [1,', 2, "is not JSON"),
    "two values": (b"{}\n{}", 2, "is not JSON"),
    "no UTF-8": (b'{"a":\n"\xff"}', 2, "is not UTF-8: can't decode byte 0xff"),
    "deeper than Python reads": (b"[" * 100_000, 0, f"nested too deep; at most {LEVELS} levels are allowed"),
    "deeper than allowed": (b"[" * (LEVELS + 1) + b"]" * (LEVELS + 1), 0, "nested too deep"),
    "a deep object": (b'{"a":' * (LEVELS + 1) + b"1" + b"}" * (LEVELS + 1), 0, "nested too deep"),
    "too many digits": (b"9" * 5000, 0, "thousands of digits"),
    "NaN": (b'{"a": NaN}', 0, "NaN is not a JSON number"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_json_is_refused_with_its_file_and_line(kind, tmp_path):
    text, line, says = REFUSED[kind]
    with pytest.raises(BadJson, match=says) as caught:
        json_files.loads(text)
    assert caught.value.line == line
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(BadModel, match=rf"a\.json{f':{line}' if line else ''}: .*{says}.*; delete it"):
        json_files.load(tmp_path / "a.json", "delete it", error=BadModel)


def test_what_is_allowed_is_read(tmp_path):
    assert json_files.loads(b"[" * LEVELS + b"]" * LEVELS) == json_files.loads("[" * LEVELS + "]" * LEVELS)
    assert json_files.loads("[" + "[]," * 500 + "{}]") == [[]] * 500 + [{}], "wide is not deep"
    assert json_files.loads('{"a": [1.5, "[[[", null], "a": 2}') == {"a": 2}
    assert json_files.loads('{"a": [NaN, -Infinity]}', nan="null") == {"a": [None, None]}
    with pytest.raises(BadJson, match="the name 'a' stands twice"):
        json_files.loads('{"a": 1, "a": 2}', unique=True)


def test_a_file_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "MOST_BYTES", 100)
    (tmp_path / "a.json").write_text(" " * 101)
    with pytest.raises(BadCheckpoint, match=r"a\.json: it has 101 bytes; at most 100 are read"):
        json_files.load(tmp_path / "a.json")


@pytest.mark.parametrize("kind", ["missing", "a folder", "a pipe", "a loop"])
def test_what_is_no_file_is_refused(kind, tmp_path):
    import os

    file = tmp_path / "a.json"
    {
        "missing": lambda: None,
        "a folder": file.mkdir,
        "a pipe": lambda: os.mkfifo(file),
        "a loop": lambda: file.symlink_to(file),
    }[kind]()
    with pytest.raises(BadCheckpoint, match=r"a\.json: it (is not a regular file|cannot be read)"):
        json_files.load(file)


@pytest.mark.parametrize("text", ["[]", "null", "1", '"a"'])
def test_another_thing_than_an_object_is_named(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BadCheckpoint, match=r"a\.json: it must hold a JSON object \{\.\.\.\}, got "):
        json_files.load_object(tmp_path / "a.json")


def test_lines_are_numbered_and_a_torn_end_may_be_left_out(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"a": 1}\n[2]\n{"a"')
    assert list(json_files.lines(file, torn_end=True)) == [(1, {"a": 1}), (2, [2])]
    with pytest.raises(BadJson) as caught:
        list(json_files.lines(file))
    assert caught.value.line == 3
    file.write_bytes(b'{"a"\n[2]\n')
    with pytest.raises(BadJson) as caught:
        list(json_files.lines(file, torn_end=True))
    assert caught.value.line == 1


def test_nobody_else_reads_json():
    """A reader of its own would have bounds and errors of its own, or none.

    The process with limits reads what its own parent writes to it, and the tokenizer that it checks.
    """
    found = []
    for path in sorted(HOUSE.rglob("*.py")):
        for node in nodes(path):
            called = (
                isinstance(node, ast.Attribute)
                and node.attr in ("load", "loads", "JSONDecoder")
                and isinstance(node.value, ast.Name)
            )
            imported = isinstance(node, ast.ImportFrom) and node.module == "json"
            if (called and node.value.id == "json") or imported:
                found.append(path.relative_to(HOUSE).as_posix())
    workers = ["core/guards/sandbox_worker.py", "core/guards/tokenizer_worker.py"]
    assert found == ["core/guards/json_files.py", *workers]
