"""A tagger trained by Stable-Baselines3's own DQN: listing A.3.2 of arXiv:2011.08272, with its settings.

python examples/train_tagger.py                         sentences made here, 3,000 steps
python examples/train_tagger.py UD_English-EWT 10000    CoNLL-U files, the paper's 10,000 steps

The paper also has double Q-learning, which this library's DQN has not: `loquent train tagging_dqn` has it,
with a run's folder and resume.
"""

import sys

import gymnasium
from stable_baselines3 import DQN
from stable_baselines3.common.env_checker import check_env

import loquent  # noqa: F401 - it makes the environments known

path, steps = (sys.argv[1:] + ["", "3000"][len(sys.argv) - 1 :])[:2]
data = {"source": "path", "path": path} if path else {}


def make(split):
    """Sentences of a split as vectors: hashed n-grams of the token, and the label before it.

    The reward is the change of token F1.
    """
    return gymnasium.make(
        "loquent/SequenceTagging-v0",
        view="vector",
        split=split,
        reward="token_f1",
        dense=True,
        average="micro",
        **data,
    )


def score(model, env, games=50):
    """The mean token F1 of its best actions."""
    found = []
    for number in range(games):
        seen, over = env.reset(seed=number)[0], False
        while not over:
            seen, _, terminated, truncated, info = env.step(model.predict(seen, deterministic=True)[0])
            over = terminated or truncated
        found.append(info["episode_score"])
    return sum(found) / games


env, held_out = make("train"), make("test")
check_env(env.unwrapped, warn=True)
model = DQN(
    "MlpPolicy", env, gamma=0.99, batch_size=32, learning_rate=5e-4, exploration_fraction=0.1,
    buffer_size=50_000, learning_starts=500, train_freq=1,
    target_update_interval=500, policy_kwargs={"net_arch": [100, 100]}, seed=0, device="cpu",
)  # fmt: skip
print(f"token F1 before: {score(model, held_out):.2f}")
model.learn(total_timesteps=int(steps))
print(f"token F1 after {steps} steps: {score(model, held_out):.2f}")
