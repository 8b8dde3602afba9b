"""Datasets of several files: ids, CNN/DailyMail's stories, test sets of other years, and validation sets."""

import hashlib

import pytest

from loquent.agents.baselines import Expert
from loquent.core.metric import Context
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.data.pools import chosen_rows
from loquent.data.sources import with_validation
from loquent.errors import BadRow, LoquentError
from loquent.metrics.making import make as make_metric
from loquent.tasks.generation.corpora.story_files import story
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation
from loquent.training.evaluate import evaluate_agent


def made(dataset, path, **more):
    return Generation(Options(dataset=dataset, source="path", path=str(path), **more))


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


PARALLEL = {
    "europarl-v7.de-en.en": "Yes.\nNo.\n",
    "europarl-v7.de-en.de": "Ja.\nNein.\n",
    "commoncrawl.de-en.en": "Stop.\nGo.\n",
    "commoncrawl.de-en.de": "Halt.\nLos.\n",
    "newstest2015.en": "Now.\n",
    "newstest2015.de": "Jetzt.\n",
}


def test_rows_of_several_files_have_ids_of_their_own(tmp_path):
    task = made("wmt16", write(tmp_path, PARALLEL))
    assert [row.id for row in task.rows("train")] == [
        "train-commoncrawl.de-en.en-1",
        "train-commoncrawl.de-en.en-2",
        "train-europarl-v7.de-en.en-1",
        "train-europarl-v7.de-en.en-2",
    ]
    assert [row.id for row in task.rows("validation")] == ["validation-1"]  # one file needs no name
    half = made("wmt16", tmp_path, limit=2).rows("train")
    assert len({row["prompt"] for row in half}) == 2


def test_each_row_is_scored_against_its_own_references(tmp_path):
    task = made("wmt16", write(tmp_path, PARALLEL))
    metric = make_metric("exact_match", Context(task=task), {})
    found = evaluate_agent(task, Expert(task), split="train", episodes=4, metrics=[metric])
    assert found.values["exact_match"] == 1.0


def test_rows_with_one_id_are_refused_before_they_are_played():
    class Twice(Generation):
        def rows(self, split):
            return [Row("a", {}), Row("a", {})]

    with pytest.raises(LoquentError, match="2 rows with the id 'a' in its split 'train'"):
        chosen_rows(Twice(), "train")


def test_test_sets_of_other_years_are_left_out(tmp_path):
    others = {
        f"{name}.{end}": "Old.\n" for name in ("newstest2014", "newssyscomb2009") for end in ("en", "de")
    }
    with pytest.warns(Remark, match="newstest2014.en: newstest2015 is validation and newstest2016 is test"):
        made("wmt16", write(tmp_path, PARALLEL | others)).rows("train")
    task = made("wmt16", tmp_path)
    assert [len(task.rows(split)) for split in ("train", "validation")] == [4, 1]


STORY = "(CNN) -- A man\n\nsaid so.\n\nHe left\n\n@highlight\n\nMan says so\n\n@highlight\n\nHe leaves.\n"
ARTICLE, HIGHLIGHTS = "(CNN) -- A man . said so. He left .", "Man says so .\nHe leaves."


def test_a_story_becomes_an_article_and_highlights():
    assert story(STORY.split("\n")) == (ARTICLE, HIGHLIGHTS)
    # the example of the loader that published version 3.0.0
    text = "2 Article text.\n\nAnother line.\n\n"
    text += "@highlight\n\nThis is a highlight.\n\n@highlight\n\nThis is another highlight\n"
    assert story(text.split("\n")) == (
        "2 Article text. Another line.",
        "This is a highlight.\nThis is another highlight .",
    )


def named(address):
    return hashlib.sha1(address.encode()).hexdigest() + ".story"


def test_the_published_stories_are_split_by_their_lists(tmp_path):
    addresses = {"train": "http://a/1", "val": "http://b/2", "test": "http://c/3"}
    files = {f"url_lists/all_{split}.txt": f"{address}\n" for split, address in addresses.items()}
    files |= {f"cnn/stories/{named(addresses['train'])}": STORY}
    files |= {f"dailymail/stories/{named(addresses['val'])}": STORY.replace("man", "woman")}
    files |= {f"dailymail/stories/{named(addresses['test'])}": STORY.replace("man", "child")}
    files |= {f"cnn/stories/{named('http://d/4')}": STORY}
    task = made("cnn_daily_mail", write(tmp_path, files))
    with pytest.warns(Remark, match="1 stories in no split are left out"):
        task.rows("train")
    rows = {split: task.rows(split) for split in task.spec.splits}
    assert {split: len(part) for split, part in rows.items()} == {"train": 1, "validation": 1, "test": 1}
    (row,) = rows["train"]
    assert row["prompt"] == f"Summarize: {ARTICLE}"
    assert row["references"] == (HIGHLIGHTS,)
    assert row.id == "train-" + named(addresses["train"]).removesuffix(".story")
    assert "A child ." in rows["test"][0]["prompt"]
    step = task.start(row, Key(0))
    assert task.act(step, task.expert(step.state)).ended == "end"


def test_stories_in_folders_of_splits_and_without_splits(tmp_path):
    folders = {
        f"{split}/{i}.story": STORY.replace("man", f"{split} {i}")
        for split in ("train", "test")
        for i in "ab"
    }
    task = made("cnn_daily_mail", write(tmp_path / "folders", folders))
    assert {row.id for row in task.rows("test")} == {"test-a", "test-b"}
    plain = {f"{i}.story": STORY.replace("man", f"man {i}") for i in range(20)}
    task = made("cnn_daily_mail", write(tmp_path / "plain", plain))
    parts = [task.rows(split) for split in task.spec.splits]
    assert sum(map(len, parts)) == 20
    assert all(parts)


def test_stories_that_cannot_be_used_are_named_or_left_out(tmp_path):
    blank = {
        "train/a.story": STORY,
        "train/b.story": "@highlight\n\nAlone\n",
        "test/c.story": STORY.replace("A", "B"),
    }
    with pytest.warns(Remark, match="1 stories without an article or a highlight"):
        assert len(made("cnn_daily_mail", write(tmp_path / "blank", blank)).rows("train")) == 1
    twice = {"train/cnn/a.story": STORY, "train/dailymail/a.story": STORY}
    with pytest.raises(
        BadRow, match=r"dailymail/a.story.*'train-a' of this record is that of a record in .*cnn/a"
    ):
        made("cnn_daily_mail", write(tmp_path / "twice", twice)).rows("train")


QUESTIONS = "".join(f"Why {i}? \\n (T) Tale {i % 10}.\tno {i}\n" for i in range(100))


def test_questions_on_one_summary_stay_in_one_split(tmp_path):
    task = made(
        "narrative_qa", write(tmp_path, {"train.tsv": QUESTIONS, "test.tsv": "Who? \\n (T) Else.\tme\n"})
    )
    tales = {
        split: {row["prompt"].split("\\n")[1] for row in task.rows(split)}
        for split in ("train", "validation")
    }
    assert not tales["train"] & tales["validation"]
    assert len(tales["validation"]) == 2  # a fifth of ten
    assert len(task.rows("validation")) == 20


def test_a_single_group_leaves_validation_absent():
    rows = {"train": tuple(Row(f"train-{i}", {}) for i in range(10))}
    assert with_validation(rows, lambda row: "one") == rows
    assert len(with_validation(rows)["validation"]) == 2
