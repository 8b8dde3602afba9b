"""A source of experience outside the package trains, resumes, evaluates, estimates and reports."""

from dataclasses import replace

import pytest

from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.report import write_report
from loquent.training import recipes
from loquent.training.estimate import estimate
from loquent.training.experience.source import BUILT_IN, Experience, experience_of
from loquent.training.experience.tokens import PlayedTokens
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = (
    "task.limit=60", "metrics={diversity: {}}", "rewards={lexicon: 1.0}", "decoding={max_new_tokens: 4}",
    "model={layers: 1, width: 16, heads: 2, context: 512, vocabulary: 260, tokenizer_texts: 50}",
)  # fmt: skip


class Doubled(PlayedTokens):
    """Played tokens whose rewards count twice, with a counter of its own in the state."""

    def __init__(self, parts):
        super().__init__(parts)
        self.doubled = 0

    def batch(self, episodes):
        self.doubled += len(episodes)
        batch = super().batch(episodes)
        return replace(batch, reward=2 * batch.reward)

    def state_dict(self):
        return {**super().state_dict(), "doubled": self.doubled}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.doubled = saved_state.count(state, "doubled")


class DoubledPPO(PPO):
    experience = f"{__name__}:Doubled"


class Wrong(PPO):
    experience = f"{__name__}:SMALL"


def recipe(kind, updates=2):
    training = (
        f"{{updates: {updates}, episodes: 6, evaluate_every: 1, evaluate_episodes: 3, final_episodes: 3}}"
    )
    return recipes.load(
        "reviews_ppo",
        [*SMALL, f"algorithm.kind={kind}", "algorithm.schedule=constant", f"training={training}"],
        profile="smoke",
    )


def test_it_trains_resumes_evaluates_and_reports(tmp_path):
    made = recipe(f"{__name__}:DoubledPPO")
    whole = train(made, tmp_path / "whole", progress=False)
    train(made.replace("training.updates=1"), tmp_path / "half", progress=False)
    half = train(made, tmp_path / "half", progress=False, resume=True)
    assert whole.fingerprint == half.fingerprint
    assert load_run(tmp_path / "half").evaluate(episodes=3).values["return"] == pytest.approx(
        whole.evaluate(episodes=3).values["return"]
    )
    assert write_report([tmp_path / "whole"], tmp_path / "page.html").stat().st_size > 10_000
    plain = train(recipe("ppo"), tmp_path / "plain", progress=False)
    assert plain.metrics[0]["rollout/return"] == whole.metrics[0]["rollout/return"]  # logged before the batch
    assert plain.metrics[1]["advantage/deviation"] != whole.metrics[1]["advantage/deviation"]


def test_its_state_is_restored_and_checked():
    trainer = Trainer(recipe(f"{__name__}:DoubledPPO"))
    trainer.update()
    state = trainer.state()
    assert state["experience"]["doubled"] == 6
    again = Trainer(recipe(f"{__name__}:DoubledPPO"))
    again.restore(state)
    assert (again.experience.doubled, again.experience.games) == (6, 6)
    state["experience"]["doubled"] = -1
    with pytest.raises(BadCheckpoint, match="doubled"):
        again.restore(state)


def test_it_is_estimated():
    made = estimate(recipe(f"{__name__}:DoubledPPO"))
    assert made.peak > sum(made.parameters.values()) * 4
    assert made.sizes["episodes"] == 6


def test_a_learner_names_its_source():
    assert experience_of(PPO, "play") is PlayedTokens
    assert experience_of(PPO, "data").__name__ == "RecordedEpisodes"
    assert experience_of(DoubledPPO, "play").__name__ == "Doubled"
    with pytest.raises(BadSetting, match=rf"Wrong.experience = '{__name__}:SMALL' names \(.*'module:Name'"):
        experience_of(Wrong, "play")
    for name in BUILT_IN:
        algorithm = type("Named", (PPO,), {"experience": name})
        assert issubclass(experience_of(algorithm, "play"), Experience)
