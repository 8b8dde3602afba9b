"""Rows that are read from disk when they are used: equal to rows in memory, made once, and safe on disk."""

import copy
import json
import os
import pickle
import shutil
import threading
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loquent
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.data import content, sources
from loquent.data.pools import Pool, Sampler, chosen_rows
from loquent.data.sources import Source, limit_rows, load, share
from loquent.data.tables import cache, writing
from loquent.data.tables.rows import Rows, by_id
from loquent.errors import BadCheckpoint, BadRow, LoquentError, UnknownName
from loquent.tasks.generation import rows as generation_rows
from loquent.training import recipes
from loquent.training.start import pool
from loquent.training.trainer import Trainer

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.csv")
pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore::loquent.core.settings.Remark")
ROWS = [
    {"prompt": f"ask {i % 37}", "completion": f" {i}", "kind": "even" if i % 2 == 0 else "odd"}
    for i in range(200)
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/loquent/rows"


def write(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def both(path, limit=0, **options):
    """The rows of a file in memory, and from a store."""
    source = Source(kind="path", path=str(path), **options)
    in_memory = {split: limit_rows(rows, limit) for split, rows in load(source).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "LARGE", 0)
        stored = {split: limit_rows(rows, limit) for split, rows in load(source, limit).items()}
    assert all(isinstance(rows, Rows) for rows in stored.values())
    return in_memory, stored


def as_lists(splits):
    return {split: list(rows) for split, rows in splits.items() if len(rows)}


def stored(path, **options):
    return both(path, **options)[1]


def again(path, monkeypatch):
    """The rows as a process that starts anew reads them."""
    for kept in (sources._stored, sources._tables):
        kept.cache_clear()
    content._hashes.clear()
    monkeypatch.setattr(sources, "LARGE", 0)
    return load(Source(kind="path", path=str(path)))


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip)
SCALARS = st.none() | st.integers() | st.booleans() | TEXTS | st.floats(allow_nan=False, allow_infinity=False)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
RECORDS = st.fixed_dictionaries({"prompt": TEXTS}, optional={"completion": TEXTS, "x": VALUES, "ß": VALUES})


@settings(max_examples=25)
@given(st.lists(RECORDS, min_size=1, max_size=12), st.integers(0, 4), st.booleans(), st.booleans())
def test_stored_rows_are_those_in_memory(tmp_path_factory, rows, limit, divided, drop):
    place = tmp_path_factory.mktemp("rows")
    path = write(place / "all.jsonl", rows)
    if divided:
        (place / "of").mkdir()
        write(place / "of/train.jsonl", rows)
        write(place / "of/test.jsonl", rows[::-2])
        path = place / "of"
    in_memory, on_disk = both(path, limit, drop_duplicates=drop)
    assert as_lists(on_disk) == as_lists(in_memory)


def test_the_sequence_and_the_mapping_of_stored_rows(tmp_path):
    in_memory, on_disk = both(write(tmp_path / "all.jsonl"))
    rows, known = on_disk["train"], in_memory["train"]
    assert (rows[0], rows[-1], list(rows[3:9:2]), rows[::-1]) == (
        known[0],
        known[-1],
        list(known[3:9:2]),
        known[::-1],
    )
    assert isinstance(rows[5:], Rows)
    assert known[7] in rows
    other = in_memory["test"][0]
    assert other not in rows
    assert dict(by_id(rows)) == {row.id: row for row in known}
    assert other.id not in by_id(rows)
    for id in ("all-0", "all-201", "all-x", "all", "", "all--1", "all-01", "other-1", f"all-{10**20}"):
        assert id not in by_id(rows)
    assert list(pickle.loads(pickle.dumps(rows))) == list(copy.deepcopy(rows)) == list(known)
    assert [row.id for row in share(rows, 0.25)] == [row.id for row in share(known, 0.25)]
    with pytest.raises(IndexError):
        rows[len(rows)]
    assert rows.digest != rows[1:].digest != on_disk["test"].digest


def test_equal_contents_of_two_splits_are_told_or_left_out(tmp_path):
    path = write(tmp_path / "all.jsonl")
    texts = []
    for part in (0, 1 << 40):
        with warnings.catch_warnings(record=True) as told, pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("always")
            patch.setattr(sources, "LARGE", part)
            load(Source(kind="path", path=str(path)))
        texts.append([str(each.message) for each in told if "stand in" in str(each.message)])
    assert texts[0] == texts[1] != []


def test_a_limit_reads_only_the_rows_that_it_chooses(tmp_path):
    path = write(tmp_path / "all.jsonl")
    few, more = stored(path, limit=3)["train"], stored(path, limit=30)["train"]
    assert {row.id for row in few} < {row.id for row in more}
    assert few.store.about["tables"] == [["all", 0, 9]], "three rows of each split, and no other"
    lines = path.read_text().splitlines()
    chosen = {int(row.id.split("-")[1]) for part in stored(path, limit=3).values() for row in part}
    broken = next(number for number in range(1, 201) if number not in chosen)
    lines[broken - 1] = "{"
    (tmp_path / "b").mkdir()
    (tmp_path / "b/all.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "LARGE", 0)
        source = Source(kind="path", path=str(tmp_path / "b/all.jsonl"))
        assert list(load(source, 3)["train"]) == list(few)
        with pytest.raises(BadRow, match=rf"all.jsonl:{broken}: this line is not JSON"):
            load(source)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_limit_chooses_the_same_rows_in_every_format(tmp_path, ending):
    few = stored(write(tmp_path / "all.jsonl"), limit=3)
    path = tmp_path / f"all.{ending}"
    table = pyarrow.Table.from_pylist(ROWS)
    if ending == "csv":
        pyarrow.csv.write_csv(table, path)
    elif ending == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=3)
    else:
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    assert as_lists(stored(path, limit=3)) == as_lists(few)


def test_a_second_start_reads_neither_the_rows_nor_the_file(tmp_path, monkeypatch):
    path = write(tmp_path / "all.jsonl")
    os.utime(path, (1, 1))
    monkeypatch.setattr(content, "LARGE", 0)
    monkeypatch.setattr(content, "SETTLED", -(10**12))
    first = list(again(path, monkeypatch)["train"])
    monkeypatch.setattr(writing, "write", lambda *given: pytest.fail("it was written again"))
    monkeypatch.setattr(content.hashlib, "file_digest", lambda *given: pytest.fail("it was hashed again"))
    assert list(again(path, monkeypatch)["train"]) == first


def test_a_note_of_a_hash_is_believed_only_for_the_same_file(tmp_path, monkeypatch):
    path = write(tmp_path / "all.jsonl")
    monkeypatch.setattr(content, "LARGE", 0)
    monkeypatch.setattr(content, "SETTLED", -(10**12))
    hashes = [content.of(str(path))]
    [note] = (tmp_path / "cache/loquent/hashes").iterdir()
    for damage in (None, '{"state": 3}', "[", '{"sha256": "x"}'):
        content._hashes.clear()
        if damage is not None:
            note.write_text(damage)
        hashes.append(content.of(str(path)))
    content._hashes.clear()
    write(path, ROWS[1:])
    assert len(set(hashes)) == 1
    assert content.of(str(path)) not in hashes


def test_other_content_replaces_the_store(tmp_path, folder, monkeypatch):
    path = write(tmp_path / "all.jsonl")
    stored(path)
    [old] = folder.glob("*/about.json")
    rows = stored(write(path, ROWS[:50]))
    [new] = folder.glob("*/about.json")
    assert new != old
    assert sum(map(len, rows.values())) == 50
    long_ago = time.time() - 2 * cache.UNUSED
    os.utime(new, (long_ago, long_ago))
    stored(write(tmp_path / "other.jsonl", ROWS[:9]))
    assert not new.exists(), "nobody has used it for long"


@pytest.mark.parametrize("damage", ["cut", "missing", "no JSON", "half made"])
def test_a_damaged_store_is_made_again(tmp_path, folder, monkeypatch, damage):
    path = write(tmp_path / "all.jsonl")
    rows = list(again(path, monkeypatch)["train"])
    [made] = (about.parent for about in folder.glob("*/about.json"))
    if damage == "cut":
        os.truncate(made / "rows.arrow", 100)
    elif damage == "missing":
        (made / "train.npy").unlink()
    elif damage == "no JSON":
        (made / "about.json").write_text("{")
    else:
        aside = folder / f".{made.name}.1.partial"
        shutil.move(made, aside)
    assert list(again(path, monkeypatch)["train"]) == rows
    assert [entry.name for entry in folder.iterdir() if entry.is_dir()] == [made.name]


def test_two_at_once_write_one_store(tmp_path, monkeypatch):
    path, writes, found = write(tmp_path / "all.jsonl"), [], []
    whole = writing.write
    monkeypatch.setattr(writing, "write", lambda *given: (writes.append(1), time.sleep(0.2), whole(*given)))
    tables = sources._tables(Source(kind="path", path=str(path)))

    def start():
        found.append(cache.store(tables, Source().reader, 0, "same"))

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(writes)) == (3, 1)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, folder, monkeypatch):
    path = write(tmp_path / "all.jsonl")
    whole = writing.write
    monkeypatch.setattr(writing, "write", lambda *given: (whole(*given), write(path, ROWS[1:])))
    with pytest.raises(BadRow, match=r"all.jsonl: this file changed while it was read"):
        stored(path)
    assert not list(folder.glob("*/"))


def test_a_cache_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(LoquentError, match=r"all.jsonl cannot be kept in .*set XDG_CACHE_HOME"):
        stored(write(tmp_path / "all.jsonl"))


def test_the_order_of_draws_and_a_resumed_sampler(tmp_path):
    in_memory, on_disk = both(write(tmp_path / "all.jsonl"))
    samplers = [Sampler(Pool(rows["train"]), Key(3)) for rows in (in_memory, on_disk)]
    one, other = (sampler.draw(250) for sampler in samplers)
    assert one == other
    resumed = Sampler(Pool(on_disk["train"]), Key(0))
    resumed.load_state_dict(json.loads(json.dumps(samplers[1].state_dict())))
    assert resumed.draw(60) == samplers[1].draw(60)
    changed = stored(write(tmp_path / "all.jsonl", [*ROWS[:-1], {"prompt": "other"}]))
    with pytest.raises(BadCheckpoint, match="saved with other rows"):
        Sampler(Pool(changed["train"]), Key(0)).load_state_dict(samplers[1].state_dict())


def test_weights_are_known_without_reading_rows(tmp_path):
    rows = [{**row, **({"weight": i / 7} if i % 3 else {})} for i, row in enumerate(ROWS)]
    in_memory, on_disk = both(write(tmp_path / "all.jsonl", rows))
    expected = [row.fields.get("weight", 1.0) for row in in_memory["train"]]
    assert list(on_disk["train"].weights) == expected
    assert stored(write(tmp_path / "none.jsonl"))["train"].weights == ()


TASK = {"source": "path", "prompt_words": 2}


@pytest.mark.parametrize("limit", [0, 7])
def test_the_task_gives_the_same_rows_and_episodes(tmp_path, monkeypatch, limit):
    texts = [{"text": f"row {i} has seven words and more", "label": i % 2} for i in range(60)]
    path = write(tmp_path / "all.jsonl", texts)
    tasks = []
    for large in (1 << 40, 0):
        monkeypatch.setattr(sources, "LARGE", large)
        for kept in (generation_rows.rows, generation_rows._loaded):
            kept.cache_clear()
        tasks.append(loquent.task("generation", path=str(path), limit=limit, **TASK))
        tasks[-1].rows("train")
    one, other = (task.rows("train") for task in tasks)
    assert [isinstance(rows, Rows) for rows in (one, other)] == [False, True]
    assert list(one) == list(other)
    assert other[0]["prompt"] == " ".join(other[0]["text"].split()[:2])
    assert tasks[1].row("train", other[3].id) == other[3]
    with pytest.raises(UnknownName, match="all-999"):
        tasks[1].row("train", "all-999")
    odd = chosen_rows(tasks[1], "train", Record(label=1))
    assert [row.id for row in odd] == [row.id for row in one if row["label"] == 1]
    played = [loquent.play(task, "random", split="train", episodes=5, seed=1) for task in tasks]
    assert played[0] == played[1]


def test_a_stored_text_that_is_too_short_is_named_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LARGE", 0)
    path = write(tmp_path / "all.jsonl", [{"text": "a b"}] * 20 + [{"text": "short"}])
    task = loquent.task("generation", path=str(path), **TASK)
    with pytest.raises(BadRow, match="row all-21: a text of 1 words cannot be cut"):
        task.rows("train")


def test_a_run_on_stored_rows_is_the_run_on_rows_in_memory(tmp_path, monkeypatch):
    path = write(tmp_path / "all.jsonl")
    logs = []
    for large in (1 << 40, 0):
        monkeypatch.setattr(sources, "LARGE", large)
        for kept in (generation_rows.rows, generation_rows._loaded):
            kept.cache_clear()
        overrides = [
            f"task={{kind: generation, source: path, path: {path}}}",
            "rewards={lexicon: 0.1}",
            "metrics={}",
        ]
        trainer = Trainer(recipes.load("reviews_ppo", overrides, profile="smoke"))
        assert isinstance(trainer.experience.sampler.pool.rows, Rows) == (large == 0)
        logs.append(trainer.update())
        state = json.loads(json.dumps(trainer.experience.sampler.state_dict()))
        assert len(state["base"]["digest"]) == 16
        assert pool(trainer.task, trainer.settings).rows[0] == trainer.task.rows("train")[0]
    kept = [{name: value for name, value in log.items() if "seconds" not in name} for log in logs]
    assert repr(kept[0]) == repr(kept[1])  # nan, where targets do not vary, is not equal to itself
