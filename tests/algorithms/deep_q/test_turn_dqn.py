"""Deep Q-learning over features, and over a network of one's own: targets, legal actions, resuming."""

import copy
import json
import random

import numpy as np
import pytest
import torch

from helpers import killed
from helpers.states import difference, same
from loquent.algorithms.deep_q.replay import CUT, ENDED, GOES_ON, Step
from loquent.core.actions import Texts, bitset
from loquent.core.agent import make
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.models.turns.action_values import Values
from loquent.pretrained.learning.noisy import Noise, stir
from loquent.pretrained.learning.turn_network import Head, Store, TurnNetwork
from loquent.training import recipes
from loquent.training.estimate import estimate
from loquent.training.evaluate import evaluate_agent
from loquent.training.trainer import Trainer

FEATURES = {"kind": "hashed", "dimension": 64}
SMALL = {
    "kind": "turn_dqn",
    "games": 8,
    "steps": 400,
    "learning_starts": 8,
    "target_every": 20,
    "explore_games": 100,
    "width": 32,
    "layers": 1,
    "learning_rate": 0.003,
    "gamma": 0.5,
    "replay": 2000,
    "features": FEATURES,
}
NOISY = {"noisy": True, "explore_first": 0.0, "explore_last": 0.0}
TRAINING = {"updates": 3, "evaluate_every": 0, "final_episodes": 4, "checkpoint_every": 1}
TAGGING = {"kind": "tagging", "instruct": False}
DOOR = f"{__name__}:Door"


class Door(Task):
    """One of four doors is open to the agent at each of three turns; only the highest legal number pays."""

    spec = TaskSpec(id="door", rewards=Record(found=1.0), invalid=("closed",), return_range=(0.0, 3.0))
    actions = Texts(("zero", "one", "two", "three"))

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(start=i)) for i in range(3))

    def first(self, row, rng):
        return Opening((row["start"], 0), self.seen(row["start"], 0))

    def seen(self, place, turn):
        return Observation(f"door {place}", Record(), bitset([*range(place + 1)], 4))

    def read(self, state, text):
        number = self.actions.index(text)
        return number if number is not None and number <= state[0] else Invalid("closed", text)

    def play(self, state, move):
        place, turn = (state[0] + 1) % 3, state[1] + 1
        reward = float(move == state[0])
        return Outcome(
            (place, turn), self.seen(place, turn), Record(found=reward), "over" if turn == 3 else None
        )


class Own(TurnNetwork):
    """A network of one's own: the logits, or values, of the actions of `Door` by a table of observations."""

    def __init__(self, task, settings, key, head):
        self.task, self.actions, self.head = task, task.actions, head
        self.policy = torch.nn.Embedding(3, 5)
        torch.nn.init.zeros_(self.policy.weight)

    @property
    def signature(self):
        return {"shape": self.shape}

    def inputs(self, observation):
        return {"door": np.array(int(observation.text[-1]))}

    def scores(self, module, door):
        illegal = torch.arange(4) > door[:, None]
        return module(door)[:, :4].masked_fill(illegal, -torch.inf)

    def choose(self, observations, uniform):
        doors = torch.tensor([int(each.text[-1]) for each in observations])
        scores = self.scores(self.policy, doors).detach()
        if uniform is None:
            return scores.argmax(1).numpy()
        return (scores.softmax(1).cumsum(1).numpy() <= uniform).sum(1)

    def distribution(self, features, legality):
        return self.scores(self.policy, features["door"]).log_softmax(1), self.state_values(features)

    def state_values(self, features):
        return self.policy(features["door"])[:, 4]

    def values(self, module, batch):
        return self.scores(module, batch)

    def store(self):
        store = Store()
        store.pack = self.inputs
        store.batch = lambda arrays: torch.as_tensor(arrays["door"])
        return store


def load(folder, task, *, training=None, name="dqn", **algorithm):
    file = folder / f"{name}.yaml"
    content = {"task": task, "algorithm": SMALL | algorithm, "training": TRAINING | (training or {})}
    file.write_text(json.dumps(content))
    return recipes.load(file, imports="all")


@pytest.mark.parametrize(
    "settings",
    [{"n_step": 1, "draws": "uniform"}, {"double": False, "dueling": False}],
    ids=["double and dueling", "three steps and prioritized"],
)
def test_it_learns_to_tag(settings, tmp_path):
    trainer = Trainer(load(tmp_path, TAGGING, **settings))
    for _ in range(3):
        trainer.update()
    learned = trainer.evaluate("train", 50).values["return"]
    chance = evaluate_agent(trainer.task, make("random", trainer.task, {}), split="train", episodes=50)
    assert learned > 0.4 > 0.25 > chance.values["return"]


def fixed(folder, online, target, **settings):
    """A learner on `Door` whose networks have these values in every state."""
    algorithm = {"dueling": False, "gamma": 0.5, "draws": "uniform", "n_step": 3, **settings}
    learner = Trainer(load(folder, DOOR, **algorithm)).algorithm
    for network, values in ((learner.actor.policy, online), (learner.target, target)):
        torch.nn.init.zeros_(network.advantage[-1].weight)
        network.advantage[-1].bias.data = torch.tensor(values)
    return learner


def test_the_target_of_three_steps_by_hand(tmp_path):
    # door 2 has three legal actions; the online network likes action 1 best of them, and 3, which is illegal.
    online, target = [0.0, 2.0, 1.0, 9.0], [8.0, 16.0, 32.0, 64.0]
    seen = [Door().seen(place, 0) for place in (0, 1, 2)]
    steps = [Step(seen[0], 0, 1.0, seen[1], GOES_ON), Step(seen[1], 1, 0.0, seen[2], GOES_ON)]
    cases = [
        ({}, CUT, 1 + 0 + 0.25 * 2 + 0.125 * 16),  # r0 + γ r1 + γ² r2 + γ³ Q_target(s3, argmax Q_online)
        ({"double": False}, CUT, 1.5 + 0.125 * 32),  # the best legal action by the target network
        ({}, ENDED, 1.5),  # an ended episode has no value behind it
        ({"n_step": 2}, CUT, 1 + 0.25 * 16),
    ]
    for settings, end, expected in cases:
        learner = fixed(tmp_path, online, target, **settings)
        learner.replay.add([*steps, Step(seen[2], 2, 2.0, seen[2], end)])
        ring = learner.replay.rings[0]
        n = np.array([learner.config.n_step])
        drawn = ring.draw(np.array([0]), n, 0.5, np.ones(1, np.float32))
        assert learner._target(drawn).tolist() == pytest.approx([expected]), settings


def test_illegal_actions_are_never_taken_and_the_best_legal_one_is_learned(tmp_path):
    trainer = Trainer(load(tmp_path, DOOR, steps=240, legal=True))
    for _ in range(3):
        assert trainer.update()["rollout/return"] >= 0
        assert not [
            turn for game in trainer.algorithm.table.games for turn in game.turns if turn.invalid == "closed"
        ]
    assert trainer.evaluate("train", 3).values["return"] == 3.0
    taken = {trainer.actor.explore(Door().seen(1, 0), u) for u in np.linspace(0, 0.999, 50)}
    assert taken == {0, 1}
    anything = Trainer(load(tmp_path, DOOR, legal=False)).actor
    assert {anything.explore(Door().seen(0, 0), u) for u in np.linspace(0, 0.999, 50)} == {0, 1, 2, 3}


@pytest.mark.parametrize("algorithm", [{}, {"kind": "turn_ppo", "minibatch": 32, "learning_rate": 0.3}])
def test_a_network_of_ones_own_learns(algorithm, tmp_path):
    over_features = {"features", "width", "layers"}
    kept = {name: value for name, value in SMALL.items() if name not in over_features}
    if algorithm:
        kept = {"gamma": 0.5}
    content = {
        "task": DOOR,
        "algorithm": {**kept, **(algorithm or {"learning_rate": 0.05}), "network": f"{__name__}:Own"},
        "training": {"updates": 8, "episodes": 16, "evaluate_every": 0, "final_episodes": 3},
    }
    (tmp_path / "own.yaml").write_text(json.dumps(content))
    trainer = Trainer(recipes.load(tmp_path / "own.yaml", imports="all"))
    assert isinstance(trainer.actor, Own)
    for _ in range(8):
        trainer.update()
    assert trainer.evaluate("train", 3).values["return"] == 3.0


def test_dueling_values_are_centred_and_noise_is_behind_the_encoder(tmp_path):
    trainer = Trainer(load(tmp_path, DOOR, **NOISY))
    network, key = trainer.actor.policy, Key(5)
    assert isinstance(network, Values)
    features = trainer.actor.features([Door().seen(2, 0)])
    state = network.encoder(features)
    assert torch.allclose(network(features)[0].mean(1), network.value(state)[:, 0], atol=1e-6)
    layers = [name for name, layer in network.named_modules() if isinstance(layer, Noise)]
    assert layers == ["advantage.0.0", "advantage.1", "value.0.0", "value.1"]
    calm, goal = network(features)
    assert goal is None
    before = torch.get_rng_state()
    stir(network, key)
    noisy = network(features)[0]
    assert not torch.allclose(noisy, calm)
    stir(network, key.child("other"))
    assert not torch.allclose(network(features)[0], noisy)
    stir(network, key)
    assert torch.equal(network(features)[0], noisy)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_killed_run_is_the_same_run(tmp_path):
    training = {"evaluate_every": 1, "evaluate_episodes": 2, "stop_metric": "return", "patience": 99}
    load(
        tmp_path,
        TAGGING,
        training=training,
        **NOISY,
        games=4,
        steps=24,
        learning_starts=2,
        replay=30,
        width=8,
    )
    file = str(tmp_path / "dqn.yaml")
    assert killed.loquent("train", file, "--out", str(tmp_path / "whole")) == 0
    moments = [(moment, 2) for moment in ("in_table", "in_backward", "in_tensors")]
    killed.again_and_again(file, tmp_path / "run", moments)
    assert difference(tmp_path / "whole", tmp_path / "run") is None


def test_it_goes_on_to_the_bit_without_global_generators(tmp_path):
    recipe = load(tmp_path, DOOR, steps=80, vary_steps=True, replay=50)
    one, two = Trainer(recipe), Trainer(recipe)
    before = torch.get_rng_state(), random.getstate()
    one.update()
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    two.restore(copy.deepcopy(one.state()))
    for _ in range(2):
        assert same(one.update(), two.update()) is None
    assert same(one.state(), two.state()) is None


@pytest.mark.parametrize(
    ("task", "settings", "problem"),
    [
        (DOOR, {"network": "vactor"}, r"must be one of vector, .*, qa, or your own as module:Name"),
        (DOOR, {"network": f"{__name__}:Door"}, "must be a class derived from TurnNetwork"),
        (DOOR, {"network_settings": {"width": 3}}, "has no effect with network = 'vector'"),
        (
            DOOR,
            {"network": "qa", "view": "image", "features": {}},
            "view = 'image' has no effect with network",
        ),
        (DOOR, {"network": "qa", "features": {}, "network_settings": {"wdth": 3}}, "width"),
        (DOOR, {"network": "qa", "features": {}}, "no commands with queries"),
        (DOOR, {"noisy": True}, "set explore_first and explore_last to 0"),
        (DOOR, {"steps": 401}, "is no multiple of games"),
        ("helpers.tracers.board:Board", {}, "values are learned of at most 100,000"),
        ({"kind": "reading", "queries": "question"}, {"legal": False}, "set legal to true"),
        ("generation", {}, "takes free text"),
    ],
)
def test_what_does_not_fit_is_refused(task, settings, problem, tmp_path):
    with pytest.raises(BadSetting, match=problem):
        Trainer(load(tmp_path, task, **settings))


def test_a_text_that_the_task_asks_for_needs_a_network_that_writes(tmp_path):
    reading = {"kind": "reading", "queries": "question", "answer_phase": True}
    trainer = Trainer(load(tmp_path, reading, learning_starts=0, steps=80, features=FEATURES))
    while not any(seen.legal == () for seen in trainer.algorithm.table.observations):
        trainer.algorithm.table.act([0] * 8)
    with pytest.raises(BadSetting, match="this network only chooses among actions"):
        trainer.update()


def test_a_run_is_estimated_with_the_whole_replay(tmp_path):
    found = estimate(load(tmp_path, TAGGING, replay=1000))
    # now and next: the vector in float32, and the legal actions as bits; the action, reward, end and goal
    trainer = Trainer(load(tmp_path, TAGGING))
    numbers = trainer.actor.inputs.vector.size
    assert found.memory["replay"] == 1000 * (2 * (4 * numbers + (len(trainer.actor.actions) + 7) // 8) + 10)
    assert found.sizes["width"] == numbers


def test_the_head_of_a_policy_is_the_default():
    assert Head() == Head(critic=True, dueling=False, sigma=None)
