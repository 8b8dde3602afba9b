"""Readers: what is read, and that every bad row is named by file and line."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.data.columns import Columns
from loquent.data.readers import csv_rows, jsonl, reader, text_lines
from loquent.data.sources import Source, load
from loquent.errors import BadRow


def rows_of(path, **fields):
    return [row for rows in load(Source(kind="path", path=str(path), **fields)).values() for row in rows]


def test_json_lines_keep_every_field_and_know_their_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "one two", "label": 1, "stars": [1, {"x": null}]}\r\n{"text": "three\\nfour", "label": 0}',
        encoding="utf-8",
    )
    assert list(jsonl(path)) == [
        (1, {"text": "one two", "label": 1, "stars": [1, {"x": None}]}),
        (2, {"text": "three\nfour", "label": 0}),
    ]


def test_csv_rows_begin_where_their_first_line_is(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbftext,label\n"two\nlines, one row",pos\nshort,neg\n')
    assert list(csv_rows(path)) == [
        (2, {"text": "two\nlines, one row", "label": "pos"}),
        (4, {"text": "short", "label": "neg"}),
    ]


def test_only_line_feeds_end_a_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\u2028still one\x0bstill\r\ntwo\n", encoding="utf-8", newline="")
    assert list(text_lines(path)) == [(1, {"text": "one\u2028still one\x0bstill"}), (2, {"text": "two"})]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_gzip_reads_as_the_plain_file(tmp_path, name):
    content = {"a.jsonl": b'{"text": "x y"}\n', "a.csv": b"text\nx y\n", "a.txt": b"x y\n"}[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    plain, packed = tmp_path / name, tmp_path / f"{name}.gz"
    assert list(reader(plain)(plain)) == list(reader(packed)(packed))
    assert reader(Path("a.parquet")) is None


BAD = {
    "no JSON": ("train.jsonl", b'{"text": "a b"}\n{"text": oops}\n', 2, "is not JSON"),
    "a list": ("train.jsonl", b'{"text": "a b"}\n["a"]\n', 2, "one JSON object"),
    "a blank line": ("train.jsonl", b'{"text": "a b"}\n\n{"text": "c d"}\n', 2, "blank"),
    "NaN": ("train.jsonl", b'{"text": "a b", "x": NaN}\n', 1, "NaN is not a JSON number"),
    "a name twice": ("train.jsonl", b'{"text": "a b", "text": "c"}\n', 1, "stands twice"),
    "deep nesting": ("train.jsonl", b'{"text": ' + b"[" * 100_000, 1, "is not JSON"),
    "a missing field": ("train.jsonl", b'{"text": "a b"}\n{"txet": "c d"}\n', 2, "did you mean 'txet'"),
    "a wrong type": ("train.jsonl", b'{"text": "a b"}\n{"text": 7}\n', 2, "is an int; it must be a string"),
    "an empty text": ("train.jsonl", b'{"text": "a b"}\n{"text": " \\n "}\n', 2, "is empty"),
    "a label of the wrong type": (
        "train.jsonl",
        b'{"text": "a b", "label": 0.5}\n',
        1,
        "an integer or a string",
    ),
    "a label that is a truth value": (
        "train.jsonl",
        b'{"text": "a b", "label": true}\n',
        1,
        "an integer or a string",
    ),
    "a label that is missing": (
        "train.jsonl",
        b'{"text": "a b", "label": 1}\n{"text": "a c"}\n',
        2,
        "'label' is missing",
    ),
    "a label where none was": (
        "train.jsonl",
        b'{"text": "a b"}\n{"text": "a c", "label": 1}\n',
        2,
        "the rows before it have none",
    ),
    "no UTF-8": (
        "train.jsonl",
        b'{"text": "a b"}\n{"text": "\xff"}\n',
        2,
        "not UTF-8: byte 0xff at column 11",
    ),
    "an empty file": ("train.jsonl", b"", None, "the file is empty"),
    "references of the wrong type": (
        "train.jsonl",
        b'{"prompt": "a", "references": 3}\n',
        1,
        "'references' is 3",
    ),
    "no references": ("train.jsonl", b'{"prompt": "a", "references": []}\n', 1, "at least one string"),
    "an empty reference": (
        "train.jsonl",
        b'{"prompt": "a", "references": ["b", ""]}\n',
        1,
        "reference 1 is empty",
    ),
    "a short row": ("train.csv", b"text,label\na b,1\nc d\n", 3, "1 cells; it must have 2"),
    "an open quote": ("train.csv", b'text\na b\n"c d\n', 3, "is not CSV"),
    "a column twice": ("train.csv", b"text,text\na,b\n", 1, "a different name"),
    "a header alone": ("train.csv", b"text,label\n", None, "no rows"),
    "an empty line of text": ("train.txt", b"a b\n\nc d\n", 2, "is empty"),
    "broken gzip": ("train.txt.gz", gzip.compress(b"a b\n" * 1000)[:-12], None, "cannot be read further"),
    "no gzip at all": ("train.txt.gz", b"a b\n", 1, "cannot be read further"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_named_by_file_and_line(tmp_path, case):
    name, content, line, why = BAD[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadRow, match=why.replace("(", r"\(")) as raised:
        rows_of(tmp_path)
    assert str(tmp_path / name) + (f":{line}: " if line else "") in str(raised.value)


def test_the_good_half_of_each_bad_file_is_read(tmp_path):
    # the twin: the same files without the bad line raise nothing
    (tmp_path / "train.jsonl").write_bytes(b'{"text": "a b"}\n{"text": "c d"}\n')
    assert len(rows_of(tmp_path)) == 2


def test_labels_stay_raw_and_unknown_ones_are_named(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"text": "a b", "mood": 1}\n{"text": "c d", "mood": "glad"}\n')
    assert sorted((row["label"] for row in rows_of(tmp_path, label_field="mood")), key=str) == [1, "glad"]
    assert all("label" not in row.fields for row in rows_of(tmp_path))
    with pytest.raises(BadRow, match=r"train.jsonl:2: the label 'glad' is unknown; known: 0, 1"):
        rows_of(tmp_path, label_field="mood", labels=("0", "1"))
    with pytest.raises(BadRow, match=r"train.jsonl:1: the field 'moood' is missing; did you mean 'mood'\?"):
        rows_of(tmp_path, label_field="moood")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",))).filter(lambda text: text.strip()),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_survives_json_lines(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("x") / "a.jsonl"
    path.write_bytes(
        "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()
    )
    assert [record["text"] for _, record in jsonl(path)] == texts


@given(st.binary(max_size=80))
def test_no_file_raises_anything_but_a_bad_row(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("x")
    said = []
    for name in ("a.jsonl", "a.csv", "a.txt", "b.txt.gz"):
        (folder / name).write_bytes(content)
        try:
            records = [
                ((folder / name, line), record) for line, record in reader(folder / name)(folder / name)
            ]
            Columns().rows(records, str)
        except BadRow as error:
            said.append((name, str(error)))
    assert all(name in message for name, message in said)
