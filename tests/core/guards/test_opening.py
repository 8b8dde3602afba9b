"""Compressed bombs and endless lines are refused by every reader, in bounded memory."""

import gzip
import json
import os
import re
import resource
import struct
import zipfile
from pathlib import Path

import pytest

import loquent
from loquent.core import episode
from loquent.core.episode import Episode, Turn
from loquent.core.guards import json_files, opening
from loquent.core.values import Record
from loquent.data import readers
from loquent.data.arrow import read_datasets, read_parquet, write_datasets
from loquent.data.features import files
from loquent.data.minari import read_minari, write_minari
from loquent.errors import BadRow, BadSetting, LoquentError
from loquent.metrics.lexical import wordnet
from loquent.metrics.sentiment import lexicon
from loquent.tasks.reading.network import lexicon as asking

EPISODE = Episode("t-v1", "r", "train", 0, 0, (Turn("task", "go", to="agent"), Turn("agent", "x")), "end")


def bomb(path, start=b"", mebibytes=192):
    """A gzipped file of one endless line that compresses a thousandfold."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(mebibytes):
            file.write(b"a" * (1 << 20))
    return path


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.sweep(3)
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


# other kinds of files


def hostile_zip(path, names, size=1 << 27):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, b"a" * size if name == names[-1] else b"training/1 earn\n")
    return path


def read_reuters(folder, make=hostile_zip):
    path = make(folder / "reuters.zip", ["reuters/cats.txt", "reuters/training/1"])
    loquent.task("multilabel", source="path", path=str(path)).rows("train")


def read_wordnet(folder, make=hostile_zip):
    names = [form.format(part) for part in wordnet.PARTS for form in ("index.{}", "data.{}", "{}.exc")]
    for part in ("verb", "noun", "adv"):
        names.remove(f"{part}.exc")
        names.insert(0, f"{part}.exc")
    names.append(names.pop(names.index("adj.exc")))
    wordnet.exceptions(str(make(folder / "wordnet.zip", names)))


@pytest.mark.parametrize("read", [read_reuters, read_wordnet])
def test_a_bomb_in_a_zip_archive_is_refused(tmp_path, read):
    before = peak()
    with pytest.raises((LoquentError, OSError), match="more than"):
        read(tmp_path)
    assert peak() - before < 300


DAMAGES = {
    "settings of LZMA": (b"\x09\x04\x05\x00]", b"\x09\x04\x05\x00\xff"),
    "list of files": (b"PK\1\2", b"PK\1\3"),
    "name of a file": (b"PK\3\4\x3f\0", b"PK\3\5\x3f\0"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("read", "error"), [(read_reuters, BadRow), (read_wordnet, BadSetting)])
def test_a_damaged_zip_archive_is_a_typed_error(tmp_path, read, error, damage):
    def torn_zip(path, names):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            for name in names:
                archive.writestr(name, b"training/1 earn\n")
        content = path.read_bytes()
        assert DAMAGES[damage][0] in content
        path.write_bytes(content.replace(*DAMAGES[damage]))
        return path

    with pytest.raises(error, match=r"reuters\.zip|wordnet\.zip|no zip archive"):
        read(tmp_path, torn_zip)


def test_names_in_a_list_of_documents_stay_in_its_folder(tmp_path):
    (tmp_path / "reuters" / "training").mkdir(parents=True)
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "reuters" / "cats.txt").write_text("training/../../secret earn\n")
    with pytest.raises(BadRow, match=r"cats\.txt:1.*must have the form"):
        loquent.task("multilabel", source="path", path=str(tmp_path / "reuters")).rows("train")


@pytest.mark.parametrize("dense", [b"[],", b"{},", b"[[]],"])
def test_json_of_empty_lists_is_refused_before_it_is_made(dense):
    before = peak()
    with pytest.raises(ValueError, match="lists and objects, which is too many"):
        json_files.loads(b"[" + dense * (1 << 22) + b"0]")
    assert peak() - before < 100


def test_a_parquet_bomb_is_refused(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    columns = {name: ["x"] * 2000 for name in ("row", "split", "learning", "instruction", "ended", "meta")}
    numbers = {name: [0] * 2000 for name in ("seed", "number")}
    lists = {"agents": [[]] * 2000, "turns": [[]] * 2000, "line": [None] * 2000}
    table = arrow.table({"task": ["a" * 300_000] * 2000, **columns, **numbers, **lists})
    for dictionary in (True, False):
        path = tmp_path / f"{dictionary}.parquet"
        parquet.write_table(table, path, compression="zstd", use_dictionary=dictionary)
        assert path.stat().st_size < 1 << 20
        before = peak()
        with pytest.raises(BadRow, match=r"cannot be read|not an episode"):
            list(read_parquet(path))
        assert peak() - before < 400


def test_an_array_that_claims_more_than_its_hdf5_file_holds_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "train.json").write_text(
        json.dumps([{"caption": f"c{i}", "dialog": [{"question": "q", "answer": "a"}]} for i in range(2000)])
    )
    with h5py.File(tmp_path / "images.h5", "w") as file:
        file.create_dataset("images_train", (2000, 60_000), dtype="f4", chunks=(1, 60_000))
    options = {
        "source": "visdial",
        "path": str(tmp_path / "train.json"),
        "images": str(tmp_path / "images.h5"),
    }
    task = loquent.task("dialogue", **options, answerer="dialogue/recorded")
    before = peak()
    with pytest.raises(LoquentError, match="decompresses to more than"):
        task.features("train")
    assert peak() - before < 200


def folder_of_datasets(folder, column, compression=None):
    """A folder of one Arrow stream whose column `task` is replaced."""
    arrow = pytest.importorskip("pyarrow")
    write_datasets(folder, [EPISODE] * len(column))
    (file,) = folder.glob("*.arrow")
    with arrow.memory_map(str(file)) as source:
        table = arrow.ipc.open_stream(source).read_all()
    table = table.set_column(table.column_names.index("task"), "task", column)
    options = arrow.ipc.IpcWriteOptions(compression=compression)
    with (
        arrow.OSFile(str(folder / "other.arrow"), "wb") as sink,
        arrow.ipc.new_stream(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    content = (folder / "other.arrow").read_bytes()
    before, found, behind = content.rpartition(struct.pack("<ii", 0, 4242))  # the offsets of one long text
    file.write_bytes(before + struct.pack("<ii", 0, 10**9) + behind if found else content)
    (folder / "other.arrow").unlink()
    return folder


def hostile_columns():
    arrow = pytest.importorskip("pyarrow")
    text = b"a" * (1 << 22)
    views = struct.pack("<i4sii", len(text), b"aaaa", 0, 0) * 100
    return {
        "compressed": (arrow.array(["a" * 1000] * 3), "zstd", "is compressed"),
        "views": (
            arrow.Array.from_buffers(
                arrow.string_view(), 100, [None, arrow.py_buffer(views), arrow.py_buffer(text)]
            ),
            None,
            "type string_view|cannot be read",
        ),
        "beyond": (arrow.array(["a" * 4242]), None, "offset"),
    }


@pytest.mark.parametrize("kind", ["compressed", "views", "beyond"])
def test_an_arrow_stream_that_decompresses_repeats_or_points_beyond_is_refused(tmp_path, kind):
    pytest.importorskip("datasets")
    column, compression, why = hostile_columns()[kind]
    folder = folder_of_datasets(tmp_path / "rows", column, compression)
    before = peak()
    with pytest.raises(BadRow, match=why):
        list(read_datasets(folder))
    assert peak() - before < 100


def test_a_folder_of_datasets_names_its_own_files_only(tmp_path):
    pytest.importorskip("datasets")
    write_datasets(tmp_path / "rows", [EPISODE])
    state = json.loads((tmp_path / "rows" / "state.json").read_text())
    state["_data_files"] = [{"filename": "../other/data.arrow"}]
    (tmp_path / "rows" / "state.json").write_text(json.dumps(state))
    with pytest.raises(BadRow, match="is not a file of this folder"):
        list(read_datasets(tmp_path / "rows"))


def test_texts_of_hdf5_that_are_one_text_many_times_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("minari")
    write_minari(tmp_path / "t-v0", [EPISODE], Record())
    file = tmp_path / "t-v0" / "data" / "main_data.hdf5"
    with h5py.File(file, "r+") as opened:
        infos = opened["episode_0"]["infos"]
        del infos["episode"]
        made = infos.create_dataset("episode", shape=(1000,), dtype=h5py.string_dtype())
        made[0] = "b" * (1 << 20)
        opened.flush()
        place = made.id.get_offset()
    content = bytearray(file.read_bytes())
    content[place : place + 16 * 1000] = bytes(content[place : place + 16]) * 1000
    file.write_bytes(content)
    before = peak()
    with pytest.raises(BadRow, match="decompresses to more than"):
        list(read_minari(tmp_path / "t-v0"))
    assert peak() - before < 100


@pytest.mark.parametrize("descr", ["(", "'<f4'", "[('a','<f4',(100000,100000))]", "'|O'", "'V1000000000'"])
def test_a_hostile_header_of_numpy_is_a_bad_row(tmp_path, descr):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1000000000000, 2), }}".encode()
    (tmp_path / "v.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header)
    (tmp_path / "v.words.txt").write_text("a\n")
    with pytest.raises(BadRow, match=r"v\.npy"):
        files.read(str(tmp_path / "v.npy"))


def test_a_damaged_gzip_file_is_named_by_every_reader(tmp_path):
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n" * 1000)[:-10])
    for read in (readers.text_lines, files.text_lines, lambda file: [asking._read(file, 2)]):
        with pytest.raises(LoquentError, match="cannot be read"):
            list(read(path))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("words.txt", lambda path: loquent.task("wordle", words=str(path)).rows("train")),
        ("words.txt", lexicon.read),
        ("c.csv", lambda path: loquent.task("comments", source="path", path=str(path)).rows("train")),
        ("d.json", lambda path: loquent.task("dialogue", source="visdial", path=str(path)).rows("train")),
        ("rows.jsonl", lambda path: list(readers.jsonl(path))),
        ("vectors.vec", lambda path: list(files.text_lines(path))),
        ("rows.jsonl", lambda path: list(episode.read(path))),
    ],
)
def test_a_device_and_a_pipe_are_no_files(tmp_path, name, read):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(LoquentError):
        read(tmp_path / name)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(LoquentError):
        read(tmp_path / name)


@pytest.mark.parametrize("source", ["squad", "newsqa"])
def test_a_pipe_in_place_of_a_folder_of_questions_is_named(tmp_path, source):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadSetting, match="pipe' is no folder"):
        loquent.task("reading", source=source, path=str(tmp_path / "pipe")).rows("train")


def test_nothing_else_opens_compressed_files():
    allowed = {"gzip": {"opening.py"}, "lzma": {"opening.py", "corpora.py"}, "bz2": set(), "tarfile": set()}
    house, found = Path(loquent.__file__).parent, {name: set() for name in allowed}
    for file in house.rglob("*.py"):
        for name in re.findall(r"^\s*(?:import|from) (\w+)", file.read_text(encoding="utf-8"), re.M):
            if name in allowed:
                found[name].add(file.name)
    assert found == allowed, "open files with loquent.core.guards.opening, which has bounds"
