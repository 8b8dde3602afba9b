"""Files of rows: the same rows in every format, hostile files, and splits."""

import csv
import gzip
import json
import random
import warnings
from collections import Counter

import pytest

from loquent.core.guards import arrow_files
from loquent.core.settings import Remark
from loquent.core.values import Record
from loquent.data import sources
from loquent.data.pools import Pool
from loquent.data.sources import Source, load
from loquent.data.tables.rows import Rows
from loquent.errors import BadRow, BadSetting, LoquentError

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import ipc, parquet  # noqa: E402

ROWS = [
    {"prompt": f'ask "{i}", é\n— now', "completion": f" answer {i}", "source": None if i % 3 else "x"}
    for i in range(40)
]
ENDINGS = ["jsonl", "json", "ndjson", "jsonl.gz", "csv", "csv.gz", "parquet", "stream.arrow", "file.arrow"]


def write(path, rows):
    """A file of rows in the format of its name."""
    name = path.name
    table = None if "arrow" not in name and "parquet" not in name else pyarrow.Table.from_pylist(rows)
    if name.endswith("parquet"):
        parquet.write_table(table, path, row_group_size=7)
    elif table is not None:
        made = ipc.new_file if name.endswith("file.arrow") else ipc.new_stream
        with made(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    else:
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8", newline="") as file:
            if ".csv" in name:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        splits = load(Source(kind="path", path=str(path), **options))
    return {split: list(rows) for split, rows in splits.items()}


def as_read(rows, cells):
    """The fields of rows without the columns that a format may not have: CSV has no None."""
    return [
        [(row.id, {k: v for k, v in row.fields.items() if k != "source" or not cells}) for row in part]
        for part in rows.values()
    ]


@pytest.fixture(params=["in memory", "stored"])
def kept(request, monkeypatch, tmp_path):
    """Rows are read in both ways: into memory, and from a store on disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.param == "stored":
        monkeypatch.setattr(sources, "LARGE", 0)
    return request.param


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_has_the_same_rows_in_the_same_splits(tmp_path, kept, ending):
    (tmp_path / "a").mkdir()
    expected = read(write(tmp_path / "a/rows.jsonl", ROWS))
    assert {split: len(rows) for split, rows in expected.items()} == {"train": 32, "validation": 3, "test": 5}
    found = read(write(tmp_path / f"rows.{ending}", ROWS))
    cells = "csv" in ending
    assert as_read(found, cells) == as_read(expected, cells)
    row = next(row for rows in found.values() for row in rows if row.id == "rows-2")
    assert (row["prompt"], row["references"]) == ('ask "1", é\n— now', (" answer 1",))


@pytest.mark.parametrize("whole", [False, True])
def test_a_folder_that_datasets_saved(tmp_path, kept, whole):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    table = datasets.Dataset.from_list(ROWS)
    saved = table if whole else datasets.DatasetDict({"train": table, "valid": table.select(range(5))})
    saved.save_to_disk(str(tmp_path / "rows"))
    found = read(tmp_path / "rows")
    if whole:
        assert as_read(found, False) == as_read(read(write(tmp_path / "rows.jsonl", ROWS)), False)
    else:
        assert {split: len(rows) for split, rows in found.items()} == {"train": 40, "validation": 5}
        assert found["validation"][4]["prompt"] == ROWS[4]["prompt"]


def test_parts_of_a_split_are_joined(tmp_path, kept):
    for i in range(2):
        write(tmp_path / f"train-0000{i}-of-00002.parquet", ROWS[20 * i : 20 * i + 20])
    write(tmp_path / "test.jsonl", ROWS[:3])
    (tmp_path / "validation.csv").write_text("prompt\na b\n")
    found = read(tmp_path)
    assert [row.id for row in found["train"]] == [f"train-{i}" for i in range(1, 41)]
    assert [row["prompt"] for row in found["train"]] == [row["prompt"] for row in ROWS]
    (tmp_path / "train-00001-of-00002.parquet").unlink()
    with pytest.raises(BadSetting, match="one of 2 files, and 1 are here"):
        read(tmp_path)


def test_what_is_divided_here_is_told_with_its_sizes(tmp_path, kept):
    path = write(tmp_path / "rows.jsonl", ROWS)
    with pytest.warns(Remark, match="rows.jsonl has no splits; .*: 32 train, 3 validation, 5 test"):
        load(Source(kind="path", path=str(path)))
    (tmp_path / "of").mkdir()
    write(tmp_path / "of/train.jsonl", ROWS)
    with pytest.warns(Remark, match="of has no validation rows; .*: 32 train, 8 validation"):
        load(Source(kind="path", path=str(tmp_path / "of")))


def table(**columns):
    return pyarrow.table(columns)


def test_columns_that_json_does_not_have_are_converted_or_left_out_and_told(tmp_path, kept):
    import datetime

    day = datetime.date(2026, 11, 27)
    parquet.write_table(
        table(
            prompt=["a b"],
            day=[day],
            raw=[b"\xff"],
            deep=[[{"x": 1.5, "when": datetime.datetime(2026, 1, 2)}]],
            kind=pyarrow.array(["good"]).dictionary_encode(),
        ),
        tmp_path / "train.parquet",
    )
    with pytest.warns(Remark, match=r"columns are left out.*: raw \(binary\)"):
        [row] = load(Source(kind="path", path=str(tmp_path / "train.parquet")))["train"]
    assert dict(row.fields) == {
        "prompt": "a b",
        "references": (),
        "day": "2026-11-27",
        "deep": (Record(x=1.5, when="2026-01-02T00:00:00"),),
        "kind": "good",
    }


def compressed(path, made=ipc.new_stream):
    data = table(prompt=["a b"] * 1000)
    with made(str(path), data.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(data)


def dictionary_file(path):
    data = table(prompt=pyarrow.array(["a b"] * 3).dictionary_encode())
    with ipc.new_file(str(path), data.schema) as writer:
        writer.write_table(data)


HOSTILE = {
    "a Parquet file of noise": (
        "train.parquet",
        lambda p: p.write_bytes(b"PAR1" + b"\0" * 99),
        "cannot be read",
    ),
    "a Parquet file that is cut": (
        "train.parquet",
        lambda p: p.write_bytes(write(p, ROWS).read_bytes()[:-40]),
        "cannot be read",
    ),
    "an Arrow file of noise": (
        "train.arrow",
        lambda p: p.write_bytes(b"ARROW1\0\0" + b"\xff" * 99),
        "cannot be read",
    ),
    "a compressed stream": ("train.arrow", compressed, "is compressed"),
    "a compressed file": ("train.arrow", lambda p: compressed(p, ipc.new_file), "is compressed"),
    "entries of one long text": ("train.arrow", dictionary_file, "has a dictionary"),
    "a column twice": (
        "train.parquet",
        lambda p: parquet.write_table(
            pyarrow.Table.from_arrays([["a"], ["b"]], names=["prompt", "prompt"]), p
        ),
        "two columns have the name 'prompt'",
    ),
    "NaN": (
        "train.parquet",
        lambda p: parquet.write_table(table(prompt=["a"], x=[float("nan")]), p),
        ":1: nan is not a JSON number",
    ),
    "no rows": (
        "train.parquet",
        lambda p: parquet.write_table(table(prompt=pyarrow.array([], "string")), p),
        "no rows",
    ),
    "a wrong row": (
        "train.parquet",
        lambda p: parquet.write_table(table(prompt=["a", " "]), p),
        ":2: the field 'prompt' is empty",
    ),
    "a broken line": (
        "train.jsonl",
        lambda p: p.write_text('{"prompt": "a"}\n{"prompt": \n'),
        "jsonl:2: this line is not JSON",
    ),
    "a line that goes on": (
        "train.jsonl",
        lambda p: p.write_text('{"prompt":\n"a"}\n'),
        "jsonl:1: this line is not JSON",
    ),
    "two objects in a line": (
        "train.jsonl",
        lambda p: p.write_text('{"prompt": "a"} {"prompt": "b"}\n'),
        "jsonl:1",
    ),
    "lists without end": (
        "train.jsonl",
        lambda p: p.write_text('{"prompt": "a", "x": ' + "[" * 200 + "]" * 200 + "}\n"),
        "nested too deep",
    ),
    "a bomb": ("train.jsonl.gz", lambda p: p.write_bytes(gzip.compress(b" " * (1 << 25))), "cannot be read"),
    "a label missing": (
        "train.jsonl",
        lambda p: p.write_text('{"prompt": "a", "label": 1}\n{"prompt": "b"}\n'),
        "jsonl:2: the field 'label' is missing",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_bad_row(tmp_path, kept, name):
    file, make, why = HOSTILE[name]
    make(tmp_path / file)
    with pytest.raises(BadRow, match=why) as error:
        read(tmp_path / file)
    assert file in str(error.value)
    assert not list((tmp_path / "cache").rglob("*.partial*")), "nothing half written stays"


def test_a_bad_weight_is_refused_by_the_store_or_by_the_pool(tmp_path, kept):
    (tmp_path / "train.jsonl").write_text('{"prompt": "a", "weight": -1}\n')

    def pool():
        rows = read(tmp_path / "train.jsonl")["train"]
        return Pool(tuple(rows), tuple(row.fields["weight"] for row in rows))

    with pytest.raises(LoquentError, match="weight"):
        pool()


@pytest.mark.parametrize("name", ["a.parquet", "stream.arrow", "file.arrow"])
def test_a_damaged_table_is_read_or_a_bad_row(tmp_path, monkeypatch, name):
    monkeypatch.setattr(arrow_files, "batch_rows", lambda path: 7)  # which starts a process for each file
    content, ended = write(tmp_path / name, ROWS).read_bytes(), Counter()
    for seed in range(40):
        draw, damaged = random.Random(seed), bytearray(content)
        for _ in range(draw.choice((1, 2, 8))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        damaged = damaged[: draw.randrange(len(damaged))] if seed % 7 == 0 else damaged
        (tmp_path / f"train.{name.split('.')[1]}").write_bytes(damaged)
        try:
            read(tmp_path / f"train.{name.split('.')[1]}")
            ended["read"] += 1
        except BadRow:
            ended["refused"] += 1
    assert min(ended["read"], ended["refused"]) > 2, "neither all is read nor all is refused"


def test_hostile_metadata_of_a_saved_folder_is_refused(tmp_path, kept):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "rows"))
    (tmp_path / "rows/state.json").write_text('{"_data_files": [{"filename": "../../etc/passwd"}]}')
    with pytest.raises(BadRow, match="is not a file of this folder"):
        read(tmp_path / "rows")
    (tmp_path / "rows/dataset_dict.json").write_text('{"splits": "../x"}')
    with pytest.raises(BadSetting, match="none of the splits"):
        read(tmp_path / "rows")


def test_columns_must_name_known_fields():
    with pytest.raises(
        BadSetting, match=r"'q' cannot become 'ask'.*prompt, references.*question: prompt, answer"
    ):
        Source(kind="path", path="x", columns={"q": "ask"})


def test_the_kept_rows_are_what_the_fixture_says(tmp_path, kept):
    path = write(tmp_path / "rows.jsonl", ROWS)
    with pytest.warns(Remark):
        rows = load(Source(kind="path", path=str(path)))["train"]
    assert isinstance(rows, Rows) == (kept == "stored")
