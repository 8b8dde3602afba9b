"""Cloning in rounds: the loss by hand, who plays and what is learned, resuming, and starting from a clone."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.states import idle, leaves, same, without
from loquent.agents.baselines import Expert
from loquent.agents.mixture import Mixture
from loquent.algorithms.imitation.taught_turns import TaughtTurns
from loquent.algorithms.imitation.turn_cloning import Config, TurnCloning
from loquent.algorithms.shared.turn_passes import whole_episodes
from loquent.core.agent import Answer
from loquent.core.rollout.loop import games, play, rebuild
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadSetting
from loquent.models.turns.turn_scores import Legality, distribution
from loquent.pretrained.learning.turn_network import TurnNetwork
from loquent.tasks.tagging.task import Tagging
from loquent.training import checkpoint, recipes
from loquent.training.run import load_run
from loquent.training.start import start_network
from loquent.training.train import train
from loquent.training.trainer import Trainer

WORDS = ("abc", "eel", "of", "xyz", "a")
SAMPLES = [
    {"tokens": list(word), "labels": ["vowel" if c in "aeiou" else "other" for c in word], "split": split}
    for split in ("train", "validation", "test")
    for word in WORDS
]
TAGS = {
    "kind": "tagging", "source": "samples", "labels": ["vowel", "other"], "instruct": False,
    "samples": SAMPLES,
}  # fmt: skip
SMALL = {"width": 8, "layers": 1, "heads": 2, "minibatch": 8}
VECTOR = {**SMALL, "features": {"kind": "hashed", "dimension": 16}}
TRAINING = {"updates": 3, "episodes": 5, "final_episodes": 5, "checkpoint_every": 1, "keep": 9}


def recipe(folder, algorithm=None, training=None, **sections):
    settings = {"kind": "turn_cloning", "learning_rate": 0.02, **VECTOR, **(algorithm or {})}
    whole = {"task": TAGS, "algorithm": settings, "training": {**TRAINING, **(training or {})}, **sections}
    (folder / "recipe.yaml").write_text(json.dumps(whole))
    return recipes.load(folder / "recipe.yaml")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A run of three rounds."""
    folder = tmp_path_factory.mktemp("clone")
    return train(recipe(folder), folder / "run", progress=False)


class Logits(TurnNetwork):
    """A model with given logits, in place of a network."""

    device = torch.device("cpu")

    def __init__(self, logits, likely=None):
        self.logits, self.likely = logits, likely
        self.stop = None if likely is None else 1

    def distribution_and_goal(self, features, legality):
        return *self.distribution(features, legality), self.likely

    def distribution(self, features, legality):
        return distribution((self.logits,), legality, None), torch.zeros(len(self.logits))


def test_the_loss_by_hand():
    # Of logits ln 3, 0, ln 4, the third action is illegal in the first turn: 3/4 for the first action there,
    # and 4/8 for the third in the second turn, where it is the best.
    logits = torch.tensor([[3.0, 1.0, 4.0]] * 2).log()
    legal = np.packbits([[True, True, False], [True, True, True]], axis=1)
    turns = TaughtTurns({}, torch.tensor([0, 2]), torch.arange(2), (torch.from_numpy(legal),), (3,))
    logged = TurnCloning.loss(None, Logits(logits), turns)
    assert logged["cloning/loss"].tolist() == pytest.approx([math.log(4 / 3), math.log(2)])
    assert logged["cloning/agreement"].tolist() == [1, 1]
    other = TaughtTurns({}, torch.tensor([1, 0]), torch.arange(2), turns.masks, (3,))
    assert TurnCloning.loss(None, Logits(logits), other)["cloning/agreement"].tolist() == [0, 0]


def test_a_stop_of_the_teacher_by_hand():
    # action 1 is `stop`, which a head decides on: alone where the teacher stops, elsewhere left out
    logits = torch.tensor([[3.0, 9.0, 1.0]] * 4).log()
    legal = np.packbits([[True, False, True], [False, True, False]] * 2, axis=1)
    turns = TaughtTurns(
        {}, torch.tensor([0, 1, 0, 1]), torch.arange(4), (torch.from_numpy(legal),), (3,),
        goal=torch.tensor([0.0, 1.0, 1.0, 0.0]),
    )  # fmt: skip
    logged = TurnCloning.loss(None, Logits(logits, torch.tensor([3.0, 3.0, 1.0, 1.0]).log()), turns)
    assert logged["cloning/loss"].tolist() == pytest.approx([math.log(4 / 3), 0] * 2)
    assert logged["cloning/agreement"].tolist() == [0, 1, 0, 1]  # at 3/4 and at 1/2 it stops
    assert logged["stop/loss"].tolist() == pytest.approx([math.log(n) for n in (4, 4 / 3, 2, 2)])


def test_the_best_parts_of_an_action():
    parts = (torch.tensor([[0.0, 1.0]] * 3), torch.tensor([[2.0, 1.0]] * 3))
    every = tuple(torch.ones(3, 2, dtype=torch.bool) for _ in parts)
    path = distribution(parts, Legality(None, every, torch.tensor([[1, 0], [1, 1], [1, -1]])), None)
    assert path.is_best(torch.zeros(3, dtype=torch.int64)).tolist() == [True, False, True]


def test_a_pass_keeps_episodes_together():
    episode = torch.tensor([0, 0, 1, 1, 1, 2])
    order = torch.cat(whole_episodes(episode, 4, Key(3)))
    assert sorted(order.tolist()) == list(range(6))
    assert len(episode[order].unique_consecutive()) == 3
    assert all(order[episode[order] == k].diff().eq(1).all() for k in range(3))


class Wrong:
    name = "wrong"

    def __init__(self, task=None):
        pass

    def answer(self, questions):
        return [Answer("hm")] * len(questions)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_mixture_notes_what_the_teacher_would_do(share):
    task = Tagging()
    mixture = Mixture(Expert(task), Wrong(), share)
    played = play(task, games(task.rows("train")[:5], each=10), mixture, seed=0)
    texts = [[turn.text for turn in episode.turns if turn.seat == "agent"] for episode in played]
    notes = [mixture.notes[f"{episode.row}#{episode.number}", "agent"] for episode in played]
    assert all(len(own) == len(noted) and "hm" not in noted for own, noted in zip(texts, notes, strict=True))
    pairs = [pair for own, noted in zip(texts, notes, strict=True) for pair in zip(own, noted, strict=True)]
    assert {text for text, noted in pairs if text != noted} <= {"hm"}
    assert sum(text == noted for text, noted in pairs) / len(pairs) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize(("beta", "shares"), [(0.0, [1, 0, 0]), (0.5, [1, 0.5, 0.25]), (1.0, [1, 1, 1])])
def test_the_teacher_plays_less_each_round(beta, shares, tmp_path):
    made = Trainer(recipe(tmp_path, {"beta": beta}))
    logs = [made.update() for _ in shares]
    assert [log["cloning/teacher_share"] for log in logs] == shares
    assert [log["cloning/turns"] for log in logs] == [12, 24, 36]  # letters
    assert made.algorithm.turns.episode.unique().tolist() == list(range(15))
    assert made.experience.player == "policy and teacher expert"


def test_it_learns_what_the_expert_does(clone):
    run = train(clone.recipe.replace("training.updates=12"), clone.folder.parent / "long", progress=False)
    assert run.metrics[-1]["cloning/agreement"] == 1.0
    assert run.metrics[-1]["cloning/loss"] < 0.2 < run.metrics[0]["cloning/loss"]
    assert run.evaluation["values"]["score/token_f1"] == 1.0


ON_BLOCKS = {"network": "objects", "features": {}, "text": ["sentence"]}
READING = {
    "kind": "reading", "source": "samples", "memory": 1, "mode": "hard", "answer_phase": True,
    "samples": [
        {"context": "Ada built the mill. Ben sold the boat.", "question": f"Who {what}?", "answers": [who],
         "split": split}
        for split in ("train", "validation", "test")
        for what, who in (("built the mill", "Ada"), ("sold the boat", "Ben"))
    ],
}  # fmt: skip
ASKING = {
    "width": 8, "word_size": 8, "character_size": 4, "encoder_convolutions": 1, "blocks": 1,
    "convolutions": 1, "hidden": 16, "pointer_hidden": 8, "answers": 4,
}  # fmt: skip
WORLDS = {
    "towers": ({"kind": "blocks", "limit": 20}, ON_BLOCKS),
    "scatter": ({"kind": "blocks", "appearance": "scatter", "limit": 20}, ON_BLOCKS),
    "native": ({"kind": "blocks", "appearance": "scatter", "actions": "native", "limit": 20}, ON_BLOCKS),
    "labels": ({"kind": "multilabel"}, {}),
    "choices": ({"kind": "multiple_choice"}, {}),
    "wordle": ({"kind": "wordle"}, {}),
    "reading": (READING, {"network": "qa", "network_settings": ASKING}),
    "stops": (READING, {"network": "qa", "network_settings": ASKING, "stop_head": True}),
    "native stops": (
        {"kind": "blocks", "appearance": "scatter", "actions": "native", "limit": 20},
        {**ON_BLOCKS, "stop_head": True},
    ),
}


@pytest.mark.sweep("towers", "labels", "stops")
@pytest.mark.parametrize("world", WORLDS)
def test_every_world_with_an_expert_is_taught(world, tmp_path):
    task, algorithm = WORLDS[world]
    if algorithm.get("network") == "qa":
        algorithm = {**algorithm, **dict.fromkeys(("features", "width", "layers", "heads"), None)}
    settings = {**VECTOR, "kind": "turn_cloning", **algorithm}
    settings = {name: value for name, value in settings.items() if value is not None}
    (tmp_path / "recipe.yaml").write_text(json.dumps({"task": task, "algorithm": settings}))
    made = Trainer(recipes.load(tmp_path / "recipe.yaml", ["training.episodes=4"]))
    for _ in range(2):
        logs = made.update()
    assert 0 < logs["cloning/loss"] < 20
    assert logs["gradient/norm"] > 0
    assert ("stop/loss" in logs) == ("stop" in world)
    turns = made.algorithm.turns
    assert len(turns) == logs["cloning/turns"]
    kept = TaughtTurns.restore(turns.state_dict())
    assert same(kept.state_dict(), turns.state_dict()) is None
    state, again = made.state(), Trainer(made.recipe)
    again.evaluate("test", 2)  # words have other numbers in a process that has read other texts first
    again.restore(state)
    assert {**again.update(), "seconds": 0} == {**made.update(), "seconds": 0}


def test_the_labels_are_the_experts_in_the_states_that_were_reached(tmp_path):
    task, algorithm = WORLDS["towers"]
    (tmp_path / "recipe.yaml").write_text(
        json.dumps({"task": task, "algorithm": {**VECTOR, "kind": "turn_cloning", **algorithm}})
    )
    made = Trainer(recipes.load(tmp_path / "recipe.yaml", ["training.episodes=6"]))
    made.update()
    source = made.experience
    episodes = source.collect()  # by the learner alone
    batch = source.batch(episodes)
    right, differ = [], 0
    for episode in episodes:
        own = [turn.text for turn in episode.turns if turn.seat == "agent"]
        for count, text in enumerate(own):
            cut = replace(episode, turns=episode.turns[: 2 * count + 1])
            state = rebuild(made.task, cut).step.state
            right.append(made.actor.actions.index(made.task.expert(state)))
            differ += made.task.expert(state) != text
    assert batch.choice.tolist() == right
    assert differ


def test_what_is_no_action_is_not_learned(tmp_path):
    made = Trainer(recipe(tmp_path))
    made.experience.teacher = Wrong()
    with pytest.raises(BadSetting, match=r"the teacher wrong answers 'hm' in episode .*, which is not a leg"):
        made.update()


def test_it_goes_on_where_it_stopped(clone, tmp_path):
    shutil.copytree(clone.folder, tmp_path / "killed")
    for update in (2, 3):
        shutil.rmtree(tmp_path / "killed" / "checkpoints" / f"update-{update}")
    train(clone.recipe, tmp_path / "killed", progress=False, resume=True)
    one, two = (
        checkpoint.load(folder / "checkpoints" / "update-3") for folder in (clone.folder, tmp_path / "killed")
    )
    assert same(one, two) is None
    logs = [(folder / "metrics.jsonl").read_text() for folder in (clone.folder, tmp_path / "killed")]
    assert logs[0] == logs[1]
    trainer = Trainer(clone.recipe)
    paths = leaves(one)
    assert any(path[:2] == ("algorithm", "turns") for path in paths)
    assert idle(trainer, one, paths, without) == []


@pytest.mark.parametrize(
    ("algorithm", "new"),
    [
        ({"kind": "turn_ppo"}, []),
        ({"kind": "turn_ppo", "critic": "network"}, ["own"]),
        ({"kind": "turn_cloning"}, []),
        ({"kind": "turn_dqn", "games": 2, "steps": 20, "learning_starts": 1}, ["advantage", "value"]),
    ],
)
def test_learners_start_from_a_clone(clone, algorithm, new, tmp_path, recwarn):
    made = recipe(tmp_path, algorithm, {"updates": 1}, model={"path": str(clone.folder)})
    trainer = Trainer(made)
    taught = load_run(clone.folder).agent().network.policy.state_dict()
    own = trainer.actor.policy.state_dict()
    equal = {name for name in own if name in taught and torch.equal(own[name], taught[name])}
    assert {name for name in own if name.partition(".")[0] not in new} == equal
    remarks = [str(warning.message) for warning in recwarn if warning.category is Remark]
    assert [f"which are new: {', '.join(new)}" in text for text in remarks] == [True] * bool(new)
    if not new:
        values = trainer.evaluate("test", 5).values
        assert values["score/token_f1"] == clone.evaluation["values"]["score/token_f1"]
        shutil.copytree(clone.folder, tmp_path / "start")
        run = train(made.replace(f"model.path={tmp_path / 'start'}"), tmp_path / "run", progress=False)
        shutil.rmtree(tmp_path / "start")  # a run has its own weights from its first checkpoint on
        assert run.agent()
        assert train(run.recipe, run.folder, progress=False, resume=True).fingerprint == run.fingerprint


@pytest.mark.parametrize(
    ("algorithm", "task", "message"),
    [
        (
            {"width": 12},
            TAGS,
            r"encoder.hidden.0.weight has the shape \[12, .*the saved network has the shape",
        ),
        (
            {"features": {"kind": "hashed", "dimension": 32}},
            TAGS,
            "its inputs differ; use the run's settings",
        ),
        ({}, {**TAGS, "labels": ["vowel", "other", "x"]}, "its actions differ .2, here 3."),
        ({}, {"kind": "multilabel"}, "its network is of the task tagging.*, not of multilabel"),
    ],
)
def test_a_start_that_does_not_fit(clone, algorithm, task, message, tmp_path):
    settings = {"kind": "turn_ppo", **algorithm}
    made = recipe(tmp_path, settings, task=task, model={"path": str(clone.folder)})
    with pytest.raises(BadSetting, match=f"model.path = .*{message}"):
        Trainer(made)


def test_a_start_that_is_no_network_of_turns(clone, tmp_path):
    language = tmp_path / "language"
    language.mkdir()
    (language / "config.json").write_text('{"model_type": "gpt2"}')
    for path, message in ((language, "has no network that chooses among actions"), ("gpt2", "is no folder")):
        with pytest.raises(BadSetting, match=message):
            Trainer(recipe(tmp_path, {"kind": "turn_ppo"}, model={"path": str(path)}))
    with pytest.raises(BadSetting, match="turn_ppo makes a Wrong, which is no TurnNetwork"):
        start_network(Wrong(), str(clone.folder), "turn_ppo")
    torn = shutil.copytree(clone.folder / "checkpoints" / "update-3" / "policy", tmp_path / "torn")
    (torn / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(BadCheckpoint, match=r"model.path = .*model.safetensors cannot be read"):
        Trainer(recipe(tmp_path, {"kind": "turn_ppo"}, model={"path": str(torn)}))


def test_only_the_path_of_a_model_has_an_effect(tmp_path):
    plain = recipe(tmp_path, {"kind": "turn_ppo"})
    assert "model" not in plain.resolve()
    with pytest.warns(
        Remark, match="model.width has no effect: turn_ppo has no language model; of model, it"
    ):
        made = recipe(tmp_path, {"kind": "turn_ppo"}, model={"path": "runs/clone", "width": 32})
    assert made.resolve()["model"] == {"path": "runs/clone"}
    assert made.fingerprint != plain.fingerprint


def test_settings_out_of_range():
    with pytest.raises(BadSetting, match=r"beta must be .*, got 1.5"):
        Config(beta=1.5)
