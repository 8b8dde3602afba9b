"""Tokens, sentences, documents, SQuAD and NewsQA files: I-8, I-13, I-14, I-24 of iMRC's specification."""

import copy
import csv
import gzip
import json
import pickle
import warnings
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loquent
from helpers.tasks.harvard import play
from loquent import Key
from loquent.core.settings import Remark
from loquent.errors import BadRow, BadSetting, UnknownName
from loquent.tasks.reading.corpus import squad
from loquent.tasks.reading.corpus.documents import document
from loquent.tasks.reading.corpus.tokens import imrc, lower_tokens, tokens, whole
from loquent.tasks.reading.search.backends import exact
from loquent.tasks.reading.search.similar import similar


def sentences(text, splitter):
    words = text.lower().split()
    return [" ".join(words[a:b]) for a, b in splitter(words)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x . y ? z ! w", ["x", "y", "z", "w"]),
        ("Who ? Me ! Yes . No .", ["who", "me", "yes", "no ."]),
        (". a . b", [". a", "b"]),
        ("a . . b", ["a", ". b"]),
        ("a . . . b", ["a", ".", "b"]),
        ("mr. x went . ", ["mr. x went ."]),
        ("a .b . c", ["a .b", "c"]),
        ("", []),
    ],
)
def test_i_8_the_splitter_of_the_paper(text, found):
    assert sentences(text, imrc) == found


def test_the_splitter_that_keeps_delimiters():
    assert sentences('he said " no ! " and left . then ?', whole) == [
        'he said " no ! "',
        "and left .",
        "then ?",
    ]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_i_8_no_sentence_is_an_error(text):
    with pytest.raises(ValueError, match="no sentence"):
        document(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Harvard's endowment wasn't $25.7 billion.", "harvard 's endowment was n't $ 25.7 billion ."),
        ("about 30% less (in U.S. dollars)", "about 30 % less ( in u.s. dollars )"),
        ("Mr. J. Smith cannot go.", "mr. j. smith can not go ."),
        ("She ate figs. He said no. See no. 5.", "she ate figs . he said no . see no. 5 ."),
        ("It ended in the U.S. The rest went on.", "it ended in the u.s . the rest went on ."),
        ('"Well-known" 1990–91, 1,000; e.g. this', '" well-known " 1990–91 , 1,000 ; e.g. this'),
        ("“No!” he said...", "“ no ! ” he said ..."),
        ("a\u00a0b\u2028c", "a b c"),
        ("naïve cafe\u0301 \U0001f600!", "naïve cafe\u0301 \U0001f600 !"),
    ],
)
def test_tokens(text, words):
    assert " ".join(lower_tokens(text)) == words


@given(st.text(max_size=60))
def test_tokens_cover_all_characters_that_are_no_space(text):
    spans = tokens(text)
    assert "".join(text[a:b] for a, b in spans) == "".join(text.split())
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))


def test_i_13_unicode():
    world = loquent.task("reading", source="samples", queries="any")
    text = "İstanbul is old. Café “Ümit” – \u00a0e\u0301t\u00e9 opened. A cafe closed."
    row = world.row_from({"context": text, "question": "who ?", "answers": ["e\u0301t\u00e9"]})
    paragraph = world.game(row).document
    assert [len(sentence.split(" ")) for sentence in paragraph.sentences] == [3, 7, 4]
    assert exact(paragraph, 0, "café") == (1, True, False)
    assert exact(paragraph, 0, "cafe") == (2, True, False)
    assert exact(paragraph, 0, "cafe\u0301") == (0, False, False)
    start = text.index("e\u0301t")
    assert paragraph.covering(start, start + 4) == "e\u0301t\u00e9"


def test_documents_are_interned_values():
    text = "One two. Three four. One two."
    first = document(text)
    assert document(text) is first
    assert copy.deepcopy(first) is first
    assert pickle.loads(pickle.dumps(first)) == first
    assert (first.index["two"], first.index["three"]) == ((0, 2), (1,))
    assert (first.sentences, first.first_equal) == (("one two", "three four", "one two ."), (0, 1, 2))
    assert first.sentence_texts == ("One two", "Three four", "One two.")


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("stop", "stopped", True),
        ("carry", "carries", True),
        ("walks", "walking", True),
        ("colour", "color", True),
        ("cat", "car", False),
        ("1998", "1999", False),
        ("university", "univercety", True),
        ("harvard", "harbour", False),
    ],
)
def test_similar_tokens(a, b, alike):
    assert similar(a, b) == similar(b, a) == alike


# SQuAD


def article(number, questions=2):
    context = f"Town {number} is old. It has {number} gates."
    answers = [{"text": f"{number} gates", "answer_start": context.index(f"{number} gates")}]
    qas = [
        {"id": f"{number}-{i}", "question": f"How many gates {i} ?", "answers": answers}
        for i in range(questions)
    ]
    return {"title": str(number), "paragraphs": [{"context": context, "qas": qas}]}


def written(path, articles):
    text = json.dumps({"version": "1.1", "data": articles}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_i_14_the_split_of_a_part_of_squad(tmp_path):
    written(tmp_path / "train-v1.1.json.gz", [article(i) for i in range(1, 35)])
    written(tmp_path / "dev-v1.1.json", [article(i) for i in range(50, 53)])
    world = loquent.task("reading", source="squad", path=str(tmp_path))
    rows = {split: world.rows(split) for split in world.spec.splits}
    assert {split: len(found) for split, found in rows.items()} == {"train": 64, "validation": 4, "test": 6}
    assert [row.id for row in rows["validation"]] == ["33-0", "33-1", "34-0", "34-1"]
    assert rows["train"][0]["context"] is rows["train"][1]["context"]


SMALL = squad.Official(
    articles=6, train=12, dev=4, validation=4, first="how many gates 0 ?", last="how many gates 1 ?"
)


def test_i_14_the_counts_of_the_whole_files():
    train, dev = items(range(1, 7)), items((8, 9))
    found = squad.paper_split(train, dev, SMALL)
    assert {split: len(members) for split, members in found.items()} == {
        "train": 8,
        "validation": 4,
        "test": 4,
    }
    assert found["validation"] == train[8:]
    for official, wrong in (
        ({"dev": 5}, "questions in dev"),
        ({"train": 13}, "questions in train"),
        ({"first": "who ?"}, "first validation question"),
        ({"last": "who ?"}, "last validation question"),
    ):
        changed = squad.Official(**{**vars(SMALL), **official})
        with pytest.raises(BadSetting, match=wrong):
            squad.paper_split(train, dev, changed)
    whole = squad.OFFICIAL
    assert (whole.train - whole.validation, whole.validation, whole.dev) == (82_441, 5_158, 10_570)


def items(numbers):
    return [
        squad.Item("", question["id"], number, {"context": paragraph["context"], **question})
        for number in numbers
        for paragraph in article(number)["paragraphs"]
        for question in paragraph["qas"]
    ]


def test_any_file_in_squads_form_is_split_by_paragraph(tmp_path):
    articles = [article(i) for i in range(100)]
    for question in (question for each in articles[:2] for question in each["paragraphs"][0]["qas"]):
        question["id"] = None  # as if it had none
    path = written(tmp_path / "mine.json", articles)
    world = loquent.task("reading", source="squad", path=str(path))
    contexts = {split: {row["context"] for row in world.rows(split)} for split in world.spec.splits}
    assert sum(map(len, contexts.values())) == 100
    assert all(6 <= len(contexts[split]) <= 90 for split in contexts)
    assert sum(len(world.rows(split)) for split in contexts) == 200


def test_unanswered_questions_are_counted(tmp_path):
    articles = [article(i) for i in range(20)]
    articles[0]["paragraphs"][0]["qas"][0] |= {"answers": [], "is_impossible": True}
    world = loquent.task("reading", source="squad", path=str(written(tmp_path / "v2.json", articles)))
    with pytest.warns(Remark, match="1 questions without an answer"):
        assert sum(len(world.rows(split)) for split in world.spec.splits) == 39


def test_a_paragraph_in_two_splits_is_reported(tmp_path):
    written(tmp_path / "train.json", [article(i) for i in range(5)])
    written(tmp_path / "test.json", [{"title": "x", "paragraphs": [{**article(1)["paragraphs"][0], "qas": [
        {**article(1)["paragraphs"][0]["qas"][0], "id": "other"}]}]}])  # fmt: skip
    with pytest.warns(Remark, match="1 paragraphs stand in train and in test"):
        loquent.task("reading", source="squad", path=str(tmp_path)).rows("train")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dropped = loquent.task("reading", source="squad", path=str(tmp_path), drop_duplicates=True)
        assert [row.id for row in dropped.rows("test")] == ["other"]
        contexts = [{row["context"] for row in dropped.rows(split)} for split in ("train", "test")]
    assert contexts[0].isdisjoint(contexts[1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: [], r"it must be an object \{...\}, got \[\]"),
        (lambda data: {}, "it lacks the field 'data'"),
        (lambda data: {"data": [1]}, r"data\[0\] must be an object"),
        (lambda data: {"data": [{"paragraphs": [{"qas": []}]}]}, r"data\[0\].paragraphs\[0\]"),
        (lambda data: {"data": [{"paragraphs": [{"context": "a", "qas": [3]}]}]}, "must be an object"),
        (lambda data: {"data": [{"paragraphs": [{"context": "a", "qas": [{}]}]}]}, "lacks the field"),
        (lambda data: {"data": []}, "no question"),
        (lambda data: {"data": [article(1), article(1)]}, "'1-0' belongs to 2 questions"),
        (lambda data: {"data": [moved(article(1))]}, "should start at character 0"),
    ],
)
def test_malformed_files(tmp_path, change, problem):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(change(None)))
    with pytest.raises(BadRow, match=problem):
        loquent.task("reading", source="squad", path=str(path)).rows("train")


def moved(article):
    article["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 0
    return article


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 200, b'{"data": NaN}'])
def test_files_that_are_no_json(tmp_path, content):
    for name in ("x.json", "y.json.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadRow, match=name):
            loquent.task("reading", source="squad", path=str(tmp_path / name)).rows("train")


def test_a_folder_without_files(tmp_path):
    with pytest.raises(BadSetting, match="holds no split"):
        loquent.task("reading", source="squad", path=str(tmp_path)).rows("train")
    with pytest.raises(BadSetting, match="no such file"):
        loquent.task("reading", source="squad", path=str(tmp_path / "none")).rows("train")


@pytest.mark.data
def test_real_squad(beside):
    world = loquent.task("reading", source="squad", path=str(beside / "data" / "squad_v1.1"))
    rows = {split: world.rows(split) for split in world.spec.splits}
    assert sum(map(len, (rows["train"], rows["validation"]))) == 3621
    assert len(rows["test"]) == 1228
    assert abs(len(rows["validation"]) / 3621 - 5158 / 87599) < 0.01
    games = [world.game(row) for row in rows["train"]]
    reachable = [
        any(needle in f" {text} " for text in game.document.answer_words for needle in game.needles)
        for game in games
    ]
    assert sum(reachable) / len(games) > 0.99
    paragraphs = {game.document.text: game.document for game in games}.values()
    assert sum(len(one.ranges) for one in paragraphs) / len(paragraphs) == pytest.approx(5.1, abs=0.3)


# NewsQA


def newsqa(folder, rows, split="train", header=("story_id", "story_text", "question", "answer_token_ranges")):
    with (folder / f"{split}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


LONG = " ".join(["word"] * 101)


def test_i_24_newsqa(tmp_path):
    rows = [
        ("a", "It began . Ada\u00a0King wrote it . End .", "who ?", "3:4,0:1"),
        ("b", f"Short one . {LONG} . Last one .", "what ?", "0:1,4:5"),
        ("c", f"Short one . {LONG} . Last one .", "what ?", "4:5"),
        ("d", "One two .", "what ?", ""),
        ("e", "One two .", "what ?", "2:9"),
        ("f", " ".join(["x"] * 1501), "what ?", "0:1"),
    ]
    newsqa(tmp_path, rows)
    world = loquent.task("reading", source="newsqa", path=str(tmp_path))
    with pytest.warns(Remark, match="left out") as warned:
        found = world.rows("train")
    assert len(found) == 2
    for part in ("1 questions without an answer", "outside", "1,500", "100 tokens"):
        assert part in str(warned[0].message)
    game = world.game(found[0])
    assert game.golds == ("Ada\u00a0King", "It")
    assert game.document.sentences == ("it began", "ada\u00a0king wrote it", "end .")
    assert world.game(found[1]).document.sentences == ("short one", "last one .")
    assert world.game(found[1]).golds == ("Short",)


@pytest.mark.parametrize("splitter", ["imrc", "whole"])
def test_an_answer_of_newsqa_may_go_on_into_the_next_sentence(splitter, tmp_path):
    rows = [
        ("a", "Ada built it . Ben sold it .", "what ?", "2:5"),
        ("b", "Ada built it . Ben sold it .", "what ?", "1:4"),
        ("c", f"Ada built it . {LONG} . Ben sold it .", "what ?", "2:7"),
        ("d", "Ada built it . Ben sold it .", "what ?", "3:4,1:2"),
    ]
    newsqa(tmp_path, rows)
    world = loquent.task("reading", source="newsqa", path=str(tmp_path), splitter=splitter)
    with pytest.warns(Remark, match="1 questions whose answer is in a sentence of more than 100 tokens"):
        found = world.rows("train")
    assert [row["answers"][-1] for row in found] == ["it . Ben", "built it .", "built"]
    rewards = [
        [dict(play(world, world.start(row, Key(0)), *commands)[-1].rewards) for row in found[:2]]
        for commands in (["stop"], ["next", "stop"])
    ]
    assert rewards == [[{"sufficient": 0.0}, {"sufficient": 1.0}], [{"sufficient": 1.0}, {"sufficient": 1.0}]]


@pytest.mark.parametrize(
    ("row", "header", "problem"),
    [
        (("a", "One two .", "what ?", "0-1"), None, "train.csv:2: .*'0-1'"),
        (("a", "One two .", "what ?"), ("story_id", "story_text", "question"), "answer_token_ranges"),
        (("a", "One two .", " ", "0:1"), None, "question"),
    ],
)
def test_malformed_newsqa(tmp_path, row, header, problem):
    newsqa(tmp_path, [row], **({"header": header} if header else {}))
    with pytest.raises(BadRow, match=problem):
        loquent.task("reading", source="newsqa", path=str(tmp_path)).rows("train")


@pytest.mark.data
def test_a_stand_in_for_newsqa(beside):
    folder = beside / "data" / "newsqa_standin_onestopqa" / "split_data"
    world = loquent.task("reading", source="newsqa", path=str(folder), splitter="whole")
    rows = [row for split in world.spec.splits for row in world.rows(split)]
    assert len(rows) == 1458  # all of them: no sentence is too long
    assert all(world.game(row).needles for row in rows)


def test_a_file_that_is_cut_off_is_named_with_the_line(tmp_path):
    file = tmp_path / "train.json"
    file.write_text('{"data": [\n')
    with pytest.raises(BadRow, match=r"train\.json:2: this file cannot be read as JSON .*column 1"):
        squad.read(file)


def test_a_row_of_another_split_is_refused_with_the_split_it_needs():
    with pytest.raises(UnknownName, match="Rows of test need the split 'test': --split test"):
        loquent.task("reading").row("train", "test-9999-0")
