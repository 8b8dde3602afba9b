"""Hostile YAML is refused in a moment, with file and line; what settings need is read as before."""

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from helpers.sources import HOUSE, nodes
from loquent.bench import suite
from loquent.cli.convert import rl4lms
from loquent.core import safe_yaml
from loquent.core.options import COMMAND_LINE, dump, parse
from loquent.errors import BadSetting, LoquentError
from loquent.report.runs import ReportedRun
from loquent.training import recipes

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
LONG = "t: &t " + "x" * 100_000 + "\nall: [" + ", ".join(["*t"] * 100) + "]\n"
HOSTILE = {
    "a tag of Python": (
        "a: 1\nb: !!python/object/apply:os.system [echo]",
        "f.yaml:2: the tag '!!python/object/apply:os.system'",
    ),
    "a tag of a scalar": ("!!binary aGVsbG8=", "the tag '!!binary'"),
    "a local tag": ("a: !include /etc/passwd", "f.yaml:1: the tag '!include'"),
    "a tag on a key": ("!!python/name:os.system x: 1", "the tag"),
    "a tag that does not fit": ("a: !!map [1]", "the tag '!!map'"),
    "a set": ("a: !!set {x, y}", "the tag '!!set'"),
    "not a number": ("\na: !!int x", "f.yaml:2: 'x' is not of the type int"),
    "not a bool": ("a: !!bool maybe", "'maybe' is not of the type bool"),
    "an empty number": ("a: !!int ''", "'' is not of the type int"),
    "no digits": ("a: 0x_", "'0x_' is not of the type int"),
    "a huge integer": ("a: " + "1" * 5000, "a number of 5000 characters"),
    "an integer beyond 64 bits": (
        "a: 9223372036854775808",
        "an integer must be in [-9223372036854775807, 9223372036854775807], got",
    ),
    "a huge sexagesimal": (
        "a: 1" + ":59" * 30,
        "an integer must be in [-9223372036854775807, 9223372036854775807], got",
    ),
    "an alias bomb": (BOMB, "values, counting each alias"),
    "a bomb of letters": (LONG, "letters, counting each alias"),
    "a cycle": ("a: &a\n  b: *a", "f.yaml:2: *a refers to a value that contains it"),
    "a cycle of a list": ("&a [*a]", "refers to a value that contains it"),
    "no anchor": ("a: *b", "*b has no &b before it"),
    "deep lists": ("[" * 5000, "nested deeper than 32"),
    "deep lines": (
        "\n".join(" " * i + "a:" for i in range(200)),
        "f.yaml:33: lists and mappings are nested deeper",
    ),
    "deep aliases": (
        "".join(f"a{i}: &a{i} [*a{i - 1}]\n" if i else "a0: &a0 [x]\n" for i in range(50)),
        "nested deeper",
    ),
    "a list as a key": ("? [a]\n: b", "a list cannot be a key"),
    "a mapping as a key": ("{a: 1}: b", "a mapping cannot be a key"),
    "an alias as a key": ("a: &x y\n*x : z", "an alias cannot be a key"),
    "a key twice": ("a: 1\nb: 2\na: 3", "f.yaml:3: 'a' is repeated"),
    "two documents": ("a: 1\n---\nb: 2", "f.yaml:2: a second document"),
    "a control character": ("a: 1\nb: \x01", "f.yaml:2: '\\x01' is not allowed in YAML"),
    "an escape beyond Unicode": ('a: "\\UFFFFFFFF"', "f.yaml:1: this is not YAML"),
    "half a character": ("a: \ud800", "'\\ud800' is not allowed in YAML"),
    "a long version": ("%YAML " + "1" * 5000 + ".1\n---\na: 1", "this is not YAML"),
    "many values": ("[" + "x," * 60_000 + "]", "more than 50,000 values"),
    "many letters": ("a: " + "x" * 2_000_000, "more than 1,048,576 bytes"),
    "a tab": ("a:\n\t- b", "f.yaml:2: this is not YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_with_its_place(name):
    text, said = HOSTILE[name]
    before = time.process_time()
    with pytest.raises(BadSetting) as caught:
        parse(text, "f.yaml")
    assert said in str(caught.value)
    assert str(caught.value).startswith("f.yaml:")
    assert len(str(caught.value)) < 500
    assert time.process_time() - before < 10  # seconds; the bomb took gigabytes, the deep ones Python's stack


@pytest.mark.parametrize(
    "name",
    [
        "a tag of Python",
        "a cycle of a list",
        "a cycle",
        "a huge integer",
        "half a character",
        "a list as a key",
    ],
)
def test_a_value_of_the_command_line_is_read_alike(name):
    text, said = HOSTILE[name]
    value = text.removeprefix("a: 1\nb: ").removeprefix("a: ")
    with pytest.raises(BadSetting) as caught:
        recipes.load("reviews_ppo", [f"algorithm.clip={value}"])
    assert said.partition("f.yaml")[0] in str(caught.value)
    assert str(caught.value).startswith(COMMAND_LINE)


def test_a_path_of_many_parts_is_no_deep_recursion():
    with pytest.raises(BadSetting, match="parts"):
        recipes.load("reviews_ppo", [".".join(["a"] * 5000) + "=1"])


READERS = {"recipe": recipes.load, "suite": suite.load, "rl4lms": rl4lms.convert}


CONTENTS = [
    *(HOSTILE[name][0].encode() for name in ("an alias bomb", "a cycle", "a tag of Python")),
    b"a: \xff",
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENTS)
def test_every_file_is_read_by_the_one_reader(tmp_path, reader, content):
    file = tmp_path / "f.yaml"
    file.write_bytes(content)
    with pytest.raises(LoquentError, match=r"f\.yaml:\d+: "):
        READERS[reader](file)


def test_a_runs_config_too(tmp_path):
    (tmp_path / "config.yaml").write_text(BOMB)
    with pytest.raises(BadSetting, match=r"config\.yaml:\d+: "):
        ReportedRun(tmp_path).config  # noqa: B018


def test_a_large_file_is_not_read_whole(tmp_path):
    file = tmp_path / "f.yaml"
    with file.open("wb") as made:
        made.truncate(2**40)  # a hole, which takes no disk
    with pytest.raises(BadSetting, match="more than 1,048,576 bytes"):
        recipes.load(file)


def test_plain_values_are_what_they_were():
    text = (
        "a: 1\nb: [1.5, 1e-5, .inf, 0x1F, 1_000, yes, ~, '1', \"2\"]\nc: !!str 12\nd: !!float 1\ne: {x: "
        "y}\nf: ! 3\n? g\n: |\n  text\n"
    )
    found = parse(text, "f").bare()
    assert found == {
        "a": 1,
        "b": [1.5, 1e-5, float("inf"), 31, 1000, True, None, "1", "2"],
        "c": "12",
        "d": 1.0,
        "e": {"x": "y"},
        "f": "3",
        "g": "text\n",
    }


def test_dates_and_merge_keys_are_text():
    assert parse("a: 2020-13-45\nb: 2020-01-02\n<<: {c: =}", "f").bare() == {
        "a": "2020-13-45",
        "b": "2020-01-02",
        "<<": {"c": "="},
    }


def test_an_alias_is_a_copy():
    root = parse("a: &a {x: 1}\nb: *a", "f")
    root.value["b"].value["x"] = safe_yaml.Node(2, "f", 1)
    assert root.bare() == {"a": {"x": 1}, "b": {"x": 2}}


LEAVES = (
    some.none()
    | some.booleans()
    | some.integers(-(2**63) + 1, 2**63 - 1)
    | some.floats(allow_nan=False)
    | some.text()
)


@given(
    some.recursive(
        LEAVES, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=8
    )
)
def test_what_is_written_is_read_again(value):
    assert parse(dump(value), "f").bare() == value


def test_nothing_else_reads_yaml():
    used = {}
    for file in HOUSE.rglob("*.py"):
        for node in nodes(file):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "yaml"
            ):
                used.setdefault(file.name, set()).add(node.attr)
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] != "yaml", (
                    f"{file}: import yaml whole, so that this test sees what is used"
                )
    others = {name: found - {"safe_dump"} for name, found in used.items() if name != "safe_yaml.py"}
    assert not any(others.values()), f"{others}: read YAML with loquent.core.safe_yaml"
    assert "parse" in used["safe_yaml.py"]  # it sees the one that does


def test_a_tree_that_was_taken_apart_is_whole_when_its_text_is_read_again():
    text = "a: {b: [1, {c: 2}]}"
    first = parse(text, "f.yaml")
    whole = first.bare()
    first.value["a"].value["b"].value[1].value.pop("c")
    first.value.pop("a")
    assert parse(text, "f.yaml").bare() == whole != first.bare()
    assert parse(text, "g.yaml").value["a"].place == "g.yaml:1"
