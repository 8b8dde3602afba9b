"""QA-DQN in the training loop: it learns, it is resumed to the bit, and it refuses other games."""

import copy
import json
import random
from functools import partial
from statistics import median

import pytest

import loquent
from helpers import killed
from helpers.states import difference, idle, leaves, moved, same, stale, without
from loquent.algorithms.deep_q.replay import CUT, ENDED, GOES_ON
from loquent.algorithms.deep_q.settings import DQNSettings
from loquent.algorithms.deep_q.transitions import steps_of, with_goals
from loquent.core.agent import make
from loquent.core.live import Live
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files.run_folder import RunFolder
from loquent.pretrained.learning.noisy import Noise
from loquent.tasks.reading.network.network import Network
from loquent.training import checkpoint, recipes
from loquent.training.estimate import estimate
from loquent.training.evaluate import evaluate_agent
from loquent.training.trainer import Trainer

SENTENCES = ("Ada built the mill.", "Ben sold the boat.", "Cara wrote songs.", "Dora fed the hens.")
QUESTIONS = {
    "Who built the mill?": "Ada",
    "Who sold the boat?": "Ben",
    "Who wrote songs?": "Cara",
    "Who fed the hens?": "Dora",
}
SAMPLES = [
    {"context": " ".join(SENTENCES), "question": question, "answers": [answer], "split": split}
    for split in ("train", "validation", "test")
    for question, answer in QUESTIONS.items()
]
SMALL = {
    "kind": "turn_dqn",
    "preset": "qa_dqn",
    "network": "qa",
    "games": 4,
    "steps": 40,
    "minibatch": 16,
    "learn_every": 1,
    "learning_starts": 10,
    "target_every": 10,
    "explore_games": 150,
    "learning_rate": 0.004,
    "replay": 4000,
}
NETWORK = {
    "width": 16,
    "word_size": 16,
    "character_size": 4,
    "encoder_convolutions": 1,
    "blocks": 1,
    "convolutions": 1,
    "hidden": 32,
    "pool": "max",
    "queries": "states",
    "matches": True,
    "pointer_hidden": 16,
    "dropout": 0.0,
    "skip": 0.0,
    "answers": 8,
}
TASK = {
    "kind": "reading",
    "source": "samples",
    "samples": SAMPLES,
    "memory": 1,
    "mode": "hard",
    "instruct": False,
    "answer_phase": True,
}
TRAINING = {
    "updates": 5,
    "evaluate_every": 2,
    "evaluate_episodes": 4,
    "final_episodes": 4,
    "checkpoint_every": 1,
    "keep": 2,
    "stop_metric": "return",
    "patience": 99,
}
MOMENTS = {"in_tensors": 1, "after_rename": 1, "after_log": 1, "in_backward": 3, "in_table": 3}


def write(folder, *, task=None, algorithm=None, network=None, training=None):
    file = folder / "qa.yaml"
    own = {**NETWORK, **(network or {})}
    content = {
        "task": {**TASK, **(task or {})},
        "algorithm": {**SMALL, "network_settings": own, **(algorithm or {})},
        "training": {**TRAINING, **(training or {})},
    }
    file.write_text(json.dumps(content))
    return file


def test_it_learns_where_to_look_when_to_stop_and_what_to_answer(tmp_path):
    trainer = Trainer(recipes.load(write(tmp_path, task={"start": "random"})))
    for _ in range(16):
        logs = trainer.update()
    evaluation = trainer.evaluate("train", 16)
    assert evaluation.values["score/sufficient"] == 1.0
    assert evaluation.values["score/f1"] == 1.0
    assert evaluation.values["answers"] <= 2.75  # a search, where needed, a stop, and the answer
    assert logs["dqn/exploration"] == pytest.approx(0.1)
    assert logs["answer/loss"] < 0.1


PEOPLE = ("Ada", "Ben", "Cara", "Dora", "Emil", "Fay", "Gus", "Hal", "Ida", "Jon")
DEEDS = (
    "built mills",
    "sold boats",
    "wrote songs",
    "fed hens",
    "cut hay",
    "baked bread",
    "dug wells",
    "led cows",
)


def toys():
    """50 games: five questions about each of ten paragraphs of eight sentences."""
    draw = random.Random("toys")
    for _ in range(10):
        facts = list(zip(draw.sample(PEOPLE, len(DEEDS)), draw.sample(DEEDS, len(DEEDS))))
        context = " ".join(f"{person} {deed} there." for person, deed in facts)
        for person, deed in draw.sample(facts, 5):
            yield {"context": context, "question": f"Who {deed}?", "answers": [person]}


def test_i_21_it_learns_fifty_toy_games(tmp_path):
    rows = [{**row, "split": split} for split in ("train", "validation", "test") for row in toys()]
    file = write(
        tmp_path,
        task={"samples": rows, "mode": "easy", "memory": 3},
        algorithm={"explore_games": 300, "stop_head": True, "stop_discount": 0.98},
        network={"history": True},
    )
    trainer = Trainer(recipes.load(file))
    for _ in range(17):
        trainer.update()
    evaluations = []
    for _ in range(5):
        trainer.update()
        trainer.calibrate()
        evaluations.append(trainer.evaluate("train", 50).values)
    # after a single update it may search on in some games, and in which depends on the machine's rounding
    learned = {name: median(one[name] for one in evaluations) for name in evaluations[-1]}
    others = [
        evaluate_agent(trainer.task, make(agent, trainer.task, {}), split="train", episodes=50).values
        for agent in ("reading/stop", "reading/random")
    ]
    assert learned["score/sufficient"] >= 0.9
    assert learned["score/sufficient"] > max(other["score/sufficient"] for other in others)
    assert learned["score/f1"] >= 0.9
    assert learned["answers"] < 5  # it does not read all


@pytest.mark.parametrize(
    ("texts", "rewards", "ends", "goals"),
    [
        # a search that reaches the goal earns what stopping next earns; the stop keeps its own reward
        (["ctrl+f wrote", "stop"], [0.45, 0.5], [ENDED, ENDED], [False, True]),
        # what goes on after the goal is learned from, too
        (["ctrl+f wrote", "ctrl+f songs", "stop"], [0.45, 0.45, 0.5], [ENDED] * 3, [False, True, True]),
        # a wrong stop cuts the search before it
        (["next", "previous", "stop"], [0.0, 0.0, 0.0], [GOES_ON, CUT, ENDED], [False, False, False]),
    ],
)
def test_a_search_ends_where_the_goal_holds(texts, rewards, ends, goals):
    world = loquent.task("reading", source="samples", samples=tuple(map(Record, SAMPLES)), memory=1)
    (row,) = (row for row in world.rows("train") if row["question"] == "Who wrote songs?")
    game = Live(world, row, 0, 0)
    for text in texts:
        game.choose(text)
    steps = steps_of(game.episode(), world.actions, Record(sufficient=0.5))
    found = with_goals(steps, partial(world.goal, row), world.actions.index("stop"), 0.9 * 0.5)
    assert [step.reward for step in found] == pytest.approx(rewards)
    assert ([step.end for step in found], [step.goal for step in found]) == (ends, goals)


def test_a_stop_that_earns_nothing_is_refused(tmp_path):
    with pytest.raises(BadSetting, match="sufficient does not count here"):
        Trainer(recipes.load(write(tmp_path, task={"reward": "f1"}, algorithm={"stop_head": True})))


@pytest.mark.parametrize("answers", [0, 8])
def test_the_learning_rate_falls_to_a_tenth_by_gradient_steps(answers, tmp_path):
    falling = {"schedule": "linear", "floor": 0.1, "learning_starts": 1}
    file = write(tmp_path, algorithm=falling, network={"answers": answers}, training={"updates": 3})
    trainer = Trainer(recipes.load(file))
    learner, steps = trainer.algorithm, 3 * trainer.recipe.config.steps_of_update(0)
    for _ in range(3):
        logs = trainer.update()
    taken = learner.learned + learner.auxiliary.steps
    assert logs["learning_rate"] == pytest.approx(0.004 * (1 - 0.9 * (taken - 1) / steps))
    assert 0.8 * steps < taken == learner.gradient.steps <= steps
    assert learner.gradient.optimizer.param_groups[0]["lr"] == logs["learning_rate"]


def test_i_19_noise_is_drawn_again_for_each_act_and_each_network_of_a_gradient_step(tmp_path, monkeypatch):
    noisy = {"noisy": True, "explore_first": 0.0, "explore_last": 0.0, "n_step": 1, "target_every": 3}
    trainer = Trainer(recipes.load(write(tmp_path, algorithm={**noisy, "learning_starts": 1})))
    learner, seeds = trainer.algorithm, {"own": [], "target": []}

    def recorded(network, batch, forward=Network.forward):
        drawn = [layer.seed for layer in network.heads.modules() if isinstance(layer, Noise)]
        assert len(set(drawn)) == len(drawn) > 4
        assert None not in drawn
        seeds["target" if network is learner.target else "own"].append(tuple(drawn))
        return forward(network, batch)

    monkeypatch.setattr(Network, "forward", recorded)
    for _ in range(2):
        trainer.update()
    assert len(seeds["target"]) > 2
    assert len(seeds["own"]) > 2 * learner.learned
    assert len(set(seeds["target"])) == len(seeds["target"])
    assert len(set(seeds["own"])) == len(seeds["own"])
    assert set(seeds["own"]).isdisjoint(seeds["target"])
    assert learner.copied == learner.finished // 3 > 0


EXTRAS = {
    "noisy": True,
    "explore_first": 0.0,
    "explore_last": 0.0,
    "games": 2,
    "steps": 8,
    "learning_starts": 1,
    "minibatch": 4,
    "target_every": 6,
}
EXTRA_NETWORK = {"queries": "rows", "dropout": 0.1, "skip": 0.1, "answers": 2, "width": 4, "hidden": 4}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The recipe's file and the run that was not killed, with noise, dropout and prioritized replay."""
    folder = tmp_path_factory.mktemp("whole")
    file = write(folder, algorithm=EXTRAS, network=EXTRA_NETWORK)
    assert killed.loquent("train", str(file), "--out", str(folder / "run")) == 0
    return file, folder / "run"


def test_a_run_killed_at_several_moments_is_the_same_run(whole, tmp_path):
    file, right = whole
    draw = random.Random("qa_dqn")
    moments = [
        (name, draw.randint(1, often)) for name, often in draw.sample(sorted(MOMENTS.items()), len(MOMENTS))
    ]
    killed.again_and_again(file, tmp_path / "run", moments)
    assert difference(right, tmp_path / "run") is None


def test_no_leaf_of_the_state_can_be_missing_or_stale(whole, request):
    """Each leaf at night, by day each third: what it takes is an update for each."""
    step = 1 if request.config.getoption("--slow") else 3
    file, right = whole
    trainer = Trainer(recipes.load(file))
    fresh = copy.deepcopy(trainer.state())
    state = checkpoint.load(RunFolder(right).checkpoints.all()[0])
    # of networks and moments, which others test, the first tensor
    many = [("actor",), ("algorithm", "optimizer"), ("algorithm", "target")]
    every = leaves(state)
    first = [next(path for path in every if path[: len(name)] == name) for name in many]
    paths = [path for path in every if path in first or not any(path[: len(name)] == name for name in many)]
    assert len(paths) > 30
    assert idle(trainer, state, paths[::step], without, 1) == []
    changed = moved(state, fresh, paths)
    assert {("algorithm", "counters", "rounds"), ("algorithm", "counters", "learned")} <= set(changed)
    assert stale(trainer, state, fresh, changed[::step], 1) == []


OTHERS = [
    ({"draws": "uniform", "stop_head": True, "schedule": "linear"}, {"history": True}),
    ({"draws": "queues"}, {}),
]


@pytest.mark.sweep("settings0-network0")
@pytest.mark.parametrize(("settings", "network"), OTHERS)
def test_other_settings_are_resumed_to_the_bit(settings, network, tmp_path):
    file = write(tmp_path, algorithm=settings, network=network)
    one, two = Trainer(recipes.load(file)), Trainer(recipes.load(file))
    for _ in range(2):
        one.update()
    two.restore(copy.deepcopy(one.state()))
    for _ in range(2):
        assert same(one.update(), two.update()) is None
    assert same(one.state(), two.state()) is None


def test_a_network_of_easy_games_is_refused_in_hard_ones(whole):
    """E-13."""
    file, right = whole
    state = checkpoint.load(RunFolder(right).checkpoints.all()[0])
    easy = Trainer(
        recipes.load(write(file.parent, task={"mode": "easy"}, algorithm=EXTRAS, network=EXTRA_NETWORK))
    )
    with pytest.raises(BadCheckpoint, match=r"the commands of the saved network was 2 and is 4 now"):
        easy.algorithm.load_state_dict(state["algorithm"])


A2C = {"kind": "turn_ppo", "preset": "qa_a2c", "network": "qa", "network_settings": {"width": 8}}


@pytest.mark.parametrize("settings", [{**SMALL, "network_settings": NETWORK}, A2C])
def test_a_run_is_estimated(settings, tmp_path):
    file = tmp_path / "qa.yaml"
    file.write_text(
        json.dumps({"task": TASK, "algorithm": settings, "training": {"updates": 2, "episodes": 4}})
    )
    found = estimate(recipes.load(file))
    assert found.parameters["network"] == sum(
        p.numel() for p in Trainer(recipes.load(file)).actor.policy.parameters()
    )
    assert found.total_seconds > 0


@pytest.mark.parametrize("name", ["learning_rate", "max_grad_norm"])
def test_a_setting_that_would_train_nothing_is_refused(name):
    with pytest.raises(BadSetting, match=f"{name} must be at least 1e-09"):
        DQNSettings(**{name: 0.0})
