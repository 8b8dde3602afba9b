"""API-11: ordinary learners learn small pools of tagging, labels and choices from vectors, within the steps
that the checks allow.
"""

import gymnasium
import numpy as np
import pytest

from loquent.core.seeding import Key, borrow_generators

pytest.importorskip("stable_baselines3")
features = pytest.importorskip("loquent.data.features")
ANIMALS = (
    "ant",
    "bee",
    "cat",
    "dog",
    "elk",
    "fox",
    "gnu",
    "hen",
    "ibis",
    "jay",
    "kite",
    "lynx",
    "mole",
    "newt",
    "owl",
    "pig",
)


def questions():
    """Questions whose right choice alone stands in question and fact: it has the largest cosines."""
    rng, made = Key(0, ("toy",)).generator(), []
    for _ in range(60):
        choices = [ANIMALS[i] for i in rng.permutation(len(ANIMALS))[:4]]
        right = int(rng.integers(4))
        made.append(
            {
                "question": f"which is {choices[right]} ?",
                "facts": [choices[right]],
                "choices": choices,
                "answer": "ABCD"[right],
            }
        )
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "options", "settings", "steps", "wanted"),
    [
        (
            "loquent/SequenceTagging-v0",
            {"limit": 20},
            {"gamma": 0.5, "n_steps": 256, "policy_kwargs": {"net_arch": [100, 100]}},
            20_000,
            0.95,
        ),
        (
            "loquent/MultiLabel-v0",
            {"limit": 20},
            {"gamma": 0.95, "n_steps": 512, "ent_coef": 0.01, "policy_kwargs": {"net_arch": [200]}},
            30_000,
            0.9,
        ),
        (
            "loquent/MultipleChoice-v0",
            {"source": "samples"},
            {"gamma": 0.99, "n_steps": 256, "policy_kwargs": {"net_arch": [64, 64]}},
            20_000,
            0.9,
        ),
    ],
)
def test_api_11_ppo_learns_a_small_pool(id, options, settings, steps, wanted):
    from stable_baselines3 import PPO

    samples = {"samples": questions()} if options.get("source") == "samples" else {}
    env = gymnasium.make(id, view="vector", featurizer=features.Hashed(dimension=128), **options, **samples)
    with borrow_generators(Key(0, ("learn", id))):
        learner = PPO(
            "MlpPolicy", env, batch_size=64, n_epochs=8, learning_rate=1e-3, seed=0, device="cpu", **settings
        )
        before = greedy(env, learner)
        learner.learn(steps)
    assert greedy(env, learner) >= wanted > before


def greedy(env, learner):
    """The mean score of the likeliest actions over the rows it learned from."""
    scores = []
    for row in env.unwrapped.task.rows("train"):
        seen, _ = env.reset(options={"id": row.id})
        over = False
        while not over:
            seen, _, terminated, truncated, info = env.step(learner.predict(seen, deterministic=True)[0])
            over = terminated or truncated
        scores.append(info["episode_score"])
    return float(np.mean(scores))
