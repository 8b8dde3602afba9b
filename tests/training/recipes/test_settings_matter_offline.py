"""No setting of a learner from recorded episodes is accepted and ignored, nor one that says which of them are
learned from.
"""

import dataclasses

import pytest
import torch

from loquent.agents.baselines import Expert, Random
from loquent.core import agent, episode, registry
from loquent.core.rollout.loop import games, play
from loquent.tasks.wordle.task import Wordle
from loquent.training import recipes
from loquent.training.trainer import Trainer

SMALL = (
    "task={kind: wordle, limit: 20, instruct: false}",
    "model={layers: 1, width: 16, heads: 2, context: 128, vocabulary: 260, critic: none, reference: none}",
    "decoding={max_new_tokens: 6}",
    "training={updates: 2, episodes: 8, evaluate_every: 0, final_episodes: 4}",
)
STEPS = {
    "minibatch": 5,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "warmup": 1,
    "total_steps": 8,
    "floor": 0.1,
}
CLONE = {**STEPS, "weight_decay": 0.01, "max_grad_norm": 0.1}
HEADS = {**CLONE, "gamma": 0.9, "target_rate": 0.1}
VALUES = {
    **HEADS,
    "tau": 0.8,
    "cql_weight": 0.1,
    "margin_weight": 0.1,
    "margin": 0.1,
    "best_of": 2,
    "rerank_logprob": 0.1,
}
POLICY = {"awac_beta": 0.5}
LEARNERS = {
    "cloning": CLONE,
    "filtered_cloning": {**CLONE, "top": 0.5},
    "decision_transformer": CLONE,
    "monte_carlo": {**VALUES, **POLICY},
    "ilql": {**VALUES, **POLICY},
    "cql": {**VALUES, **POLICY},
    "psi": VALUES,
    "ilql_utterance": {**HEADS, **POLICY, "tau": 0.8, "best_of": 2, "rerank_logprob": 0.1},
    "chai": {**HEADS, "candidates": 2, "best_of": 2},
    **dict.fromkeys(("dpo", "kto", "orpo"), CLONE),
}
OTHER = {  # where the next value by type would be refused or mean nothing
    "value_min": 0.0,
    "value_max": -1.0,
    "initial_value": -1.0,
    "target_every": 1,
    "adv_clip": 1e-3,
    "awac_clip": 0.5,
    "cql_temperature": 2.0,
    "total_steps": 5,
    "wanted_return": -5.0,
    "max_grad_norm": 1e-9,  # AdamW's own epsilon counts there
    "weight_decay": 0.5,
    "rerank_advantage": 0.0,
    "rerank_logprob": 9.0,
}
WITH = {  # what a setting needs beside it, to count
    "rank": ("algorithm.backbones=lora", "algorithm.awac_weight=0"),
    "cache": ("algorithm.backbones=frozen", "algorithm.awac_weight=0"),
    "adv_mode": ("algorithm.adv_beta=0.5",),
    "rerank_advantage": (
        "algorithm.adv_beta=0.5",
    ),  # where advantages rule, the answers to choose from are all the same
    "rerank_logprob": ("algorithm.adv_beta=0.5",),
    "adv_filters": ("evaluation.top_k=5", "evaluation.temperature=0.5"),
}
UNSEEN = {
    "token_budget": "memory and speed; the gradient is the same but for rounding",
    "cache": "memory and speed: what is not kept is computed, or drawn, again",
}


def cases():
    fields = {kind: dataclasses.fields(registry.find("algorithm", kind).Config) for kind in LEARNERS}
    return [
        pytest.param(kind, field, id=f"{kind}-{field.name}") for kind in LEARNERS for field in fields[kind]
    ]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two folders of recorded games: of three players on the same rows."""
    task, folder = Wordle(Wordle.Options(limit=20, instruct=False)), tmp_path_factory.mktemp("recorded")
    for seed in (3, 4):
        (folder / str(seed)).mkdir()
        rows = task.rows("train")[:3]
        players = Random(task), agent.make("wordle/half", task), Expert(task)
        played = [one for player in players for one in play(task, games(rows), player, seed=seed)]
        episode.write(folder / str(seed) / "episodes.jsonl", played)
    return folder


class Done:
    """Two updates of a learner: its log, its tensors, and what it says afterwards."""

    def __init__(self, recipe):
        self.trainer = Trainer(recipe)
        self.logs = [self.trainer.update() for _ in range(2)]

    def said(self):
        return [[turn.text for turn in game.turns] for game in self.trainer.evaluate("test", 4).episodes]

    def differs(self, other):
        if self.logs != other.logs:
            return "log"
        ours, theirs = self.trainer.actor.state_dict(), other.trainer.actor.state_dict()
        if ours.keys() != theirs.keys() or not all(torch.equal(ours[name], theirs[name]) for name in ours):
            return "tensors"
        return "answers" if self.said() != other.said() else None


@pytest.fixture(scope="module")
def done(recorded):
    """What a learner does without a change, made once for each need."""
    kept = {}

    def of(kind, *overrides):
        if (kind, overrides) not in kept:
            kept[kind, overrides] = Done(made(kind, recorded, *overrides))
        return kept[kind, overrides]

    return of


def made(kind, recorded, *overrides, data="3"):
    algorithm = ", ".join(f"{name}: {value}" for name, value in {"kind": kind, **LEARNERS[kind]}.items())
    needed = ["model.reference=copy"] if registry.find("algorithm", kind).scored else []
    return recipes.load(
        "wordle_clone", [*SMALL, *needed, f"algorithm={{{algorithm}}}", f"training.data={recorded / data}",
        *overrides],
    )  # fmt: skip


def changed(field, value):
    if field.name in OTHER:
        return OTHER[field.name]
    if field.metadata.get("choices"):
        return next(choice for choice in field.metadata["choices"] if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value / 2 if value else 0.5


def test_all_of_them_are_here():
    assert {
        name for name in registry.names("algorithm") if "data" in registry.find("algorithm", name).reads
    } == {"supervised", *LEARNERS}


@pytest.mark.sweep(18)
@pytest.mark.parametrize(("kind", "field"), cases())
def test_every_setting_of_a_learner_changes_what_it_learns_or_says(kind, field, recorded, done):
    names = {one.name for one in dataclasses.fields(registry.find("algorithm", kind).Config)}
    beside = [
        text
        for text in WITH.get(field.name, ())
        if not text.startswith("algorithm.") or text[10:].split("=")[0] in names
    ]
    if field.name == "backbones" and "awac_weight" in names:
        beside = ["algorithm.awac_weight=0"]
    usual = made(kind, recorded, *beside)
    value = changed(field, getattr(usual.config, field.name))
    again = Done(made(kind, recorded, *beside, f"algorithm.{field.name}={value}"))
    if field.name in UNSEEN:
        assert [line.keys() for line in again.logs] == [line.keys() for line in done(kind, *beside).logs]
    else:
        assert again.differs(done(kind, *beside)), (
            f"{kind}: {field.name} = {value} changes nothing: it is accepted and ignored"
        )


def test_what_is_kept_or_computed_again_is_the_same(recorded, done):
    frozen = WITH["cache"]
    assert Done(made("ilql", recorded, *frozen, "algorithm.cache=0")).differs(done("ilql", *frozen)) is None


@pytest.mark.sweep(4)
@pytest.mark.parametrize("override", ["data", "data_top", "data_bottom"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_which_episodes_are_learned_from_matters(kind, override, recorded, done):
    given = (
        made(kind, recorded, data="4")
        if override == "data"
        else made(kind, recorded, f"training.{override}=0.75")
    )
    assert Done(given).differs(done(kind)) in ("log", "tensors")


def test_equal_settings_do_the_same(recorded, done):
    for kind in LEARNERS:
        assert Done(made(kind, recorded)).differs(done(kind)) is None
