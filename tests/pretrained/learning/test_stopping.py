"""A stop head: its labels, what remains to choose, its threshold, and that a saved run stops by it."""

import json

import numpy as np
import pytest
import torch

import loquent
from loquent.core.actions import Texts, bitset
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadSetting, LoquentError
from loquent.files.machine import parallel
from loquent.pretrained.learning.stopping import apart
from loquent.training import recipes
from loquent.training import train as training
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer


class Stairs(Task):
    """Go up to the step of the row, then stop; the last step has no way up. Four turns at most."""

    spec = TaskSpec(
        id="stairs", rewards=Record(right=1.0), invalid=("illegal",), turn_limit=4, return_range=(0.0, 1.0)
    )
    actions = Texts(("up", "stop"))
    stop = "stop"
    stop_rewards = Record(right=1.0)

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(to=i % 3)) for i in range(6))

    def first(self, row, rng):
        return Opening((row["to"], 0), self.seen(row["to"], 0))

    def expert(self, state):
        return "up" if state[1] < state[0] else "stop"

    def seen(self, to, at):
        text = "this is the step" if at == to else f"not the step {at}"
        return Observation(text, Record(at=at), bitset([1] if at == 3 else [0, 1], 2))

    def goal(self, row, observation):
        return row["to"] == observation.fields["at"]

    def read(self, state, text):
        i = self.actions.index(text)
        return Invalid("illegal", text) if i is None or (i == 0 and state[1] == 3) else i

    def play(self, state, move):
        to, at = state
        if move == 1:
            return Outcome(state, self.seen(to, at), Record(right=float(at == to)), "stopped")
        return Outcome((to, at + 1), self.seen(to, at + 1))


LEARNERS = {
    "turn_dqn": {"games": 4, "steps": 80, "learning_starts": 4, "minibatch": 16, "explore_games": 40},
    "turn_ppo": {"minibatch": 64, "epochs": 4},
    "turn_ppo by parts": {"minibatch": 64, "choose": "parts"},
    "turn_cloning": {"minibatch": 16, "epochs": 4},
}


def recipe(folder, learner, task=f"{__name__}:Stairs", training=None, **settings):
    shared = {
        "width": 16,
        "layers": 1,
        "learning_rate": 0.02,
        "features": {"kind": "hashed", "dimension": 16},
    }
    own = {"kind": learner.split()[0], "stop_head": True, "stop_discount": 0.9, **shared, **LEARNERS[learner]}
    algorithm = {name: value for name, value in (own | settings).items() if value is not None}
    sizes = {"updates": 4, "episodes": 32, "evaluate_every": 2, "evaluate_episodes": 6, "final_episodes": 6}
    file = folder / "stairs.yaml"
    whole = {"task": task, "algorithm": algorithm, "training": {**sizes, **(training or {})}}
    file.write_text(json.dumps(whole))
    return recipes.load(file, imports="all")


def test_what_remains_to_choose_by_hand():
    legal = torch.tensor([[1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 0, 1]]).bool()
    assert apart(legal, 1).int().tolist() == [[1, 0, 1], [1, 0, 1], [0, 1, 0], [1, 0, 1]]
    stopped = torch.tensor([True, False, False, True])  # an illegal stop stays illegal
    assert apart(legal, 1, stopped).int().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize(
    "options",
    [{"name": "reading"}, {"name": "reading", "match": "substring", "memory": 1}, {"name": "blocks"}],
)
def test_the_goal_holds_exactly_where_stopping_earns_the_reward(options):
    name, seen = options["name"], set()
    task = loquent.task(name, **{key: value for key, value in options.items() if key != "name"})
    stop, [reward] = task.actions.index(task.stop), task.stop_rewards
    rng = np.random.default_rng(0)
    for row in task.rows("train")[:60]:
        step = task.start(row, Key(0))
        while step.ended is None:
            held = task.goal(row, step.observation)
            assert held == (task.act(step, "stop").rewards[reward] == task.stop_rewards[reward] == 1)
            seen.add(held)
            choice = task.actions.draw(step.observation.legal, rng)
            step = task.act(step, task.actions.text(choice, step.observation.legal))
            assert choice == stop or step.ended != "stopped"
    assert seen == {True, False}


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_threshold_decides_in_evaluation_and_the_probability_in_training(learner, tmp_path):
    trainer = Trainer(recipe(tmp_path, learner))
    actor, task = trainer.actor, trainer.task
    seen = [task.seen(2, at) for at in (0, 1, 2, 3)]
    actions, likely = actor.propose(seen, None)
    assert actions.tolist() == [0, 0, 0, 1]  # up, wherever there is a way up
    assert ((likely > 0) & (likely < 1)).all()
    for threshold, expected in ((0.0, [1] * 4), (1.1, [0, 0, 0, 1])):
        actor.threshold = threshold
        assert actor.choose(seen, None).tolist() == expected
    uniform = np.full((4, actor.draws), 0.5)
    for last, expected in ((likely - 1e-6, [1] * 4), (likely + 1e-6, [0, 0, 0, 1])):
        uniform[:, -1] = last
        assert actor.choose(seen, uniform).tolist() == expected


@pytest.mark.parametrize("learner", ["turn_ppo", "turn_ppo by parts"])
def test_a_stop_is_no_choice_of_the_policy(learner, tmp_path):
    trainer = Trainer(recipe(tmp_path, learner))
    batch, _ = trainer.experience.next()
    stopped = batch.choice == 1
    assert set(stopped.tolist()) == {True, False}
    assert batch.logprob.tolist() == [0.0] * len(batch)  # one action is left, whichever it is
    assert set(batch.goal.tolist()) == {0.0, 1.0}
    losses = trainer.algorithm.loss(trainer.actor, batch)
    assert losses["total"].tolist() == pytest.approx(
        (0.5 * losses["critic/loss"] + 0.5 * losses["stop/loss"] + losses["policy/loss"]).tolist()
    )
    assert losses["policy/entropy"].tolist() == [0.0] * len(batch)


def test_a_stop_is_left_out_of_a_million_actions(tmp_path):
    world = {"kind": "blocks", "appearance": "scatter", "actions": "native"}
    settings = {"network": "objects", "text": ["sentence"], "features": {}, "heads": 2}
    trainer = Trainer(recipe(tmp_path, "turn_ppo", task=world, **settings))
    step = trainer.task.start(trainer.task.rows("train")[0], Key(0))
    uniform = np.zeros((1, trainer.actor.draws))  # the first action of every part, and a stop
    assert trainer.actor.propose([step.observation], uniform)[0].tolist() != [0]
    assert trainer.actor.choose([step.observation], uniform).tolist() == [0]
    batch, _ = trainer.experience.next()
    stopped = batch.choice == 0
    assert set(batch.logprob[stopped].tolist()) == {0.0}
    assert (batch.logprob[~stopped] < 0).all()
    assert torch.isfinite(trainer.algorithm.loss(trainer.actor, batch)["total"]).all()


def test_a_policy_of_reading_learns_with_the_head(tmp_path):
    network = {
        "width": 8,
        "word_size": 8,
        "character_size": 4,
        "hidden": 16,
        "answers": 0,
        "dropout": 0.0,
        "skip": 0.0,
    }
    unread = dict.fromkeys(("width", "layers", "features"))
    made = recipe(
        tmp_path, "turn_ppo", task={"kind": "reading", "limit": 20}, network="qa", network_settings=network,
        **unread, minibatch=16, training={"episodes": 6},
    )  # fmt: skip
    logs = Trainer(made).update()
    assert logs["policy/ratio_error"] < 1e-4
    assert logs["gradient/steps"] > 1
    assert 0 < logs["stop/loss"] < 2


@pytest.mark.parametrize("learner", ["turn_dqn", "turn_ppo", "turn_cloning"])
def test_a_run_learns_when_to_stop_and_is_evaluated_by_its_threshold(learner, tmp_path):
    made = recipe(tmp_path, learner)
    run = train(made, tmp_path / "run", progress=False)
    final = run.evaluation["values"]
    assert final["return"] == 1.0
    assert final["answers"] == 2.0  # 1, 2 or 3
    loaded = load_run(tmp_path / "run", allow_imports=True)
    agent = loaded.agent()
    assert agent.network.threshold != 0.5  # that of an untrained head
    assert loaded.evaluate(episodes=6).values == final
    assert run.metrics[-1]["stop/loss"] < 0.3
    # no other threshold earns more on the rows that it was chosen on
    trainer, found = Trainer(made), []
    trainer.actor.load_state_dict(agent.network.state_dict())
    chosen = trainer.actor.threshold
    for threshold in (chosen, 0.0, 0.2, 0.4, 0.6, 0.8, 1.1):
        trainer.actor.threshold = threshold
        acting = trainer.algorithm.agent(trainer.actor, True)
        episodes = play(trainer.task, games(trainer.task.rows("validation")), acting, seed=0)
        found.append(np.mean([0.9 ** len(e.answers()) * e.total(trainer.weights) for e in episodes]))
    assert found[0] == max(found) > found[-1]


def test_an_illegal_stop_is_never_chosen(tmp_path):
    actor = Trainer(recipe(tmp_path, "turn_ppo")).actor
    seen = [Observation("no way out", Record(at=0), bitset([0], 2)), actor.task.seen(2, 0)]
    actor.threshold = -1.0  # below all scores, as `best_threshold` may choose
    assert actor.choose(seen, None).tolist() == [0, 1]


def test_what_gradient_steps_log_has_a_place_before_the_first(tmp_path):
    logs = Trainer(recipe(tmp_path, "turn_dqn", learning_starts=10**6)).update()
    assert np.isnan([logs["stop/loss"], logs["stop/goal"]]).all()


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ({"stop_head": False}, {}, ["stop"]),
        ({}, {}, []),
        ({}, {"kind": "turn_dqn", **LEARNERS["turn_dqn"], "epochs": None}, ["advantage", "value"]),
        ({}, {"stop_head": False}, ["the choice of `stop`, which a head of that run made"]),
    ],
)
def test_a_network_starts_with_or_without_the_head_of_another(before, after, new, tmp_path):
    source = Trainer(recipe(tmp_path, "turn_ppo", **before)).actor
    torch.nn.init.ones_(source.policy.encoder.hidden[0].weight)
    if before == {}:
        source.threshold = 0.25
    source.save(tmp_path / "saved")
    actor = Trainer(recipe(tmp_path, "turn_ppo", **after)).actor
    assert actor.start_from(tmp_path / "saved", "here") == new
    assert actor.policy.encoder.hidden[0].weight.eq(1).all()
    if before == {} and actor.stop is not None:
        assert actor.policy.stop.out.weight.equal(source.policy.stop.out.weight)
        assert actor.threshold == 0.25


def test_the_other_processes_choose_the_threshold_too(tmp_path, monkeypatch):
    made, trainers = recipe(tmp_path, "turn_ppo"), []
    first = {"what": "build", "policy": None, "run": training._of_process(made)}
    orders = iter([first, {"what": "update"}, {"what": "calibrate"}, {"what": "end"}])
    monkeypatch.setattr(parallel, "next_order", lambda: next(orders))
    monkeypatch.setattr(training, "Trainer", lambda *parts: trainers.append(Trainer(*parts)) or trainers[0])
    training._assist(made)
    given = []
    monkeypatch.setattr(parallel, "order", lambda what, **_: given.append(what))
    alone = Trainer(made)
    alone.update()
    for _ in range(2):
        alone.calibrate()
    assert given == ["calibrate"]
    assert trainers[0].actor.threshold == alone.actor.threshold != 0.5


class NoGoal(Stairs):
    goal = Task.goal


class Named(Stairs):
    def stop(self):
        return "a name of its own"


@pytest.mark.parametrize("task", ["wordle", f"{__name__}:NoGoal", f"{__name__}:Named"])
def test_a_task_without_a_goal_is_refused(task, tmp_path):
    with pytest.raises(BadSetting, match=r"stop_head = true: .* no answer that ends an"):
        Trainer(recipe(tmp_path, "turn_ppo", task=task))
    assert task == "wordle" or Trainer(recipe(tmp_path, "turn_ppo", task=task, stop_head=False)).update()


class Bare(Stairs):
    def rows(self, split):
        return () if split == "validation" else super().rows(split)


def test_only_a_stop_head_needs_rows_of_validation(tmp_path):
    own = {"task": f"{__name__}:Bare", "training": {"evaluate_every": 0}}
    with pytest.raises(LoquentError, match="no rows in its split 'validation'"):
        Trainer(recipe(tmp_path, "turn_ppo", **own))
    run = train(recipe(tmp_path, "turn_ppo", **own, stop_head=False), tmp_path / "run", progress=False)
    assert run.evaluation["n"] == 6
