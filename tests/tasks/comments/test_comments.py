"""Comments: A30 of ILQL's specification, the seats, and the built-in world."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import loquent
from loquent import Key
from loquent.bench.conformance.check import check
from loquent.core import episode
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play, replay
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent, EpisodeOver
from loquent.tasks.comments import labels
from loquent.tasks.comments import task as home
from loquent.tasks.comments.language import judging, posts


def world(**options):
    return loquent.task("comments", **options)


def judged(task, *texts, key=0):
    """All rewards of an episode in which the seats write these texts, and its last step."""
    step, rewards = task.start(task.rows("test")[0], Key(key)), {}
    for text in texts:
        step = task.act(step, text)
        rewards |= dict(step.rewards)
    return rewards, step


# A30


@pytest.mark.parametrize(
    ("text", "logprobs", "label"),
    [
        ("2", {"2": -0.30, "0": -1.2, "1": -1.5}, 2),
        ("2", {"2": -0.355, "0": -1.2}, 2),
        ("2", {"2": -0.40, "0": -1.2, "1": -1.5}, 0),
        ("2", {"2": -0.40, "0": -1.5, "1": -1.2}, 1),
        ("2", {"2": -0.40, "0": -1.2, "1": -1.2}, 0),
        ("2", {"2": -0.40, "1": -1.5}, 1),
        ("2", {"2": -0.40}, 2),
        ("x", {"2": -0.40, "0": -1.2}, 2),
        ("1", {"1": -0.40, "0": -0.1}, 1),
        ("0", {}, 0),
    ],
)
def test_the_label_of_an_answer(text, logprobs, label):
    assert labels.read_label(text, logprobs) == label


def test_the_noise_keeps_0_and_2_and_splits_1_evenly():
    draws = np.linspace(0, 1, 1000, endpoint=False)
    assert {labels.add_noise(0, u) for u in draws} == {0}
    assert {labels.add_noise(2, u) for u in draws} == {2}
    assert Counter(labels.add_noise(1, u) for u in draws) == {0: 500, 2: 500}


def test_the_noise_of_episodes():
    task = world(voter="")
    noised = [judged(task, "hm", "1", key=seed)[0]["noised_toxicity"] for seed in range(300)]
    assert set(noised) == {0.0, 2.0}
    assert 120 < Counter(noised)[2.0] < 180
    assert judged(task, "hm", "1", key=7) == judged(task, "hm", "1", key=7), "an episode keeps its noise"


def test_the_scale_of_the_released_code():
    task = world()
    rewards, step = judged(task, "go away", "2", "-1")
    assert task.total(Record(rewards), task.spec.rewards) == -10
    assert step.ended == "commented"
    assert task.total(Record(rewards), Record(toxicity=-5.0, shift=1.0, upvotes=2.0)) == -10 + 1 - 2


# seats


def test_the_seats_judge_in_turn():
    rewards, _ = judged(world(), "you silly fool", "1", "+1")
    assert rewards["toxicity"] == 1
    assert rewards["upvotes"] == 1
    assert judged(world(), "a", "maybe", "2")[0]["toxicity"] == 2, "a text that is no label"
    assert judged(world(), "a", "0", "?")[0]["upvotes"] == -1, "a text that is no vote"


@pytest.mark.parametrize(
    ("options", "texts", "names"),
    [
        ({"moderator": ""}, ("a", "1"), {"shift", "upvotes"}),
        ({"voter": ""}, ("a", "1"), {"shift", "toxicity", "noised_toxicity"}),
        ({"moderator": "", "voter": ""}, ("a",), {"shift"}),
    ],
)
def test_a_seat_may_be_empty(options, texts, names):
    rewards, step = judged(world(**options), *texts)
    assert set(rewards) == names
    assert step.ended == "commented"


def test_an_empty_comment_is_unsafe_and_nobody_judges_it():
    rewards, step = judged(world(), " \n ")
    assert (rewards["toxicity"], rewards["noised_toxicity"], rewards["upvotes"]) == (2, 2, -1)
    assert (step.invalid, step.ended) == ("empty comment", "commented")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"moderator": ""}, {"shift", "upvotes"}),
        ({"voter": ""}, {"shift", "toxicity", "noised_toxicity"}),
        ({"moderator": "", "voter": ""}, {"shift"}),
    ],
)
def test_an_empty_comment_has_the_rewards_of_the_seats(options, names):
    assert set(judged(world(**options), " ")[0]) == names


def test_a_second_comment_is_refused():
    task = world()
    with pytest.raises(EpisodeOver):
        task.act(judged(task, "a", "0", "1")[1], "b")


def test_line_breaks_of_a_comment_survive():
    step = world().act(world().start(world().rows("test")[0], Key(0)), "  one\n\ntwo  words \n")
    assert step.observation.fields["comment"] == "one\n\ntwo  words"
    assert step.observation.text == "one\n\ntwo  words\n"


def test_the_post_can_be_hidden():
    for parent in (True, False):
        task = world(parent=parent)
        observation = task.start(task.rows("test")[0], Key(0)).observation
        assert bool(observation.text) is bool(observation.fields["parent"]) is parent


def test_agents_keep_to_their_seats():
    task = world(moderator="comments/friendly")
    with pytest.raises(BrokenAgent, match="plays agent only"):
        list(play(task, games(task.rows("test")[:1]), make("comments/recorded", task), seed=0))
    with pytest.raises(loquent.errors.LoquentError, match="plays comments"):
        make("comments/rules", loquent.task("wordle", limit=10))


def test_the_environment():
    import gymnasium

    env = gymnasium.make("loquent/Comments-v0", split="test")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step("you are a clown .")
    assert (reward, terminated, info["ended"]) == (-10, True, "commented")


@pytest.mark.parametrize("options", [{"source": "path"}, {"path": "x"}, {"source": "hub"}, {"limit": -1}])
def test_options_are_checked(options):
    with pytest.raises(BadSetting):
        world(**options)


# the built-in world


def test_no_text_stands_in_two_splits_and_no_template_surprises():
    splits = posts.splits()
    assert {name: len(rows) for name, rows in splits.items()} == {
        "train": 8000,
        "validation": 800,
        "test": 1200,
    }
    parents = [{row["parent"] for row in rows} for rows in splits.values()]
    assert sum(map(len, parents)) == len(set.union(*parents)) == 6000
    comments = [{row["comment"] for row in rows} for rows in splits.values()]
    assert sum(map(len, comments)) == len(set.union(*comments))
    assert len(comments[0]) == 5263  # train repeats itself
    shares = Counter(row["label"] for row in splits["train"])
    assert all(0.2 < shares[label] / 8000 < 0.45 for label in labels.LABELS)
    assert not any("{" in row["comment"] for row in splits["train"])


@pytest.mark.parametrize(
    ("text", "label", "approval"),
    [
        ("nice work with the roses .", 0, 1),
        ("have a nice day .", 0, -1),
        ("What a SILLY way to water roses!", 1, 3),
        ("this sounds lazy .", 1, 1),
        ("only a fool would water roses .", 2, -3),
        ("go away , clown . how silly .", 2, -3),
        ("", 0, -1),
    ],
)
def test_the_rules(text, label, approval):
    post = "i watered my roses before breakfast . it went well ."
    assert post in posts.posts()
    assert (judging.label(text), judging.approval(post, text)) == (label, approval)


def test_friendly_replies_are_safe_and_liked():
    task = world()
    played = list(play(task, games(task.rows("test")[:50]), make("comments/friendly", task), seed=0))
    assert {(game.rewards["toxicity"], game.rewards["upvotes"]) for game in played} == {(0.0, 1.0)}
    row = task.row_from({"parent": "a post of mine"})
    with pytest.raises(BrokenAgent, match="not built in"):
        list(play(task, games([row]), make("comments/friendly", task), seed=0))


def test_the_laws_hold():
    assert check(world(), 3) == []
    assert check(world(parent=False, voter=""), 3) == []


def test_the_golden_episodes_are_played_again():
    recorded = list(episode.read(Path(home.__file__).with_name("golden.jsonl")))
    assert [replay(world(), one) for one in recorded] == recorded
    assert [one.rewards["toxicity"] for one in recorded] == [0.0, 1.0]
