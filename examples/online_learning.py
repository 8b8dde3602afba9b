"""Samples come one by one: the agent suggests, the annotation is corrected and joins the pool, it learns on:
listing A.3.3 of arXiv:2011.08272.

python examples/online_learning.py          50 sentences made here
python examples/online_learning.py UD_English-EWT 1000

With a person at a terminal, and saved after every answer: `loquent annotate`.
"""

import sys

import gymnasium
from stable_baselines3 import PPO

import loquent
from loquent.metrics.labels.span_scores import token_f1

path, count = (sys.argv[1:] + ["", "50"][len(sys.argv) - 1 :])[:2]
task = loquent.task("tagging", **({"source": "path", "path": path} if path else {}))

# an environment without samples; it knows its labels
featurizer = {"kind": "hashed", "dimension": 128}
env = gymnasium.make(
    "loquent/SequenceTagging-v0", source="samples", labels=task.labels, view="vector", featurizer=featurizer
)
model = PPO(
    "MlpPolicy",
    env,
    n_steps=128,
    gamma=0.5,
    learning_rate=2e-3,
    policy_kwargs={"net_arch": [100, 100]},
    seed=0,
    device="cpu",
)


def predict(tokens):
    """The agent's labels of a sentence that need not be in the pool; the right ones are not known yet."""
    seen, info = env.reset(options={"sample": {"tokens": tokens, "labels": [task.labels[0]] * len(tokens)}})
    over = False
    while not over:
        seen, _, terminated, truncated, info = env.step(model.predict(seen, deterministic=True)[0])
        over = terminated or truncated
    return info["prediction"]


running = 0.0
for number, sample in enumerate(task.rows("train")[: int(count)], 1):
    predicted = predict(sample["tokens"])  # what a person would only have to correct
    annotated = sample["labels"]  # simulated here
    running += token_f1(annotated, predicted)
    env.unwrapped.add_sample({"id": sample.id, "tokens": sample["tokens"], "labels": annotated})
    model.learn(total_timesteps=128)
    if number % 25 == 0:
        print(f"sentences {number - 24} to {number}: token F1 of the suggestions {running / 25:.2f}")
        running = 0.0
