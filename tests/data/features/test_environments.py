"""The three tasks as vectors: Gymnasium's and SB3's checkers without a warning, vectors by hand, and one
featurizer for many environments.
"""

import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import loquent  # noqa: F401 - registers the environments
from loquent.data.features import Hashed, WordVectors

IDS = ("loquent/SequenceTagging-v0", "loquent/MultiLabel-v0", "loquent/MultipleChoice-v0")
ODD = {"tokens": ["mid-July", "n't", "U.S.", "naïve", "東京"], "labels": ["A", "B", "B", "A", "A"]}
FEATURIZERS = [None, "hashed", {"kind": "hashed", "dimension": 32}, Hashed(dimension=64, lower=True)]


def tagging(featurizer=None, **options):
    given = {"source": "samples", "samples": [ODD], "labels": ["A", "B"], **options}
    return gymnasium.make(IDS[0], view="vector", featurizer=featurizer, **given)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("featurizer", FEATURIZERS, ids=lambda one: type(one).__name__)
def test_the_checkers_have_nothing_to_say(id, featurizer):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env as check_sb3

    env = gymnasium.make(id, view="vector", featurizer=featurizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
        check_sb3(env.unwrapped, warn=True)


def test_the_checker_can_complain():
    env = gymnasium.make(IDS[0], view="vector").unwrapped
    env.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)
    with pytest.warns(UserWarning, match="probably too low"):
        check_env(env)


def test_the_vector_of_tagging_is_that_very_token(tmp_path):
    """ST-9: zeros for the label at the start, then exactly its bit.

    And the vector of the token itself, whatever its punctuation.
    """
    hashed = Hashed(dimension=32)
    env = tagging(hashed)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.shape == (34,)
    for place, action in enumerate([1, 0, 1, 1, 0]):
        np.testing.assert_array_equal(seen[:32], hashed([ODD["tokens"][place]])[0])
        assert seen[32:].sum() == (place > 0)
        seen, _, terminated, _, _ = env.step(action)
        assert seen[32:].tolist() == [float(action == 0), float(action == 1)]
    assert terminated
    assert not seen[:32].any()


def test_labels_in_the_vector(tmp_path):
    """ML-7: size E + labels + 1, repeats change nothing, and the last bit is that of "terminate"."""
    samples = [{"text": "wheat and corn", "labels": ["corn", "wheat"]}]
    env = gymnasium.make(
        IDS[1], view="vector", featurizer=Hashed(dimension=16), source="samples", samples=samples, max_steps=9
    )
    first, _ = env.reset(seed=0)
    assert first.shape == (19,)
    assert not first[16:].any()
    bits = [env.step(action)[0][16:].tolist() for action in (1, 1, 0, 2)]
    assert bits == [[0, 1, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]]


def test_two_environments_share_a_featurizer(tmp_path):
    """ST-10: interleaved games see what games alone see."""
    shared = Hashed(dimension=32)
    options = {"featurizer": shared, "view": "vector"}

    def walk(*envs):
        told = [[env.reset(seed=i)[0]] for i, env in enumerate(envs)]
        over = [False] * len(envs)
        while not all(over):
            for i, env in enumerate(envs):
                if not over[i]:
                    seen, _, terminated, truncated, _ = env.step(1)
                    over[i] = terminated or truncated
                    told[i].append(seen)
        return told

    together = walk(*(gymnasium.make(IDS[0], **options) for _ in range(2)))
    first = walk(gymnasium.make(IDS[0], view="vector", featurizer=Hashed(dimension=32)))
    np.testing.assert_array_equal(together[0], first[0])
    assert len(together[1]) != len(together[0]) or not np.array_equal(together[1], together[0])


def test_environments_are_pickled_and_run_in_processes():
    env = gymnasium.make(IDS[2], view="vector", featurizer=Hashed(dimension=32))
    again = pickle.loads(pickle.dumps(env.unwrapped))
    np.testing.assert_array_equal(again.reset(seed=3)[0], env.reset(seed=3)[0])
    settings = {"view": "vector", "featurizer": Hashed(dimension=32)}
    several = gymnasium.make_vec(IDS[0], 2, vectorization_mode="async", **settings)
    alone = gymnasium.make_vec(IDS[0], 2, vectorization_mode="sync", **settings)
    try:
        np.testing.assert_array_equal(several.reset(seed=1)[0], alone.reset(seed=1)[0])
        for action in (0, 1, 1, 0) * 6:
            for one, two in zip(
                several.step(np.array([action, 1])), alone.step(np.array([action, 1])), strict=True
            ):
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(one, two)
    finally:
        several.close()


def test_every_task_has_a_vector():
    env = gymnasium.make("loquent/Wordle-v0", view="vector", featurizer=Hashed(dimension=64))
    seen, _ = env.reset(seed=0)
    assert seen in env.observation_space


@pytest.mark.data
def test_word_vectors_in_an_environment(beside):
    vectors = WordVectors(path=str(beside / "models/glove/glove.840B.300d.9910w.txt.gz"))
    env = gymnasium.make(
        IDS[0], view="vector", featurizer=vectors, source="path", path=str(beside / "data/ud_english_ewt")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    seen, info = env.reset(options={"split": "test", "index": 3})
    tokens = info["observation"].fields["tokens"]
    np.testing.assert_array_equal(seen[:300], vectors([tokens[0]])[0])


def test_the_library_s_own_loop_runs_on_them():
    """Who would rather run Stable-Baselines3 alone: its PPO, its DQN and sb3-contrib's masks on our
    environments.
    """
    sb3, contrib = pytest.importorskip("stable_baselines3"), pytest.importorskip("sb3_contrib")
    env = gymnasium.make(IDS[1], view="vector", featurizer=Hashed(dimension=16), repeats=False)
    for library, settings in (
        (sb3.PPO, {"n_steps": 32}),
        (sb3.DQN, {"learning_starts": 8}),
        (contrib.MaskablePPO, {"n_steps": 32}),
    ):
        learner = library("MlpPolicy", env, seed=0, **settings).learn(64)
        assert learner.num_timesteps == 64
        action, _ = learner.predict(env.reset(seed=1)[0])
        assert env.action_space.contains(int(action))
