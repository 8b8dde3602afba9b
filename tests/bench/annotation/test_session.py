"""A session: what is given joins the pool and is learned from, and a session killed anywhere becomes the one
that was not.
"""

import json
import shutil

import pytest

from helpers.bench.annotation import GOLD, TEXTS, annotated, begun, state, written
from loquent.bench.annotation.session import Effort, Session
from loquent.errors import BadCheckpoint, BadRow, BadSetting
from loquent.files import atomic
from loquent.training import recipes

pytest.importorskip("stable_baselines3")


@pytest.mark.parametrize("kind", ["sb3/double_dqn", "sb3/ppo"])
def test_what_is_given_is_learned_from_and_told(tmp_path, kind):
    one = begun(tmp_path, written(tmp_path, kind))
    logs = annotated(one)
    assert len(one.trainer.experience.sampler.pool) == 6
    kept = [
        json.loads(line) for line in (tmp_path / "session" / "annotations.jsonl").read_text().splitlines()
    ]
    assert [line["given"] for line in kept] == [list(GOLD[text]) for text in TEXTS]
    wrong = sum(a != b for line in kept for a, b in zip(line["suggested"], line["given"], strict=True))
    assert one.effort == Effort(6, wrong, sum(map(len, TEXTS)))
    assert logs[-1]["annotation/saved"] == one.effort.saved_share == 1 - wrong / 17
    assert one.evaluate()["n"] == 6
    assert json.loads((tmp_path / "session" / "evaluation.json").read_text())["checkpoint"] == "update-6"


def test_effort_by_hand():
    assert Effort(2, 3, 12).saved_share == 0.75
    assert Effort(1, 4, 2).saved_share == -1
    assert Effort(0, 0, 0).saved_share == 0


def test_only_what_was_given_is_played(tmp_path):
    one = begun(tmp_path)
    annotated(one, 1)
    assert {row.id for row in one.trainer.experience.sampler.pool.rows} == {"abc"}
    assert {game.row.id for game in one.trainer.algorithm.table.games} == {"abc"}


@pytest.mark.sweep("after the log", "a torn checkpoint", "a torn annotation")
@pytest.mark.parametrize(
    "left",
    [
        "whole",
        "after the annotation",
        "after the log",
        "a torn checkpoint",
        "no checkpoint",
        "a torn annotation",
    ],
)
def test_a_session_that_was_killed_becomes_the_one_that_was_not(tmp_path, left):
    whole, killed = _mkdir(tmp_path / "whole"), tmp_path / "killed"
    annotated(begun(whole))
    made = written(whole)
    annotated(begun(_mkdir(killed), made), 3)
    folder = killed / "session"
    ahead = [json.loads(line) for line in (whole / "session" / "annotations.jsonl").read_text().splitlines()][
        3
    ]
    if left in ("after the annotation", "after the log"):
        atomic.append_line(folder / "annotations.jsonl", ahead)
    if left == "after the log":
        atomic.append_line(folder / "metrics.jsonl", {"update": 4, "half": 1})
    if left == "a torn checkpoint":
        file = folder / "checkpoints" / "update-3" / "state.safetensors"
        file.write_bytes(file.read_bytes()[:-9])
    if left == "no checkpoint":
        shutil.rmtree(folder / "checkpoints")
    if left == "a torn annotation":
        with (folder / "annotations.jsonl").open("a") as file:
            file.write(json.dumps(ahead)[:20])
    again = Session(made, folder)
    assert len(again.annotations) == (4 if left.startswith("after") else 3)
    annotated(again)
    assert state(killed) == state(whole)
    for name in ("metrics.jsonl", "annotations.jsonl", "samples.jsonl"):
        assert (folder / name).read_text() == (whole / "session" / name).read_text(), name


@pytest.mark.parametrize("taken_back", [1, 2])
def test_a_session_with_an_undone_annotation_is_the_one_without_it(tmp_path, taken_back):
    """More than one at a time takes the session back past its checkpoints: it learns again from what is
    left.
    """
    whole, other = _mkdir(tmp_path / "whole"), _mkdir(tmp_path / "other")
    annotated(begun(whole), 4)
    one = begun(other, written(whole))
    annotated(one, 4 - taken_back)
    for _ in range(taken_back):  # these are wrong
        row = one.pending
        one.annotate(row, one.suggest(row), ("other",) * len(row["tokens"]))
    for _ in range(taken_back):
        one = one.undo()
    assert len(one.annotations) == 4 - taken_back
    assert one.draft(one.pending) == ("other",) * len(one.pending["tokens"])
    annotated(one, taken_back)
    assert state(other) == state(whole)
    for name in ("metrics.jsonl", "annotations.jsonl", "samples.jsonl"):
        assert (other / "session" / name).read_text() == (whole / "session" / name).read_text(), name


def _mkdir(folder):
    folder.mkdir()
    return folder


def test_the_comparison_of_states_can_fail(tmp_path):
    one, two = _mkdir(tmp_path / "one"), _mkdir(tmp_path / "two")
    annotated(begun(one), 3)
    other = begun(two)
    annotated(other, 2)
    other.annotate(other.pending, ("other", "other"), ("vowel", "vowel"))
    assert state(one) != state(two)


def test_drafts_are_kept_until_the_sample_is_given(tmp_path):
    one = begun(tmp_path)
    row = one.pending
    assert one.draft(row) is None
    one.keep_draft(row, ("vowel", "vowel", "other"))
    again = Session(one.recipe, one.folder)
    assert again.draft(again.pending) == ("vowel", "vowel", "other")
    again.keep_draft(row, ())  # an annotation that was emptied is one
    assert Session(one.recipe, one.folder).draft(row) == ()
    again.annotate(again.pending, ("other",) * 3, GOLD["abc"])
    assert again.draft(again.pending) is None
    assert not (one.folder / "draft.json").exists()


def test_what_does_not_fit_is_refused_and_nothing_is_kept(tmp_path):
    one = begun(tmp_path)
    with pytest.raises(Exception, match="3 tokens and 1 labels"):
        one.annotate(one.pending, ("other",) * 3, ("other",))
    assert (one.folder / "annotations.jsonl").read_text() == ""
    assert one.annotations == []


def test_samples_may_be_added_later_and_weighted(tmp_path):
    one = begun(tmp_path, weight=2.0)
    annotated(one)
    again = Session(
        one.recipe,
        one.folder,
        [one.form.blank({"tokens": ("z", "o"), "id": "zo"}), one.form.blank({"tokens": ("a",), "id": "a"})],
    )
    assert again.pending.id == "zo"
    assert again.trainer.experience.sampler.pool.weights == (2.0,) * 6


def test_two_samples_of_one_id_are_refused(tmp_path):
    one = begun(tmp_path)
    twice = [one.form.blank({"tokens": (letter,), "id": "z"}) for letter in "yz"]
    with pytest.raises(BadRow, match="two samples have the id 'z'"):
        Session(one.recipe, one.folder, twice)
    assert len(Session(one.recipe, one.folder).samples) == 6


def test_other_folders_and_learners_are_refused(tmp_path):
    one = begun(tmp_path)
    with pytest.raises(BadCheckpoint, match=r"other settings: .* was .* and is .* now"):
        Session(written(tmp_path, updates=7), one.folder)
    (one.folder / "annotations.jsonl").unlink()
    with pytest.raises(BadCheckpoint, match="no annotation session"):
        Session(written(tmp_path), one.folder)
    small = [
        "model.layers=1",
        "model.width=16",
        "model.heads=2",
        "model.vocabulary=300",
        "model.tokenizer_texts=50",
        "task.limit=20",
    ]
    with pytest.raises(BadSetting, match="learns from texts"):
        Session(recipes.load("reviews_ppo", ["model.path=", *small]), tmp_path / "other")
