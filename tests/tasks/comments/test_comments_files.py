"""Comments from files: ILQL's release, CSV, JSONL and GoEmotions."""

import gzip
import json

import pytest

import loquent
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.errors import BadRow, BadSetting, BrokenAgent
from loquent.tasks.comments import rows as home


def world(path, **options):
    return loquent.task("comments", source="path", path=str(path), **options)


def released(folder, count=20):
    """Files in the form of ILQL's release: 11 columns, one cell of two lines."""
    for name, score in (("positive", 5), ("negative", -5)):
        lines = ["a,b,c,d,text,score,e,f,g,h,parent"]
        lines += [f'0,1,2,3,"{name} {i},\nmore",{score},6,7,8,9,post {i}' for i in range(count)]
        (folder / f"comments_{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_the_release(tmp_path):
    folder = released(tmp_path)
    found = [row for split in ("train", "validation", "test") for row in world(folder).rows(split)]
    assert len({row.id for row in found}) == len(found) == 40
    row = next(row for row in found if row["comment"] == "negative 3,\nmore")
    assert (row["score"], row["parent"]) == (-5, "post 3")
    for name, numbers in (("train", range(30)), ("eval", range(30, 35)), ("test", range(35, 40))):
        (folder / f"{name}_idxs.json").write_text(json.dumps(list(numbers)))
    task = world(folder, limit=0, parent=True)
    home.load.cache_clear()
    assert [len(task.rows(split)) for split in ("train", "validation", "test")] == [30, 5, 5]
    assert task.rows("test")[0]["comment"] == "negative 15,\nmore"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.csv", 'comment,parent,score\n" a\r\nb  c ","p\nq ",1\n'),
        ("train.jsonl", json.dumps({"comment": " a\nb  c ", "parent": "p\nq ", "score": 1})),
    ],
)
def test_line_breaks_of_comments_survive(tmp_path, name, content):
    """The released code takes the cells as they are; only outer space is no part of a comment."""
    (tmp_path / name).write_text(content)
    task = world(tmp_path / name, moderator="", voter="comments/recorded")
    [row] = task.rows("train")
    assert (row["comment"], row["parent"]) == ("a\nb  c", "p\nq")
    [played] = play(task, games([row]), make("comments/recorded", task), seed=0)
    assert [turn.text for turn in played.turns if turn.seat == "agent"] == ["a\nb  c"]
    assert played.rewards["upvotes"] == 1.0, "the voter knows the comment by its lines"


def test_whole_numbers_of_tables_with_missing_cells(tmp_path):
    (tmp_path / "train.csv").write_text("comment,score,toxic\na,3.0,1.0\nb,-2,2\nc,+1.,0\n")
    task = world(tmp_path / "train.csv")
    rows = {row["comment"]: row for split in ("train", "validation", "test") for row in task.rows(split)}
    assert [(rows[name]["score"], rows[name]["label"]) for name in "abc"] == [(3, 1), (-2, 2), (1, 0)]


@pytest.mark.parametrize("score", ["1_0", "٣", "3.5", "1e3", "nan", ""])
def test_other_scores_are_refused(tmp_path, score):
    (tmp_path / "train.csv").write_text(f"comment,score\na,{score}\n")
    with pytest.raises(BadRow, match=":2: the score is"):
        world(tmp_path / "train.csv").rows("train")


@pytest.mark.parametrize("numbers", ["[40]", "[-1]", "[true]", "[]", "{}", "[1, 1]", "nothing"])
def test_bad_lists_of_rows(tmp_path, numbers):
    folder = released(tmp_path)
    (folder / "train_idxs.json").write_text(numbers)
    with pytest.raises(BadSetting, match="train_idxs"):
        world(folder).rows("train")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("comments_positive.csv", "h\n1,2,3\n", ":2: this row has 3 cells; it must have at least 11"),
        ("comments_positive.csv", "h\n0,1,2,3,text,many,6,7,8,9,post\n", ":2: the score is 'many'"),
        ("comments_positive.csv", 'h\n0,"1,2\n', "this is not CSV"),
        ("comments_positive.csv", "h\n", "the file has no row"),
        ("train.csv", "comment,toxic\na,True\nb,perhaps\n", ":3: the label is 'perhaps'"),
        ("train.csv", "comment\n  \n", ":2: the comment is"),
        ("train.csv", "words\na\n", ":2: the comment is null"),
        ("train.jsonl", '{"comment": "a", "score": 1.5}\n', "the score is 1.5"),
        ("train.jsonl", '{"comment": "a", "score": true}\n', "the score is true"),
        ("train.jsonl", '{"comment": 3}\n', "the comment is 3"),
        ("train.jsonl", '{"comment": "a", "parent": 3}\n', "its post 3"),
        ("train.tsv", "a comment\t3\n", ":1: this row is"),
        ("train.tsv", "a comment\tjoy\tid\n", ":1: this row is"),
    ],
)
def test_bad_rows_are_named(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadRow, match=words):
        world(tmp_path).rows("train")


def test_names_of_columns(tmp_path):
    (tmp_path / "train.csv").write_text("id,body,post,score,toxic\n1,hello,a post,4,False\n2,you,b,-1,TRUE\n")
    (tmp_path / "test.jsonl.gz").write_bytes(gzip.compress(b'{"text": "hi", "label": 1}\n'))
    task = world(tmp_path)
    assert [dict(row.fields) for row in task.rows("train")] == [
        {"parent": "a post", "comment": "hello", "score": 4, "label": 0},
        {"parent": "b", "comment": "you", "score": -1, "label": 2},
    ]
    assert dict(task.rows("test")[0].fields) == {"parent": "", "comment": "hi", "label": 1}


def test_folders_without_rows(tmp_path):
    with pytest.raises(BadSetting, match="this folder has no rows"):
        world(tmp_path).rows("train")
    with pytest.raises(BadSetting, match="no such file"):
        world(tmp_path / "none").rows("train")
    (tmp_path / "a.xml").write_text("x")
    with pytest.raises(BadSetting, match="must end in"):
        world(tmp_path / "a.xml").rows("train")
    for name in ("val.csv", "dev.csv"):
        (tmp_path / name).write_text("comment\na\n")
    with pytest.raises(BadSetting, match="both hold 'validation'"):
        world(tmp_path).rows("validation")


def test_recorded_labels_and_scores_judge(tmp_path):
    """The reward "upvotes real": one of the scores of the comment, drawn; other comments are unknown."""
    rows = [{"comment": "same", "score": score, "label": 1} for score in (3, -2)]
    rows.append({"comment": "unlabelled", "score": 0})
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = world(tmp_path, moderator="comments/recorded", voter="comments/recorded")
    writer = make("comments/recorded", task)
    played = list(play(task, games(task.rows("train")[:2], each=40), writer, seed=0))
    assert {game.rewards["toxicity"] for game in played} == {1.0}
    votes = [game.rewards["upvotes"] for game in played]
    assert set(votes) == {-1.0, 1.0}
    assert 20 < votes.count(1.0) < 60
    with pytest.raises(BrokenAgent, match="no row records a label of the comment 'unlabelled'"):
        list(play(task, games(task.rows("train")[2:]), writer, seed=0))
    task = world(tmp_path, moderator="", voter="comments/recorded")
    with pytest.raises(BrokenAgent, match="no row records a score of the comment 'other'"):
        list(play(task, games(task.rows("train")[:1]), Says("other"), seed=0))


class Says:
    name = "says"

    def __init__(self, text):
        self.text = text

    def answer(self, asked):
        return [loquent.core.agent.Answer(self.text) for _ in asked]


@pytest.mark.data
def test_real_comments_load(beside):
    task = world(beside / "data" / "reddit_goemotions")
    assert [len(task.rows(split)) for split in ("train", "validation", "test")] == [3000, 600, 600]
    assert task.rows("train")[0]["emotions"] == ("anger",)
    toxic = world(beside / "data" / "wiki_toxicity")
    assert [len(toxic.rows(split)) for split in ("train", "validation", "test")] == [900, 292, 300]
    assert {row["label"] for row in toxic.rows("train")} == {0, 2}
