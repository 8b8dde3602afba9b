"""Rows that stand in two splits are seen, named, and left out where that is asked for."""

import json
import re
import warnings

import pytest

import loquent
from loquent.core import registry
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import corpora, duplicates
from loquent.data.reviews import reviews
from loquent.data.sources import SPLITS as SPLIT_NAMES
from loquent.tasks.generation.corpora.table import DATASETS
from loquent.tasks.tagging import rows

ONE_LIST = {"wordle"}  # its splits are one list of secrets, as its page says
BUILTIN = [(name, {}) for name in registry.names("task") if name not in ONE_LIST]
BUILTIN += [("generation", {"dataset": name}) for name, corpus in DATASETS.items() if corpus.builtin]


def row(id, **fields):
    return Row(id, Record(**fields))


@pytest.mark.parametrize(("name", "options"), BUILTIN, ids=str)
def test_no_builtin_row_stands_in_two_splits(name, options):
    """Neither with all of its fields, nor with what an agent reads of texts, sentences and questions."""
    task = loquent.task(name, **options)
    splits = {split: task.rows(split) for split in SPLIT_NAMES}
    one, two, three = ({repr(row.fields) for row in splits[split]} for split in SPLIT_NAMES)
    assert one.isdisjoint(two | three)
    assert two.isdisjoint(three)
    if duplicates.content(splits["test"][0].fields):
        assert duplicates.across(splits) == {}


def test_a_builtin_row_that_is_moved_is_seen():
    splits = dict(corpora.rows(rows.BUILTIN))
    splits["test"] = (*splits["test"][:3], splits["train"][7])
    assert duplicates.across(splits) == {"train": {"train-7": splits["train"][7]}}


def test_how_many_sentences_of_test_reviews_stand_in_train():
    def sentences(split):
        return [text for review in reviews()[split] for text in re.split(r"(?<=[.]) ", review["text"])]

    train = set(sentences("train"))
    shared = [text in train for text in sentences("test")]
    assert round(sum(shared) / len(shared), 2) == 0.44  # docs/reviews.md says so, and what it means


def test_what_counts_as_the_same():
    assert duplicates.content(row("1", text="A  b\nC", label=1).fields) == duplicates.content(
        row("2", text="a B c", label=0).fields
    )
    tagged = row("1", tokens=("a", "b"), labels=("x", "y")), row("2", tokens=("A", "b"), labels=("x", "x"))
    assert duplicates.content(tagged[0].fields) == duplicates.content(tagged[1].fields)
    first = row("1", question="q", choices=("a", "b"), answer="A")
    second = row("2", question="q", choices=("b", "a"), answer="B")
    other = row("3", question="q", choices=("b", "c"), answer="B")
    assert duplicates.content(first.fields) == duplicates.content(second.fields)
    assert duplicates.content(first.fields) != duplicates.content(other.fields)


def test_what_has_no_text_is_no_duplicate():
    splits = {split: (row(split, caption="x"),) for split in ("train", "test")}
    assert duplicates.across(splits) == {}
    assert list(duplicates.across(splits, ("caption",))) == ["train"]


def test_posts_of_given_comments_are_checked(tmp_path):
    for split, numbers in {"train": (1, 2, 3), "validation": (4,), "test": (3, 5)}.items():
        lines = [json.dumps({"parent": f"Post {i}", "comment": f"{split} {i}"}) + "\n" for i in numbers]
        (tmp_path / f"{split}.jsonl").write_text("".join(lines))
    options = {"source": "path", "path": str(tmp_path)}
    with pytest.warns(Remark, match="1 of 3 train rows stand in a later split too"):
        assert len(loquent.task("comments", **options).rows("train")) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(loquent.task("comments", drop_duplicates=True, **options).rows("train")) == 2


def test_images_of_given_dialogues_are_checked(tmp_path):
    for split, images in {"train": (1, 2, 3), "val": (4,), "test": (3, 5)}.items():
        dialogs = [{"caption": "A dog.", "image_id": image, "dialog": []} for image in images]
        data = {"questions": [], "answers": [], "dialogs": dialogs}
        (tmp_path / f"visdial_{split}.json").write_text(json.dumps({"data": data}))
    counted_then_dropped("dialogue", tmp_path, source="visdial")


def test_statements_of_given_blocks_are_checked(tmp_path):
    program = "count(filter_obj(all_items, is_black)) >= "
    for split, numbers in {"train": (1, 2, 3), "test": (3, 5)}.items():
        entries = {
            str(n): {"sentence": f"There are {n} black blocks", "lf": f"{program}{n}"} for n in numbers
        }
        (tmp_path / f"tower_scratch_{split}.json").write_text(json.dumps(entries))
    counted_then_dropped("blocks", tmp_path, source="path")


def counted_then_dropped(task, folder, **options):
    """Of the training and validation rows one stands in the test split."""
    splits, options = ("train", "validation"), {"path": str(folder), **options}
    with pytest.warns(Remark, match="1 of [13] train rows stand in a later split too|1 of . validation rows"):
        kept = rows_of(task, splits, options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows_of(task, splits, {**options, "drop_duplicates": True}) == kept - 1


def rows_of(name, splits, options):
    task = loquent.task(name, **options)
    return sum(len(task.rows(split)) for split in splits)


def files(folder, **splits):
    for split, texts in splits.items():
        lines = [
            {"text": text, "tokens": text.split(), "labels": ["x"] * len(text.split())} for text in texts
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"source": "path", "path": str(folder)}


SPLITS = {"train": ("a a", "b b", "c c", "d d"), "validation": ("e e", "B b"), "test": ("f f", "E  e", "c c")}


@pytest.mark.parametrize("task", ["generation", "tagging"])
def test_given_files_are_checked(task, tmp_path):
    options = files(tmp_path, **SPLITS)
    with pytest.warns(
        Remark,
        match=r"1 of 2 validation rows and 2 of 4 train rows stand in a later split too, "
        r"for example validation row 'validation-1' = row 'test-2'.*drop_duplicates: true",
    ):
        kept = [len(loquent.task(task, **options).rows(split)) for split in SPLITS]
    assert kept == [4, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dropped = loquent.task(task, drop_duplicates=True, **options)
        assert [[row.id for row in dropped.rows(split)] for split in SPLITS] == [
            ["train-1", "train-4"], ["validation-2"], ["test-1", "test-2", "test-3"]
        ]  # fmt: skip


def test_files_without_duplicates_are_silent(tmp_path):
    options = files(tmp_path, train=("a a", "b b"), validation=("c c",), test=("d d",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(loquent.task("tagging", **options).rows("train")) == 2
