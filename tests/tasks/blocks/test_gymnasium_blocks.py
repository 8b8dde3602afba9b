"""Blocks as Gymnasium environments: single ones in every configuration, and the vector environment."""

import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from loquent.adapters.vector import VectorEnvironment
from loquent.core.seeding import Key
from loquent.errors import BadSetting, InvalidAction, LoquentError
from loquent.tasks.blocks.pictures import tiles
from loquent.tasks.blocks.views import object_rows

ID = "loquent/Blocks-v0"
SHAPES = [
    {},
    {"view": "image"},
    {"view": "image_full"},
    {"view": "both"},
    {"view": "text"},
    {"form": "text"},
    {"start": "flip_it"},
    {"rules": "legacy", "view": "both"},
    {"appearance": "scatter"},
    {"appearance": "scatter", "view": "image"},
    {"appearance": "scatter", "start": "flip_it", "view": "both"},
    {"appearance": "scatter", "rules": "legacy"},
    {"appearance": "scatter", "actions": "native"},
]


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_the_checker_has_nothing_to_say(settings, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ID, **settings).unwrapped)


def test_the_views_show_the_board():
    env = gymnasium.make(ID, appearance="scatter", view="both")
    seen, info = env.reset(seed=3)
    assert info["action_mask"].sum() == 1783
    action = int(np.flatnonzero(info["action_mask"])[700])
    seen, *_, info = env.step(action)
    board = info["observation"].fields["board"]
    [(place, item)] = [(place, item) for place, box in enumerate(board) for item in box]
    assert seen["objects"][0].tolist() == [1, place, *item]
    assert not seen["objects"][1:].any()
    assert (seen["image"] == tiles.half(board)).all()
    assert seen["target"] == 1
    assert seen["sentence"] == info["observation"].fields["sentence"]
    full, _ = gymnasium.make(ID, appearance="scatter", view="image_full").reset(seed=3)
    assert full["image"].shape == (100, 380, 3)


def test_rows_of_many_items():
    from loquent.tasks.blocks.boards.board import tower_block

    board = (tuple(tower_block(i % 4, i % 3) for i in range(40)), (), ())
    assert object_rows(board).shape == (32, 7)
    assert (object_rows(board)[:, 0] == 1).all()


def test_actions_have_three_sizes():
    sizes = [
        gymnasium.make(ID, **settings).action_space.n
        for settings in ({}, {"appearance": "scatter"}, {"appearance": "scatter", "actions": "native"})
    ]
    assert sizes == [13, 2661, 1_064_001]
    env = gymnasium.make(ID, appearance="scatter", actions="native").unwrapped
    _, info = env.reset(seed=0)
    assert "action_mask" not in info
    with pytest.raises(LoquentError, match="100,000"):
        env.action_masks()


def test_infos_tell_the_end():
    env = gymnasium.make(ID)
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step(10)
    assert (terminated, truncated, info["ended"], info["is_success"]) == (True, False, "invalid", False)
    assert (info["invalid_reason"], info["accuracy"]) == ("empty stack", 0.0)
    legacy = gymnasium.make(ID, rules="legacy")
    legacy.reset(seed=0)
    assert legacy.step(10)[2:4] == (False, True)


def test_renders_as_letters():
    env = gymnasium.make(ID, render_mode="ansi")
    env.reset(seed=0)
    env.step(1)
    assert env.render().count("yyyy") == 2


def test_equal_seeds_give_equal_boards_and_environments_are_independent():
    one, other = (gymnasium.make(ID, start="flip_it") for _ in range(2))
    first = [one.reset(seed=5)[0]["sentence"], *(one.reset()[0]["sentence"] for _ in range(5))]
    second = [other.reset(seed=5)[0]["sentence"]]
    for _ in range(5):
        one.reset()
        one.step(0)
        second.append(other.reset()[0]["sentence"])
    assert first == second
    assert len(set(first)) > 1


VECTORS = [
    {"view": "objects"},
    {"view": "image", "rules": "legacy"},
    {"view": "both", "start": "flip_it", "horizon": 4},
    {"view": "objects", "appearance": "scatter"},
    {"view": "both", "appearance": "scatter", "rules": "legacy", "horizon": 6},
    {"view": "image", "appearance": "scatter", "start": "flip_it"},
]


SINGLE_ONLY = {
    f"{mark}{name}" for name in ("observation", "legal", "instruction") for mark in ("", "_")
}  # what the vector environment leaves out of `info`


def equal(a, b):
    if isinstance(a, dict):
        return set(a) == set(b) and all(equal(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("settings", VECTORS, ids=str)
def test_the_vector_environment_equals_single_environments(settings):
    count, rng = 5, Key(0, ("vector", str(settings))).generator()
    own = gymnasium.make_vec(ID, num_envs=count, **settings)
    single = gymnasium.make_vec(ID, num_envs=count, vectorization_mode="sync", **settings)
    assert type(own).__name__ == "VectorEnvironment"
    assert own.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP == single.metadata["autoreset_mode"]
    assert own.observation_space == single.observation_space
    assert own.action_space == single.action_space
    (seen, info), (expected, expected_info) = own.reset(seed=7), single.reset(seed=7)
    ends = 0
    for step in range(120):
        assert equal(seen, expected)
        assert own.observation_space.contains(seen)
        assert equal(info, {name: value for name, value in expected_info.items() if name not in SINGLE_ONLY})
        weights = info["action_mask"] + 0.01 * (step % 3 == 0)  # some actions are invalid
        actions = (rng.random(weights.shape) * weights).argmax(1)
        if step % 4 == 0:
            actions[step % count] = 0  # stop
        seen, reward, terminated, truncated, info = own.step(actions)
        expected, *others, expected_info = single.step(actions)
        for mine, other in zip((reward, terminated, truncated), others, strict=True):
            assert equal(mine, other)
        ends += int((terminated | truncated).sum())
    assert ends > 20
    assert [row.id for row in own.unwrapped.rows] == list(expected_info["row"])


def test_seeds_and_options_of_the_vector_environment():
    envs = gymnasium.make_vec(ID, num_envs=3, split="test")
    ids = lambda: [row.id for row in envs.unwrapped.rows]  # noqa: E731
    envs.reset(seed=[4, 5, 6])
    first = ids()
    envs.reset(seed=4)
    assert ids() == first
    envs.reset()
    assert ids() != first
    envs.reset(seed=4, options={"split": "train"})
    assert ids() != first
    envs.reset(options={"index": 0})
    assert len(set(ids())) == 1
    other = gymnasium.make_vec(ID, num_envs=3)
    other.reset()  # without a seed
    assert other.unwrapped.rows[0] is not None


def test_wrong_uses_of_the_vector_environment():
    envs = gymnasium.make_vec(ID, num_envs=2)
    with pytest.raises(LoquentError, match="call reset"):
        envs.step(np.array([0, 0]))
    envs.reset(seed=0)
    for wrong in ([0], [0, 13], [-1, 0], [0.0, 1.0], "ab"):
        with pytest.raises(InvalidAction):
            envs.step(np.array(wrong) if wrong != "ab" else wrong)
    for settings, message in (
        ({"view": "image_full"}, "view"),
        ({"form": "text"}, "form"),
        ({"appearance": "scatter", "actions": "native"}, "native"),
        ({"rule": 1}, "rule"),
    ):
        with pytest.raises(BadSetting, match=message):
            gymnasium.make_vec(ID, num_envs=2, **settings)
    with pytest.raises(BadSetting, match="one per place"):
        envs.reset(seed=[1])
    with pytest.raises(BadSetting, match="no class of many episodes"):
        VectorEnvironment("wordle", num_envs=2)


def test_other_weights_of_the_rewards():
    envs = gymnasium.make_vec(ID, num_envs=1, weights={"answer": 5.0})
    envs.reset(seed=0)
    assert envs.step(np.array([1]))[1].tolist() == [0.0]
    assert envs.step(np.array([12]))[1].tolist() == [-5.0]


def test_an_environment_survives_a_pipe():
    env = gymnasium.make(ID, appearance="scatter").unwrapped
    env.reset(seed=0)
    *_, info = env.step(1)
    copy = pickle.loads(pickle.dumps(env))
    for action in (int(np.flatnonzero(info["action_mask"])[-1]), 0):
        seen, *rest, _ = env.step(action)
        copied, *others, _ = copy.step(action)
        assert equal(copied, seen)
        assert others == rest
    assert copy.episode() == env.episode()


def test_asynchronous_environments_give_the_same_steps():
    envs = gymnasium.make_vec(
        ID, num_envs=3, vectorization_mode="async", vector_kwargs={"shared_memory": False}
    )
    own, rng = gymnasium.make_vec(ID, num_envs=3), Key(0, ("async",)).generator()
    ends = 0
    try:
        (seen, expected_info), (mine, info) = envs.reset(seed=7), own.reset(seed=7)
        for _ in range(40):
            assert equal(mine, seen)
            assert equal(info, {name: x for name, x in expected_info.items() if name not in SINGLE_ONLY})
            actions = rng.integers(13, size=3)
            seen, *others, expected_info = envs.step(actions)
            mine, *results, info = own.step(actions)
            assert all(equal(a, b) for a, b in zip(results, others, strict=True))
            ends += int((results[1] | results[2]).sum())
    finally:
        envs.close()
    assert ends > 5
