"""A learner of turns reads: with the text of another sample in front of it, it scores far less than with its
own.
"""

from dataclasses import replace

import pytest

from loquent.core.seeding import Key
from loquent.training import recipes
from loquent.training.evaluate import evaluate_agent
from loquent.training.run import load_run
from loquent.training.train import train

pytest.importorskip("stable_baselines3")


class Permuted:
    """The agent, shown each sample's text with its words in another order."""

    def __init__(self, agent, field):
        self.agent, self.field, self.name = agent, field, f"{agent.name}-permuted"

    def answer(self, asked):
        return self.agent.answer([replace(one, observation=self.shown(one.observation)) for one in asked])

    def shown(self, observation):
        text = observation.fields[self.field]
        order = Key(0, ("permuted", str(text))).generator().permutation(len(text))
        return replace(
            observation, fields=observation.fields.with_(**{self.field: tuple(text[i] for i in order)})
        )


def compared(folder, field="tokens", episodes=500):
    """Mean return on the test split with the text as it is, and with its words permuted, and the standard
    error of each.
    """
    run = load_run(folder)
    own, other = (
        evaluate_agent(run.task(), agent, split="test", episodes=episodes)
        for agent in (run.agent(), Permuted(run.agent(), field))
    )
    return [(found.values["return"], found.errors["return"]) for found in (own, other)]


def test_permuting_the_tokens_takes_the_score_away(tmp_path):
    settings = ["training.updates=4", "algorithm.steps=4096", "training.final_episodes=50"]
    train(recipes.load("tagging_supervised", settings), tmp_path / "run", progress=False)
    (own, error), (permuted, other) = compared(tmp_path / "run", episodes=200)
    assert own > 0.8
    assert own - permuted > 10 * (error**2 + other**2) ** 0.5, (own, permuted)
