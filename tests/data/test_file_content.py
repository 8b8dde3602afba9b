"""Rows of files are read again when the files changed, however shortly after and with whatever size."""

import json
import os

import numpy as np
import pytest

import loquent
from loquent.cli import main as cli
from loquent.data import content
from loquent.files import atomic
from loquent.metrics.lexical import wordnet
from loquent.metrics.sentiment.classifiers import labelled_rows

WORLDS = {
    "generation": ({"source": "path"}, {"prompt": "{} is", "references": ["fine"]}, "prompt"),
    "multilabel": (
        {"source": "path", "labels": ("x",)}, {"text": "{} words", "labels": ["x"]}, "text"
    ),
    "tagging": (
        {"source": "path", "labels": ("O",)}, {"tokens": ["{}", "b"], "labels": ["O", "O"]}, "tokens"
    ),
    "multiple_choice": (
        {"source": "path"},
        {"question": "{}?", "facts": ["a"], "choices": ["b", "c"], "ids": ["A", "B"], "answer": "A"},
        "question",
    ),
    "comments": ({"source": "path"}, {"parent": "{} post", "comment": "yes", "score": 1}, "parent"),
}  # fmt: skip


def lines(fields, word, path):
    """Rows whose text has the word; each file of the same length, written twice within a moment."""
    text = "".join(
        json.dumps(json.loads(json.dumps(fields).replace("{}", f"{word}{number}"))) + "\n"
        for number in range(20)
    )
    atomic.write_text(path, text)


@pytest.mark.parametrize("name", ["generation", "multilabel", "tagging", "multiple_choice", "comments"])
def test_a_new_task_has_the_rows_of_the_file_as_it_is_now(tmp_path, name):
    options, fields, shown = WORLDS[name]
    file = tmp_path / "train.jsonl"
    lines(fields, "old", file)
    before = loquent.task(name, path=str(tmp_path), **options)
    old = before.rows("train")
    assert "old" in str(old[0][shown])
    stamp = file.stat().st_mtime_ns
    lines(fields, "new", file)
    os.utime(file, ns=(stamp, stamp))
    after = loquent.task(name, path=str(tmp_path), **options).rows("train")
    assert all("new" in str(row[shown]) for row in after)
    assert before.rows("train") is old, "the rows of a task do not change"


def test_a_word_list_is_read_again(tmp_path):
    file = tmp_path / "words.txt"
    for word in ("crane", "slate"):
        atomic.write_text(file, f"{word}\n")
        assert loquent.task("wordle", words=str(file)).rows("train")[0]["secret"] == word


def test_unchanged_files_are_read_once(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a")
    reads = []
    read = content.cache_reads(4)(lambda path: reads.append(path) or len(reads))
    assert [read(str(file)), read(str(file))] == [1, 1]
    file.write_text("b")  # the same size, within a moment
    assert read(str(file)) == 2
    assert read(str(tmp_path / "absent")) == 3


def test_a_hash_is_of_names_and_content_of_all_files(tmp_path):
    (tmp_path / "a").write_text("1")
    first = content.of(str(tmp_path))
    (tmp_path / "b").write_text("")
    assert content.of(str(tmp_path)) != first
    (tmp_path / "b").rename(tmp_path / "c")
    (tmp_path / "c").unlink()
    assert content.of(str(tmp_path)) == first
    assert content.of(None) == ""


def test_settled_files_are_hashed_once(tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_text("1")
    now = file.stat().st_ctime_ns
    monkeypatch.setattr(content.time, "time_ns", lambda: now + 10 * content.SETTLED)
    first = content.of(str(file))
    monkeypatch.setattr(content.hashlib, "file_digest", lambda *given: pytest.fail("it was hashed again"))
    assert content.of(str(file)) == first


def same_stamp(write, file):
    """Change a file so that its size and its time stay."""
    stamp = file.stat().st_mtime_ns
    write()
    os.utime(file, ns=(stamp, stamp))


def test_published_statements_are_read_again(tmp_path):
    file = tmp_path / "tower_scratch_dev.json"

    def write(sentence):
        file.write_text(json.dumps({"7": {"sentence": sentence, "lf": "exist(all_items)"}}))

    def sentence():
        return loquent.task("blocks", source="path", path=str(tmp_path)).rows("dev")[0]["sentence"]

    write("old")
    assert sentence() == "old"
    same_stamp(lambda: write("new"), file)
    assert sentence() == "new"


def test_a_wordnet_is_read_again(tmp_path):
    for part in wordnet.PARTS:
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (tmp_path / name).write_text("")
    file = tmp_path / "verb.exc"
    file.write_text("ran run\n")
    before = wordnet.load(str(tmp_path))
    assert wordnet.load(str(tmp_path)) is before
    same_stamp(lambda: file.write_text("ran rot\n"), file)
    assert wordnet.load(str(tmp_path))._exceptions["verb"] == {"ran": ["rot"]}


def test_rows_behind_a_link_to_a_folder_are_read_again(tmp_path):
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb" / "train").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "imdb" / "circle").symlink_to(tmp_path / "imdb")
    hashes = set()
    for word in ("old", "new"):
        for label in ("pos", "neg"):
            (tmp_path / "elsewhere" / label).mkdir(parents=True, exist_ok=True)
            for number in range(9):
                (tmp_path / "elsewhere" / label / f"{number}_9.txt").write_text(f"{word} film {number}")
        task = loquent.task("generation", source="path", path=str(tmp_path / "imdb"))
        assert all(word in row["text"] for row in task.rows("train"))
        hashes.add(content.of(task.options))
    assert len(hashes) == 2


def test_a_change_through_an_open_mapping_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "SETTLED", -(1 << 62))  # as if all was long ago
    file = tmp_path / "a.npy"
    np.save(file, np.zeros(4))
    mapping = np.lib.format.open_memmap(file, mode="r+")
    hashes = set()
    for number in range(1, 5):
        mapping[0] = number
        hashes.add(content.of(str(file)))
    assert len(hashes) == 4


def test_a_collection_plays_the_rows_of_the_files_as_they_are_now(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["collect", "wordle", "words=words.txt", "--agent", "random", "--episodes", "3", "--out"]
    (tmp_path / "words.txt").write_text("crane\n")
    assert cli.main([*words, "a"]) == 0
    (tmp_path / "words.txt").write_text("slate\n")
    assert cli.main([*words, "b"]) == 0
    assert "crane" not in (tmp_path / "b" / "episodes.jsonl").read_text()
    assert cli.main([*words, "a"]) == 2
    assert "holds another collection: data is" in capsys.readouterr().err


def test_what_is_made_of_rows_is_kept_for_the_same_tuples_and_equal_texts():
    calls, rows = [], tuple("ab")
    made = content.kept_of_rows(1)(lambda *given: calls.append(given) or len(calls))
    assert [made("x", rows), made("".join("x"), rows), made("y", rows)] == [1, 1, 2]
    assert made("y", ("a", "b")) == 3  # equal rows may be of a file that was read again
    assert made("y", rows) == 4  # one result is kept
    assert [made(list("ab")), made(list("ab"))] == [5, 6]  # what can change is not kept


def test_labelled_rows_are_sorted_once_for_a_task():
    task = loquent.task("generation", limit=40)
    first = labelled_rows(task)
    assert labelled_rows(loquent.task("generation", limit=40)) is first
    assert labelled_rows(loquent.task("generation", limit=41)) is not first
