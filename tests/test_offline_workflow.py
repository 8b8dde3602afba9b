"""A clone, then values beside it: the workflow of the recipes.

And evaluations that do not depend on how many games are live.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch

from loquent.core import registry
from loquent.training import recipes
from loquent.training.evaluate import evaluate_agent
from loquent.training.train import train
from loquent.training.trainer import Trainer

MODEL = "model={layers: 1, width: 16, heads: 2, context: 128, vocabulary: 260, critic: none, reference: none}"
SMALL = (
    "task={kind: wordle, limit: 20, instruct: false}",
    "decoding={max_new_tokens: 6}",
    "training={updates: 3, episodes: 8, evaluate_every: 0, final_episodes: 4}",
)


PAGE = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text()
# of each learner what its table says
COMMANDS = dict(re.findall(r"^\| `(\w+)` \| `(wordle_.*)` \|$", PAGE, re.MULTILINE))


@pytest.fixture(scope="module")
def clone(wordle_games, tmp_path_factory):
    """Recorded games, and the run of a clone of them."""
    folder = shutil.copytree(wordle_games, tmp_path_factory.mktemp("clone"), dirs_exist_ok=True)
    one = recipes.load(
        "wordle_bc",
        [*SMALL, MODEL, "algorithm={kind: cloning, learning_rate: 0.01}", f"training.data={folder}"],
    )
    return folder, train(one, folder / "bc", progress=False)


def logits_of(policy, tokens):
    with torch.no_grad():
        return policy(input_ids=tokens).logits


def values_beside(clone, *overrides):
    folder, run = clone
    return recipes.load(
        "wordle_ilql",
        [*SMALL, f"model.path={run.folder}", f"training.data={folder}", "algorithm.minibatch=4", *overrides],
    )


@pytest.mark.parametrize("backbones", ["separate", "frozen", "lora"])
def test_the_policy_is_the_clone_before_and_after_values_are_learned(backbones, clone, tmp_path):
    one = values_beside(clone, "algorithm.awac_weight=0", f"algorithm.backbones={backbones}")
    tokens = Trainer(one).experience.recording.batch.tokens[:6]
    cloned = clone[1].agent().module
    started = Trainer(one).actor.policy
    run = train(one, tmp_path / "ilql", progress=False)
    acting = run.agent()
    assert torch.equal(logits_of(started, tokens), logits_of(cloned, tokens))
    assert torch.equal(logits_of(acting.module, tokens), logits_of(cloned, tokens))
    values = acting.perturbation.values
    first = Trainer(one).actor.values
    assert not torch.equal(values.v_head.outer.weight, first.v_head.outer.weight), (
        "the values did learn, and were taken back"
    )


def test_a_policy_that_learns_too_does_not_stay_the_clone(clone, tmp_path):
    run = train(
        values_beside(clone, "algorithm.awac_weight=1.0", "algorithm.learning_rate=0.01"),
        tmp_path / "ilql",
        progress=False,
    )
    tokens = torch.arange(8)[None]
    assert not torch.equal(logits_of(run.agent().module, tokens), logits_of(clone[1].agent().module, tokens))


def test_evaluations_are_the_same_however_many_games_are_live(clone, tmp_path):
    run = train(values_beside(clone), tmp_path / "ilql", progress=False)
    task, found = run.task(), []
    for live in (1, 7, 256):
        found.append(evaluate_agent(task, run.agent(), episodes=12, seed=4, live=live))
    said = [[[turn.text for turn in one.turns] for one in evaluation.episodes] for evaluation in found]
    assert said[0] == said[1] == said[2]
    other = evaluate_agent(task, run.agent(), episodes=12, seed=5)
    assert [[turn.text for turn in one.turns] for one in other.episodes] != said[0]


def test_without_beta_it_acts_as_the_clone(clone, tmp_path):
    one = values_beside(
        clone, "algorithm.awac_weight=0", "algorithm.backbones=separate", "algorithm.adv_beta=0.0"
    )
    run = train(one, tmp_path / "ilql", progress=False)
    ours, theirs = (
        evaluate_agent(run.task(), one.agent(), episodes=12, seed=4).episodes for one in (run, clone[1])
    )
    assert [[turn.text for turn in one.turns] for one in ours] == [
        [turn.text for turn in one.turns] for one in theirs
    ]


def test_token_rewards_reach_recorded_answers(clone, tmp_path):
    one = values_beside(clone, "rewards={guess: 1.0, token_constant: {weight: 2.0, value: -0.25}}")
    plain, with_terms = (Trainer(some).experience.recording.batch for some in (values_beside(clone), one))
    assert torch.equal(plain.tokens, with_terms.tokens)
    assert torch.allclose(with_terms.reward, plain.reward - 0.5 * plain.is_action)


def test_every_learner_from_recorded_episodes_has_a_command():
    assert set(COMMANDS) == {
        name for name in registry.names("algorithm") if "data" in registry.find("algorithm", name).reads
    }


@pytest.mark.parametrize("kind", COMMANDS)
def test_the_command_of_every_learner_learns(kind, clone, tmp_path):
    name, *overrides = shlex.split(COMMANDS[kind])
    folder, _ = clone
    one = recipes.load(name, overrides)
    assert (one.algorithm, one.training.data, one.model.path) == (
        kind,
        ("games",),
        "runs/bc" if name == "wordle_ilql" else "",
    )
    beside = ["algorithm.top=1.0"] if kind == "filtered_cloning" else []  # a tenth of eight games is none
    beside += ["model.reference=copy"] if registry.find("algorithm", kind).scored else []
    trainer = Trainer(recipes.load(name, [*overrides, *SMALL, MODEL, f"training.data={folder}", *beside]))
    assert trainer.algorithm.name == kind
    assert trainer.update()["gradient/norm"] > 0
