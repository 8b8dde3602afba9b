"""An answer that could not be judged is left out of learning, counted, and ends no run."""

import json
import math

import pytest
import torch

from loquent.agents.baselines import Expert
from loquent.core import episode
from loquent.core.rollout.loop import games, play
from loquent.errors import BadSetting
from loquent.tasks.generation.task import Generation
from loquent.training import recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = [
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=200",
    "model.context=512",
    "metrics={}",
    "decoding.max_new_tokens=6",
    "training.episodes=6",
    "training.evaluate_every=0",
    "training.final_episodes=4",
]


def recipe(judge, *overrides, name="reviews_ppo"):
    kind = f"{{kind: 'helpers.agents.judges:{judge}'}}"
    chosen = f"rewards={{q: {{of: llm_judge, low: 0, cache: none, judge: {kind}}}}}"
    small = SMALL if name.startswith("reviews") else SMALL[-3:]
    return recipes.load(name, [*small, chosen, *overrides])


def parameters(trainer):
    return torch.cat([parameter.detach().flatten() for parameter in trainer.algorithm.parameters.values()])


TURNS = (
    "algorithm={kind: turn_ppo, network: vector, features: {kind: hashed}, width: 8, layers: 1}",
    "training.stop_metric=",
)
# each learner, its answers to a row, and the episodes of 6 that Half leaves: 1, 2 and 5, or those of groups
# of two, (0, 1), (2, 3) and (4, 5), with two judged answers: none; of groups of three: 1 and 2
LEARNERS = [
    ("reviews_ppo", (), [1, 2, 5]),
    ("reviews_nlpo", (), [1, 2, 5]),
    ("reviews_a2c", (), [1, 2, 5]),
    ("reviews_trpo", (), [1, 2, 5]),
    ("reviews_grpo", ("training.answers=3",), [1, 2]),
    ("reviews_rloo", ("training.answers=3",), [1, 2]),
    ("reviews_rest", ("training.answers=3",), [1, 2]),
    ("tagging_turn_dqn", TURNS, [1, 2, 5]),
]


@pytest.mark.sweep("reviews_ppo", "reviews_grpo", "tagging_turn_dqn")
@pytest.mark.parametrize(("name", "more", "left"), LEARNERS, ids=[name for name, *_ in LEARNERS])
def test_an_update_is_that_of_the_judged_episodes_alone(name, more, left):
    trainer = Trainer(recipe("Half", *more, name=name))
    before = parameters(trainer)
    logs = trainer.update()
    assert (logs["rollout/unjudged/q"], logs["rollout/left_out"]) == (3.0, 6.0 - len(left))

    def by_hand(chosen):
        twin = Trainer(recipe("Judge", *more, name=name))
        episodes = twin.experience.collect()
        batch = twin.algorithm.prepare(twin.experience.batch([episodes[i] for i in chosen]))
        twin.experience.learn(batch)
        return parameters(twin)

    assert torch.equal(parameters(trainer), by_hand(left))
    assert not torch.equal(parameters(trainer), by_hand(range(6)))
    assert not torch.equal(parameters(trainer), before)


@pytest.mark.parametrize(("name", "answers"), [("reviews_ppo", 1), ("reviews_grpo", 2)])
def test_an_update_without_a_judged_episode_changes_nothing(name, answers):
    trainer = Trainer(recipe("Never", f"training.answers={answers}", name=name))
    before = parameters(trainer)
    for update in range(2):
        logs = trainer.update()
        assert logs == {
            "update": update + 1,
            "episodes": 6 * (update + 1),
            "rollout/unjudged/q": 6.0,
            "rollout/left_out": 6.0,
        }
    assert torch.equal(parameters(trainer), before)


def test_a_run_goes_on_without_its_judge(tmp_path):
    more = ["training.updates=2", "training.evaluate_every=1", "training.evaluate_episodes=4"]
    watch = ["training.stop_metric=return", "training.patience=9"]
    judged = "metrics={llm_judge: {low: 0, cache: none, judge: {kind: 'helpers.agents.judges:Never'}}}"
    run = train(recipe("Never", *more, *watch, judged), tmp_path / "run", progress=False)
    values = run.files.evaluation()["values"]
    assert (values["return"], values["llm_judge"]) == (None, None)
    assert (values["unjudged/q"], values["unjudged/llm_judge"], values["scored/llm_judge"]) == (4.0, 4.0, 0.0)
    assert run.report().is_file()
    assert [episode["unjudged"] for episode in _lines(run.files.episodes)] == [["q"]] * 4


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_evaluation_is_over_the_judged_episodes():
    evaluation = Trainer(recipe("Half")).evaluate("validation", 6)
    right = Trainer(recipe("Judge")).evaluate("validation", 6)
    returns = [episode.rewards["q"] for episode in right.episodes]
    assert evaluation.values["return"] == math.fsum(returns[i] for i in (1, 2, 5)) / 3
    assert evaluation.values["reward/q"] == evaluation.values["return"]
    assert (evaluation.values["unjudged/q"], evaluation.n) == (3.0, 6)
    assert right.values["unjudged/q"] == 0.0


def test_a_resumed_update_is_the_same():
    recipe_ = recipe("Half", "rewards.q.most_requests=8")
    whole, first, resumed = (Trainer(recipe_) for _ in range(3))
    logs = [whole.update() for _ in range(2)]
    first.update()
    resumed.restore(first.state())
    resumed.actor.load_state_dict(first.actor.state_dict())
    assert resumed.update() == logs[1]
    assert logs[1]["rollout/unjudged/q"] == 5.0  # of the 2 questions that the budget had left, it judged one
    assert torch.equal(parameters(resumed), parameters(whole))


def test_recorded_episodes_that_cannot_be_judged_are_left_out_and_counted(tmp_path):
    task = Generation(Generation.Options(prompt_words=24))
    file = tmp_path / "episodes.jsonl"
    episode.write(file, play(task, games(task.rows("train")[:6]), Expert(task), seed=0))
    data = [
        f"training.data={file}",
        "algorithm={kind: filtered_cloning, top: 1.0}",
        "training.stop_metric=",
        "training.only={}",
    ]
    trainer = Trainer(recipe("Half", *data, name="reviews_supervised"))
    recording = trainer.experience.recording
    assert (len(recording.batch), recording.as_json()["unjudged"]) == (3, 3)
    every = Trainer(recipe("Judge", *data, name="reviews_supervised")).experience.recording
    assert torch.equal(every.batch.take([1, 2, 5]).reward.sum(1), recording.batch.reward.sum(1))
    assert "unjudged" not in every.as_json()
    with pytest.raises(BadSetting, match="none of the 6 episodes could be judged"):
        Trainer(recipe("Never", *data, name="reviews_supervised"))
