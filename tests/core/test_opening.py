"""Compressed bombs and endless lines are refused by every reader, in bounded memory."""

import gzip
import json
import resource

import pytest

import loquent
from loquent.core.guards import json_files, opening
from loquent.data import readers
from loquent.errors import BadRow, LoquentError
from loquent.features import files


def bomb(path, start=b"", mebibytes=192):
    """A gzipped file of one endless line that compresses a thousandfold."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(mebibytes):
            file.write(b"a" * (1 << 20))
    return path


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("read", [readers.jsonl, readers.csv_rows, readers.text_lines, files.text_lines])
@pytest.mark.parametrize("ending", [".jsonl.gz", ".csv.gz", ".txt.gz"])
def test_a_bomb_is_a_bad_row(tmp_path, read, ending):
    path = bomb(tmp_path / f"rows{ending}", b'{"text": "')
    before = peak()
    with pytest.raises(BadRow, match=r"more than [\d,]+ bytes"):
        list(read(path))
    assert peak() - before < 400, "MiB: a line of 64 MiB, decoded, and buffers"


def test_many_short_lines_are_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "FREE", 10_000)
    path = tmp_path / "rows.txt.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a\n" * 100_000)
    with pytest.raises(BadRow, match="it decompresses to more than"):
        for _ in readers.text_lines(path):
            pass


@pytest.mark.parametrize(
    ("task", "options", "name"),
    [
        ("reading", {"source": "squad"}, "train-v1.1.json.gz"),
        ("dialogue", {"source": "visdial"}, "visdial_1.0_train.json.gz"),
        ("blocks", {"source": "path"}, "tower_scratch_train.json.gz"),
    ],
)
def test_a_bomb_of_a_world_s_file_is_refused(tmp_path, task, options, name):
    path = bomb(tmp_path / name, b'{"data": "')
    where = path if task != "blocks" else tmp_path
    with pytest.raises(LoquentError, match=r"bytes|cannot be read"):
        loquent.task(task, path=str(where), **options).rows("train")


def test_ordinary_compressed_text_is_read_whole(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for number in range(2000):
            file.write(json.dumps({"text": f"row {number} " * 20}) + "\n")
    assert len(list(readers.jsonl(path))) == 2000


def test_a_long_line_of_a_plain_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_LINE", 1000)
    path = tmp_path / "rows.txt"
    path.write_text("short\n" + "a" * 1001)
    with pytest.raises(BadRow, match=r"rows\.txt:2.*a line has more than 1,000 bytes"):
        list(readers.text_lines(path))


def test_a_byte_order_mark_is_skipped_and_long_cells_are_read(tmp_path):
    assert json_files.loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    path = tmp_path / "rows.csv"
    path.write_text("text\n" + "a" * 200_000 + "\n")
    assert [len(row["text"]) for _, row in readers.csv_rows(path)] == [200_000]
