"""Environments, numbered commands and views: I-16, I-23, E-10, E-11, E-12 of the specification of iMRC."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import loquent
from helpers.tasks import harvard
from loquent import Key
from loquent.adapters.gymnasium import Environment
from loquent.agents.baselines import Expert
from loquent.core.actions import ActionSet
from loquent.core.rollout.loop import games, play
from loquent.data.features import view
from loquent.errors import BadSetting, EpisodeOver, InvalidAction, LoquentError
from loquent.tasks.reading.actions import Slots, Vocabulary
from loquent.tasks.reading.vector import ReadingVector
from loquent.tasks.reading.views import Words

FORMS = [
    {},
    {"form": "index"},
    {"form": "index", "view": "ids", "mode": "hard"},
    {"form": "index", "view": "text", "queries": "question+memory", "answer_phase": True},
    {"form": "index", "view": "vector", "queries": "vocabulary"},
    {"form": "token", "queries": "any", "prompt_length": 2048},
]


@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_i_23_the_environment_checker(arguments):
    check_env(gymnasium.make("loquent/Reading-v0", limit=30, **arguments).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_i_23_vector_environments(mode):
    keywords = {"vector_kwargs": {"shared_memory": False}} if mode == "async" else {}
    envs = gymnasium.make_vec("loquent/Reading-v0", 2, vectorization_mode=mode, limit=20, **keywords)
    texts, _ = envs.reset(seed=0)
    assert all(text.startswith("Question: ") for text in texts)
    *_, terminated, _, infos = envs.step(("stop", "next"))
    assert terminated.tolist() == [True, False]
    assert infos["ended"][0] == "stopped"
    envs.close()


def test_i_23_actions_drawn_with_the_mask_are_legal():
    env = gymnasium.make("loquent/Reading-v0", form="index", queries="question+memory", limit=40)
    _, info = env.reset(seed=1)
    env.action_space.seed(0)
    for _ in range(60):
        action = env.action_space.sample(mask=info["action_mask"])
        *_, terminated, _, info = env.step(action)
        assert info["text"] in ("next", "previous", "stop") or info["text"].startswith("ctrl+f ")
        assert "invalid" not in info["rewards"]
        if terminated:
            _, info = env.reset()


def test_i_9_and_e_9_malformed_actions():
    env = gymnasium.make("loquent/Reading-v0", form="index", mode="hard", limit=20)
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step(257)
    env.step(0)
    with pytest.raises(EpisodeOver):
        env.step(0)


def test_i_16_the_same_seed_gives_the_same_games_and_the_index_chooses():
    envs = [gymnasium.make("loquent/Reading-v0").unwrapped for _ in range(2)]
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    rows = [[env.reset(seed=7 if i == 0 else None)[1]["row"] for i in range(5)] for env in envs]
    assert rows[0] == rows[1]
    assert len(set(rows[0])) > 1
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert envs[0].reset(options={"index": 3})[1]["row"] == envs[0].task.rows("train")[3].id


VECTOR = [
    {},
    {"mode": "hard", "memory": 1, "expose_found": True},
    {"queries": "question+memory", "memory": 5, "reveal_position": True, "invalid_penalty": 0.5},
    {"queries": "vocabulary", "vocabulary": 50, "start": "random", "distractors": 1, "search": "fuzzy"},
]


@pytest.mark.parametrize("options", VECTOR, ids=str)
def test_i_16_the_vector_environment_equals_single_environments(options):
    task, count = loquent.task("reading", **options), 20
    ours = ReadingVector(task, count)
    singles = gymnasium.vector.SyncVectorEnv(
        [lambda: Environment(task, form="index", view="text") for _ in range(count)]
    )
    assert ours.reset(seed=11)[0] == singles.reset(seed=11)[0]
    rng, ends = Key(0).generator(), 0
    for step in range(60):
        most = len(task.actions) if step % 2 else 9
        actions = rng.integers(most, size=count)
        texts, rewards, ended, cut, infos = ours.step(actions)
        expected = singles.step(actions)
        assert texts == expected[0]
        assert rewards.tolist() == expected[1].tolist()
        assert ended.tolist() == expected[2].tolist()
        assert (cut.any(), infos) == (False, {})
        ends += ended.sum()
        states = [env._game.step for env in singles.envs]
        alive = [i for i in range(count) if not ended[i]]
        for i in alive:
            fields = states[i].observation.fields
            assert (ours.memory(i), ours.sentence(i)) == (fields["memory"], fields["sentence"])
            assert ours.row(i) is singles.envs[i]._game.row
        masks = ours.action_masks()
        assert all(masks[i].tolist() == singles.envs[i].action_masks().tolist() for i in alive)
    assert ends > count


def test_i_23_the_vector_environment_of_gymnasium():
    envs = gymnasium.make_vec(
        "loquent/Reading-v0", 3, vectorization_mode="vector_entry_point", mode="hard", split="test"
    )
    texts, _ = envs.reset(seed=0)
    assert texts == ReadingVector(loquent.task("reading", mode="hard"), 3, split="test").reset(seed=0)[0]
    assert texts in envs.observation_space
    assert envs.step(envs.action_space.sample())[1].shape == (3,)
    assert gymnasium.make_vec("loquent/Reading-v0", 2, limit=20).num_envs == 2  # one by one, by default
    with pytest.raises(BadSetting, match="mod"):
        gymnasium.make_vec("loquent/Reading-v0", 2, vectorization_mode="vector_entry_point", mod="hard")


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_make_vec_takes_the_form_and_the_view_in_both_modes(mode):
    envs = gymnasium.make_vec(
        "loquent/Reading-v0", 2, vectorization_mode=mode, form="index", view="text", limit=20
    )
    texts, _ = envs.reset(seed=0)
    assert [text[:10] for text in texts] == ["Question: "] * 2
    assert int(envs.single_action_space.n) == 3 + 256


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"form": "text"}, "form = 'text': .*'index'.*vectorization_mode"),
        ({"view": "dict"}, "view = 'dict': .*'text'.*vectorization_mode"),
    ],
)
def test_forms_and_views_that_many_games_lack_are_named(arguments, words):
    with pytest.raises(BadSetting, match=words):
        gymnasium.make_vec(
            "loquent/Reading-v0", 2, vectorization_mode="vector_entry_point", limit=20, **arguments
        )


def test_the_vector_environment_refuses_what_it_cannot_play():
    for options in ({"queries": "any"}, {"answer_phase": True}):
        with pytest.raises(BadSetting):
            ReadingVector(loquent.task("reading", **options))
    envs = ReadingVector(loquent.task("reading", limit=20), 2)
    envs.reset(seed=0)
    for actions in ([0], [0, -1], [0, 259]):
        with pytest.raises(InvalidAction):
            envs.step(actions)
    with pytest.raises(BadSetting):
        envs.reset(options={"index": 1})


# numbered commands


def test_flat_and_factored_numbers():
    for actions in (Slots("easy", 8), Vocabulary("hard", ["b", "a"])):
        assert isinstance(actions, ActionSet)
        assert [actions.join(actions.split(i)) for i in range(len(actions))] == list(range(len(actions)))
    assert (Slots("easy", 8).parts, Vocabulary("hard", ["b", "a"]).parts) == ((4, 8), (2, 2))
    assert [Slots("easy", 8).split(i) for i in (0, 2, 3, 5)] == [(0,), (2,), (3, 0), (3, 2)]


@pytest.mark.parametrize(
    ("actions", "legal"),
    [
        (Slots("easy", 4), ("previous", "next", "stop", "ctrl+f a", "ctrl+f b")),
        (Slots("hard", 4), ("stop",)),
        (Slots("hard", 4), ()),
        (Vocabulary("easy", ["b", "a"]), None),
        (Vocabulary("easy", ["b", "a"]), ()),
    ],
)
def test_the_parts_of_legal_actions(actions, legal):
    found = [actions.split(i) for i in np.flatnonzero(actions.mask(legal)).tolist()]
    for k, numbers in enumerate([(), (len(actions.plain),)]):
        begins = {parts[k] for parts in found if parts[:k] == numbers and len(parts) > k}
        assert np.flatnonzero(actions.following(legal, numbers)).tolist() == sorted(begins)
        assert len(actions.following(legal, numbers)) == actions.parts[k]
    for whole in ((0,), (len(actions.plain), 0)):
        assert len(actions.following(legal, whole)) == 0


def test_large_vocabularies():
    words = Vocabulary("easy", [f"w{i}" for i in range(200_000)])
    assert words.index("ctrl+f w199999") == 200_002
    assert words.text(200_002) == "ctrl+f w199999"
    assert words.index("ctrl+f w200000") is None
    with pytest.raises(LoquentError, match="mask"):
        words.mask(None)
    assert 0 <= words.draw(None, Key(0).generator()) < len(words)
    with pytest.raises(LookupError):
        words.draw((), Key(0).generator())


def test_queries_beyond_the_slots_can_still_be_written():
    world = harvard.task(slots=2)
    step = harvard.start(world)
    assert step.observation.legal[3:] == ("ctrl+f harvard", "ctrl+f endowment")
    assert harvard.play(world, step, "ctrl+f 2011")[0].state.cursor == 3


# views


def test_e_10_to_e_12_words_and_characters():
    words = Words(["a", "harvard", "x" * 120])
    assert words.ids("harvard quokka a").tolist() == [3, 1, 2]
    letters = words.letters("a harvard " + "x" * 120 + " é")
    assert letters.shape == (4, 16)
    assert letters[0].tolist() == [2] + [0] * 15
    assert (letters[2] == letters[2][0]).all()
    assert letters[3].tolist() == [1] + [0] * 15
    assert words.ids("harvard") is words.ids("harvard")
    assert words.letters("a").shape == (1, 16)
    with pytest.raises(ValueError, match="read-only"):
        words.ids("harvard")[0] = 5


def test_the_view_of_ids():
    task = loquent.task("reading", memory=2)
    env = gymnasium.make("loquent/Reading-v0", form="index", view="ids", memory=2).unwrapped
    observation, info = env.reset(seed=0)
    words, fields = Words.of(task), info["observation"].fields
    assert observation in env.observation_space
    size = len(fields["question"].split())
    assert observation["question"][:size].tolist() == words.ids(fields["question"]).tolist()
    assert not observation["question"][size:].any()
    assert not observation["memory"][1].any()
    assert observation["candidates"][0] == words.id(fields["queries"][0])
    observation, *_ = env.step(1)
    assert observation["memory"][1].any()
    assert observation["left"].tolist() == [19]
    assert len(Words.of(task, 100).words) == 100


def test_the_vector_view():
    task = harvard.task(memory=2)
    space, see = view(task)
    step = harvard.start(task)
    first = see(step.observation)
    width = (len(first) - 1) // 3
    assert first in space
    assert first[-1] == 1
    assert not first[2 * width : 3 * width].any()
    [after] = harvard.play(task, step, "next")
    second = see(after.observation)
    assert second[2 * width : 3 * width].any()
    assert second[: 2 * width].tolist() == first[: 2 * width].tolist()
    assert second[-1] == np.float32(0.95)


def test_a_picture_of_the_game():
    env = gymnasium.make("loquent/Reading-v0", render_mode="ansi", limit=20)
    env.reset(seed=0)
    env.step("next")
    picture = env.render()
    assert picture.count("\n") == 5
    assert "Commands left: 19" in picture
    assert "\n> " in picture


def test_the_expert_reaches_the_end_in_every_mode():
    for options in (
        {"mode": "hard"},
        {"queries": "vocabulary", "mode": "hard"},
        {"queries": "question+memory", "memory": 1},
        {"answer_phase": True, "reward": "f1"},
    ):
        task = loquent.task("reading", **options)
        for episode in play(task, games(task.rows("test")[:20]), Expert(task), seed=0):
            assert episode.total(task.spec.rewards) == 1
