"""Sources: splits, ids, the IMDB folders, the hub's format, and the real reviews beside the checkout."""

import hashlib
import json
import random

import numpy as np
import pytest

import loquent
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Source, fingerprint, load, split_by_id
from loquent.data.tables.splits import draw_of
from loquent.errors import BadRow, BadSetting


def write(path, texts, **more):
    path.write_text("".join(json.dumps({"text": text, **more}) + "\n" for text in texts))


def ids(splits):
    return {split: [row.id for row in rows] for split, rows in splits.items()}


def test_a_folder_of_splits_in_mixed_formats(tmp_path):
    write(tmp_path / "train.jsonl", ["a b", "c d"], label=1)
    (tmp_path / "valid.csv").write_text("text,label\ne f,0\n")
    (tmp_path / "test.txt").write_text("g h\n")
    (tmp_path / "notes.md").write_text("not rows")
    splits = load(Source(kind="path", path=str(tmp_path)))
    assert ids(splits) == {
        "train": ["train-1", "train-2"],
        "validation": ["validation-1"],
        "test": ["test-1"],
    }
    assert splits["validation"][0]["label"] == "0"
    assert dict(splits["test"][0].fields) == {"text": "g h"}


def test_one_file_is_split_by_a_hash_of_ids_and_appending_moves_no_row(tmp_path):
    write(tmp_path / "all.jsonl", [f"text {i}" for i in range(1000)])
    before = ids(load(Source(kind="path", path=str(tmp_path / "all.jsonl"))))
    assert [name for rows in before.values() for name in rows] != []
    assert sorted(name for rows in before.values() for name in rows) == sorted(
        f"all-{i + 1}" for i in range(1000)
    )
    assert 760 <= len(before["train"]) <= 840  # 800 expected, deviation sqrt(1000 * .8 * .2) = 12.6
    assert 70 <= len(before["validation"]) <= 130
    longer = tmp_path / "more"
    longer.mkdir()
    write(longer / "all.jsonl", [f"text {i}" for i in range(1100)])
    after = ids(load(Source(kind="path", path=str(longer / "all.jsonl"))))
    assert all(set(before[split]) <= set(after[split]) for split in before)


def test_a_file_of_few_rows_fills_train_then_test_then_validation():
    names = [f"row-{i}" for i in range(60)]
    filled = {1: {"train"}, 2: {"train", "test"}}
    for size in (1, 2, 3, 4):
        for start in range(0, 60 - size):
            rows = [Row(name, Record()) for name in names[start : start + size]]
            splits = split_by_id(rows)
            assert set(splits) == filled.get(size, {"train", "test", "validation"})
            assert sorted(row.id for part in splits.values() for row in part) == sorted(r.id for r in rows)
            turned = {split: names[::-1] for split, names in ids(split_by_id(rows[::-1])).items()}
            assert turned == ids(splits), "the same rows, whatever their order"
    assert split_by_id([]) == {}


def test_a_file_of_two_rows_is_a_source(tmp_path):
    write(tmp_path / "two.jsonl", ["a b", "c d"])
    splits = load(Source(kind="path", path=str(tmp_path / "two.jsonl")))
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 1, "test": 1}


def test_the_draw_of_an_id_never_changes():
    # `printf a | b2sum -l 64` gives 40f89e395b66422f: fixed, so that splits stay what they are
    assert draw_of("a") == 0x40F89E395B66422F / 2**64
    assert draw_of("a") != draw_of("b")


def imdb_folder(path, files=5):
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            (path / split / label).mkdir(parents=True)
            for i in range(files):
                (path / split / label / f"{i}_{7 if label == 'pos' else 2}.txt").write_text(
                    f"{split} {label} {i}\n", encoding="utf-8"
                )
    (path / "train" / "unsup").mkdir()
    (path / "train" / "urls_pos.txt").write_text("http://example.org\n")
    return Source(kind="path", path=str(path))


def test_the_imdb_folders_give_up_a_fifth_of_train(tmp_path):
    splits = load(imdb_folder(tmp_path))
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 8, "validation": 2, "test": 10}
    row = next(row for row in splits["test"] if row.id == "test/pos/3_7")
    assert dict(row.fields) == {"text": "test pos 3", "label": "pos"}
    every = [row.id for rows in splits.values() for row in rows]
    assert len(every) == len(set(every))
    # labels are mixed
    assert [row["label"] for row in splits["test"]] != sorted(row["label"] for row in splits["test"])


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda path: (path / "train/pos/1_7.txt").write_text(""), r"train/pos/1_7.txt: the file is empty"),
        (
            lambda path: (path / "train/pos/1_7.txt").write_text(" \n"),
            r"train/pos/1_7.txt:1: the field 'text' is empty",
        ),
        (
            lambda path: (path / "test/neg/0_2.txt").write_bytes(b"ok\n\xe9"),
            r"test/neg/0_2.txt:2: this line is not UTF-8",
        ),
        (
            lambda path: (path / "test/neg/x.json").write_text("{}"),
            r"x.json: this is not a .txt file; the folders of the IMDB layout must hold .txt files only",
        ),
        (
            lambda path: [file.unlink() for file in (path / "test/neg").iterdir()],
            r"test/neg: this folder is empty",
        ),
        (
            lambda path: (path / "test/neg").rename(path / "test/negative"),
            r"test: the folder neg/ is missing",
        ),
    ],
)
def test_a_bad_imdb_file_is_named(tmp_path, break_it, why):
    source = imdb_folder(tmp_path)
    break_it(tmp_path)
    with pytest.raises(BadRow, match=why):
        load(source)


def hub_folder(path):
    (path / "data").mkdir()
    (path / "mini").mkdir()
    (path / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: "
        "data/train-*\n  - split: test\n    path: data/test-*\n- config_name: mini\n  data_files:\n "
        " - split: validation\n    path: mini/part.parquet\n---\n# A dataset\n"
    )
    import pyarrow
    import pyarrow.parquet

    for split, size in (("train", 10), ("test", 3)):
        table = pyarrow.table(
            {"text": [f"{split} text {i}" for i in range(size)], "label": [i % 2 for i in range(size)]}
        )
        pyarrow.parquet.write_table(table, path / "data" / f"{split}-00000-of-00001.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({"text": ["only one"], "label": ["x"]}), path / "mini" / "part.parquet"
    )


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "dataset"
    folder.mkdir()
    hub_folder(folder)
    return folder


def states():
    return random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002 - looked at, never drawn from


def test_a_dataset_in_the_hubs_format(hub_cache):
    before = states()
    splits = load(Source(kind="hub", name=str(hub_cache)))
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 8, "validation": 2, "test": 3}
    assert dict(splits["test"][1].fields) == {"text": "test text 1", "label": 1}
    assert sorted(row.id for split in ("train", "validation") for row in splits[split]) == sorted(
        f"train-{i}" for i in range(1, 11)
    )
    assert states() == before
    mini = load(Source(kind="hub", name=str(hub_cache), subset="mini"))
    assert [(row.id, row["label"]) for row in mini["validation"]] == [("validation-1", "x")]


def test_a_dataset_of_json_lines_in_the_hubs_format(hub_cache, tmp_path):
    folder = tmp_path / "lines"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n    path: "
        "data/test.jsonl\n---\n"
    )
    (folder / "data" / "test.jsonl").write_text('{"prompt": "add 1 2", "references": ["3", "three"]}\n')
    rows = load(Source(kind="hub", name=str(folder)))
    assert [dict(row.fields) for row in rows["test"]] == [{"prompt": "add 1 2", "references": ("3", "three")}]


def test_bad_hub_rows_and_settings_are_named(hub_cache):
    with pytest.raises(BadRow, match=r"dataset/train:1: the field 'body' is missing"):
        load(Source(kind="hub", name=str(hub_cache), text_field="body"))
    with pytest.raises(BadSetting, match=r"cannot be loaded .*nope"):
        load(Source(kind="hub", name=str(hub_cache), subset="nope"))


@pytest.mark.parametrize("revision", ["", "main", "abc123", "g" * 40])
def test_a_hub_name_must_be_pinned(revision):
    with pytest.raises(BadSetting, match="is not pinned"):
        Source(kind="hub", name="stanfordnlp/imdb", revision=revision)


def test_a_commit_pins():
    assert (
        Source(kind="hub", name="stanfordnlp/imdb", revision="e6281661ce1c48d982bc483cf8a173c1bbeb5d31").kind
        == "hub"
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"kind": "disk"}, "kind must be one of .*, got 'disk'"),
        ({"kind": "path"}, "needs path"),
        ({"kind": "hub"}, "needs name"),
        ({"path": "x"}, "belongs to a source of kind 'path'"),
        ({"kind": "path", "path": "x", "name": "y"}, "belongs to a source of kind 'hub'"),
    ],
)
def test_settings_that_contradict_each_other(fields, why):
    with pytest.raises(BadSetting, match=why):
        Source(**fields)


def test_paths_that_hold_nothing(tmp_path):
    with pytest.raises(BadSetting, match="no such file or folder"):
        load(Source(kind="path", path=str(tmp_path / "x")))
    with pytest.raises(BadSetting, match="it must hold files named train"):
        load(Source(kind="path", path=str(tmp_path)))
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(BadSetting, match="no reader for this kind of file"):
        load(Source(kind="path", path=str(tmp_path / "a.xlsx")))
    write(tmp_path / "val.jsonl", ["a b"])
    write(tmp_path / "dev.jsonl", ["a b"])
    with pytest.raises(BadSetting, match=r"dev.jsonl and val.jsonl both hold the split 'validation'"):
        load(Source(kind="path", path=str(tmp_path)))


def test_a_fingerprint_sees_one_letter(tmp_path):
    for name, last in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "train.jsonl", ["a b", f"c {last}"])
    a, b, c = (fingerprint(Source(kind="path", path=str(tmp_path / name))) for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.data
def test_the_real_reviews_load_as_given(beside):
    splits = load(Source(kind="path", path=str(beside / "data" / "imdb_movie_reviews"), labels=("0", "1")))
    assert {split: len(rows) for split, rows in splits.items()} == {
        "train": 600,
        "validation": 200,
        "test": 200,
    }
    assert all(0.4 < sum(row["label"] for row in rows) / len(rows) < 0.6 for rows in splits.values())


def test_ids_of_any_characters_are_divided(tmp_path):
    """JSON may hold half of a pair of surrogates, which UTF-8 has no bytes for."""
    rows = [{"id": f"\ud800 {i}", "tokens": ["a"], "labels": ["O"]} for i in range(20)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = loquent.task("tagging", source="path", path=str(tmp_path / "all.jsonl"))
    found = [row for split in task.spec.splits for row in task.rows(split)]
    assert sorted(row.id for row in found) == sorted(row["id"] for row in rows)
    assert [episode.row for episode in loquent.play(task, "random", split="train", episodes=3, seed=0)] == [
        row.id for row in task.rows("train")[:3]
    ]
    assert (
        draw_of("train-1")
        == int.from_bytes(hashlib.blake2b(b"train-1", digest_size=8).digest(), "big") / 2**64
    )  # as ever
