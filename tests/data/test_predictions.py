"""Files of predictions and references: what they hold, and what is said of those that hold something else."""

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loquent.data import predictions
from loquent.errors import BadRow


@pytest.fixture
def write(tmp_path):
    def file(name, content):
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(one) + "\n" for one in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def test_json_lines_by_hand(write):
    said = write("p.jsonl", [{"text": "a", "prompt": "q", "id": 7}, {"text": ""}])
    right = write("r.jsonl", [{"references": ["a", "b"], "table": [["x"]], "id": "7"}, {"references": []}])
    found = predictions.read(said, [right])
    assert found.predictions == ("a", "")
    assert found.references == (("a", "b"), ())
    assert found.prompts == ("q", "")
    assert [row.id for row in found.rows] == ["7", "2"]
    assert dict(found.rows[0].fields) == {"prompt": "q", "references": ("a", "b"), "table": (("x",),)}
    assert found.take([1, 0, 1]).predictions == ("", "a", "")
    assert [row.id for row in found.take([1, 0, 1]).rows] == ["2", "7", "2"]


def test_text_files_each_add_references_and_an_empty_line_adds_none(write):
    found = predictions.read(
        write("p.txt", "one\n\nthree\r\n"), [write("r1.en", "1\n2\n\n"), write("r2.en", "eins\n\n\n")]
    )
    assert found.predictions == ("one", "", "three")
    assert found.references == (("1", "eins"), ("2",), ())


def test_forms_may_differ_and_be_compressed(write):
    said = write("p.jsonl.gz", gzip.compress(b'{"text": "a", "references": ["r", "s"]}\n'))
    assert predictions.read(said).references == (("r", "s"),)
    right = write("r.jsonl", [{"references": ["s"]}])
    assert predictions.read(write("p.txt", "a"), [write("r.txt", "r"), right]).references == (("r", "s"),)
    assert predictions.read(said, [write("r.txt", "r"), right]).references == (
        ("r", "s"),
    )  # the same again is no contradiction
    with pytest.raises(BadRow, match=r"p\.jsonl\.gz:1: `references` differ from those of .*r\.jsonl:1"):
        predictions.read(said, [right])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.jsonl", b'{"text": "a"}\n{"text": \n', r"p\.jsonl:2: this line is not JSON"),
        (
            "p.jsonl",
            b'{"text": "a"}\n["text"]\n',
            r"p\.jsonl:2: this line holds \[.text.\]; a line must hold one JSON object",
        ),
        ("p.jsonl", b'{"text": "a"}\n\n', r"p\.jsonl:2: this line is blank"),
        (
            "p.jsonl",
            b'{"txt": "a", "id": "1"}\n',
            r"p\.jsonl:1: the field `text` is missing.*fields here: txt, id",
        ),
        ("p.jsonl", b'{"text": 5}\n', r"p\.jsonl:1: `text` holds 5; it must hold a text"),
        ("p.jsonl", b'{"text": null}\n', r"p\.jsonl:1: `text` holds null"),
        ("p.jsonl", b'{"text": "a", "prompt": ["b"]}\n', r"p\.jsonl:1: `prompt` holds"),
        ("p.jsonl", b'{"text": "a", "id": 1.5}\n', r"p\.jsonl:1: `id` holds 1\.5"),
        (
            "p.jsonl",
            b'{"text": "a", "id": 1}\n{"text": "b", "id": "1"}\n',
            r"p\.jsonl:2: the id '1' is that of line 1 too",
        ),
        (
            "p.jsonl",
            b'{"text": "a", "references": "b"}\n',
            r"p\.jsonl:1: `references` holds 'b'; it must hold a list of texts",
        ),
        ("p.jsonl", b'{"text": "a", "references": ["b", 3]}\n', r"p\.jsonl:1: `references` holds"),
        ("p.jsonl", b'{"text": "a", "text": "b"}\n', r"p\.jsonl:1: .*stands twice"),
        ("p.jsonl", b'{"text": "a", "n": NaN}\n', r"p\.jsonl:1: .*NaN is not a JSON number"),
        ("p.jsonl", b'{"text": "\\ud83d"}\n', r"p\.jsonl:1: a text holds the lone surrogate .ud83d"),
        (
            "p.jsonl",
            b'{"text": "a", "deep": ' + b"[" * 600 + b"]" * 600 + b"}\n",
            r"p\.jsonl:1: .*nested too deep",
        ),
        ("p.jsonl", b'{"text": "a", "deep": ' + b"[" * 100000 + b"\n", r"p\.jsonl:1: this line is not JSON"),
        ("p.jsonl", b'{"text": "a", "n": ' + b"9" * 5000 + b"}\n", r"p\.jsonl:1: this line is not JSON"),
        ("p.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', r"p\.jsonl:2: this line is not UTF-8: byte 0xff"),
        ("p.txt", b"a\nb\xe9\n", r"p\.txt:2: this line is not UTF-8: byte 0xe9 at column 2"),
        ("p.txt", b"", r"p\.txt: the file is empty"),
        ("p.jsonl", b"", r"p\.jsonl: the file is empty"),
        ("p.jsonl.gz", b"no gzip", r"p\.jsonl\.gz:1: this file cannot be read further"),
        ("p.csv", b"text\na\n", r"p\.csv: files that end in \.csv cannot be read"),
        ("p.json", b'[\n{"text": "a"}]', r"p\.json:1: this line is not JSON"),
    ],
)
def test_a_bad_file_is_named_with_its_line(write, name, content, says):
    with pytest.raises(BadRow, match=says):
        predictions.read(write(name, content))


def test_what_is_no_file_is_named(tmp_path, write):
    with pytest.raises(BadRow, match=r"nowhere\.txt: there is no such file"):
        predictions.read(tmp_path / "nowhere.txt")
    with pytest.raises(BadRow, match="this is a folder"):
        predictions.read(write("p.txt", "a"), [tmp_path])


def test_references_that_do_not_fit_are_named(write):
    said = write("p.jsonl", [{"text": "a", "prompt": "x"}, {"text": "b"}])
    with pytest.raises(BadRow, match=r"r\.txt:1: the file ends after 1 samples, and .*p\.jsonl holds 2"):
        predictions.read(said, [write("r.txt", "a\n")])
    with pytest.raises(
        BadRow,
        match=r"p\.jsonl:2: the file ends after 2 samples, and .*r\.txt holds 3 \(its last line is empty\)",
    ):
        predictions.read(said, [write("r.txt", "a\nb\n\n")])
    with pytest.raises(
        BadRow,
        match=r"r\.jsonl:1: the field `references` is missing; it must hold a list of texts; fields here: "
        r"text",
    ):
        predictions.read(said, [write("r.jsonl", [{"text": "a"}] * 2)])
    with pytest.raises(BadRow, match=r"r\.jsonl:1: `prompt` is 'y', and 'x' in .*p\.jsonl:1"):
        predictions.read(said, [write("r.jsonl", [{"references": [], "prompt": "y"}, {"references": []}])])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["text", "references", "prompt", "id", "x", ""]),
    JSON | st.lists(st.text(max_size=3)),
    max_size=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.binary(max_size=60), st.lists(OBJECTS, max_size=3)),
    st.one_of(st.binary(max_size=60), st.lists(OBJECTS, max_size=3)),
)
def test_no_file_raises_anything_else(write, said, right):
    for name in ("p.jsonl", "p.txt"):
        for other in ("r.jsonl", "r.txt"):
            try:
                found = predictions.read(write(name, said), [write(other, right)])
            except BadRow as error:
                blamed = str(error).split(": ")[0].rpartition("/")[2].split(":")[0]
            else:
                blamed = name
                assert len(found.predictions) == len(found.references) == len(found.prompts) == len(found)
            assert blamed in (name, other)
