"""Supervised learning: its loss against the library's, dropout and where it draws, the schedule, resumption,
and that it learns.
"""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.algorithms.letters import (
    TASK,
    actor,
    episodes,
    gradients,
    padded,
    parameters,
    same,
    through_json,
)
from loquent.agents.baselines import Expert
from loquent.algorithms.imitation import supervised
from loquent.algorithms.imitation.supervised import Config, Supervised
from loquent.core.algorithm import step_size
from loquent.core.seeding import Key
from loquent.errors import BadSetting, LoquentError
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.batch import token_batch

QUICK = {"learning_rate": 3e-3, "minibatch": 8}


def taught(algorithm, model, count=16, number=0, split="train"):
    """Games of the expert as a prepared batch."""
    played = episodes(Expert(TASK), count, number, split=split)
    return algorithm.prepare(token_batch(played, model.format, TASK.spec.rewards, max_length=32))


def library_loss(model, batch, learned):
    """The mean negative log-likelihood as transformers computes it from labels."""
    labels = torch.where(learned, batch.tokens, -100)
    return float(model.policy(batch.tokens, attention_mask=batch.real.long(), labels=labels).loss.detach())


def loss_of(model, batch):
    """What an update measures on a prepared batch, where it can move nothing."""
    return Supervised(Config(learning_rate=0.0), model).update(model, batch)["supervised/loss"]


@pytest.mark.parametrize("learn_on", ["answer", "all"])
def test_the_loss_is_the_librarys(learn_on):
    model = actor()
    algorithm = Supervised(Config(learn_on=learn_on), model)
    batch = taught(algorithm, model)
    learned = batch.real.clone()
    learned[:, 0] = False
    if learn_on == "answer":
        learned &= batch.is_action
        assert batch.is_action.sum() < batch.real.sum() - len(batch)
    assert torch.equal(batch.is_action, learned)
    loss = loss_of(model, batch)
    assert loss == pytest.approx(library_loss(model, batch, learned), abs=1e-6)
    assert loss_of(model, padded(batch, 4)) == pytest.approx(loss, abs=1e-6)
    other = Supervised(Config(learn_on="all" if learn_on == "answer" else "answer"), model)
    assert loss_of(model, taught(other, model)) != pytest.approx(loss, abs=1e-3)


def test_accumulation_is_exact():
    model = actor(dtype=torch.float64)
    whole, single = (
        Supervised(Config(**{**QUICK, "minibatch": 64, "token_budget": budget}), model)
        for budget in (9999, 1)
    )
    batch = taught(whole, model)
    a, b = gradients(whole, model, batch), gradients(single, model, batch)
    assert max(float((a[name] - b[name]).abs().max()) for name in a) < 1e-6
    assert max(float(g.abs().max()) for g in a.values()) > 1e-3


def test_a10_dropout_is_on_in_its_updates_and_only_there():
    ends = {}
    for name, dropout, key in (
        ("a", 0.5, 1),
        ("again", 0.5, 1),
        ("other key", 0.5, 2),
        ("none", 0.0, 1),
        ("none, other key", 0.0, 2),
    ):
        model = actor(dropout=dropout)
        algorithm = Supervised(Config(**{**QUICK, "minibatch": 64}), model, key=Key(key))
        batch = taught(algorithm, model)
        # one row: the order of a minibatch plays no part
        algorithm.update(model, batch.take(torch.arange(1)))
        assert not any(module.training for module in model.modules())
        ends[name] = parameters(model)
    assert same(ends["a"], ends["again"])
    assert not same(ends["a"], ends["other key"])
    assert not same(ends["a"], ends["none"])
    assert same(ends["none"], ends["none, other key"])


def test_every_gradient_step_drops_other_units():
    model = actor(dropout=0.5)
    algorithm = Supervised(Config(learning_rate=0.0, weight_decay=0.0), model)
    batch = taught(algorithm, model).take(torch.arange(1))
    losses = [algorithm.update(model, batch)["supervised/loss"] for _ in range(3)]
    assert len(set(losses)) == 3
    still = actor(dropout=0.0)
    algorithm = Supervised(Config(learning_rate=0.0, weight_decay=0.0), still)
    assert len({algorithm.update(still, batch)["supervised/loss"] for _ in range(3)}) == 1


def test_the_global_generators_are_left_alone():
    model = actor(dropout=0.5)
    algorithm = Supervised(Config(**QUICK), model)
    batch = taught(algorithm, model)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
    algorithm.update(model, batch)
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])
    torch.nn.functional.dropout(torch.ones(3), 0.5)
    assert not torch.equal(torch.get_rng_state(), before[2])  # it would show


def test_the_schedule():
    constant = Config(learning_rate=1.0, warmup=4)
    assert [step_size(i, constant) for i in (0, 1, 3, 4, 100)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    # half a cosine from step 2 to step 6: (1 + cos(pi t)) / 2 at t = 0, 1/4, 1/2, 1, then 0
    cosine = Config(learning_rate=1.0, warmup=2, schedule="cosine", total_steps=6)
    assert [step_size(i, cosine) for i in (0, 1, 2, 3, 4, 6, 9)] == pytest.approx(
        [0.5, 1.0, 1.0, 0.8535534, 0.5, 0.0, 0.0]
    )
    # the same from 1 to a floor of .2: .2 + .8 of the above
    floored = Config(learning_rate=1.0, warmup=2, schedule="cosine", total_steps=6, floor=0.2)
    assert [step_size(i, floored) for i in (0, 1, 2, 3, 4, 6, 9)] == pytest.approx(
        [0.5, 1.0, 1.0, 0.8828427, 0.6, 0.2, 0.2]
    )
    assert step_size(3, cosine) != pytest.approx(0.75)  # it is no straight line
    with pytest.raises(BadSetting, match="total_steps = 2"):
        Config(schedule="cosine", warmup=2, total_steps=2)
    model = actor()
    algorithm = Supervised(Config(**{**QUICK, "learning_rate": 1.0}, warmup=100), model)
    # two steps of a hundred
    assert algorithm.update(model, taught(algorithm, model))["learning_rate"] == pytest.approx(0.02)


def test_resumed_is_the_same_run_to_the_bit():
    settings = Config(**QUICK, epochs=2, warmup=5)
    straight, again = actor(dropout=0.1), actor(dropout=0.1)
    algorithm = Supervised(settings, straight)
    batch = taught(algorithm, straight)
    algorithm.update(straight, batch)
    again.load_state_dict(straight.state_dict())
    resumed = Supervised(settings, again)
    resumed.load_state_dict(through_json(algorithm.state_dict()))
    assert algorithm.update(straight, batch) == resumed.update(again, batch)
    assert same(parameters(straight), parameters(again))
    forgetful = Supervised(settings, again)
    assert algorithm.update(straight, batch) != forgetful.update(again, batch)


def test_it_learns_what_the_expert_says():
    model = actor(1, spread=0.02)
    algorithm = Supervised(Config(learning_rate=1e-2, minibatch=16, epochs=15), model)
    unseen = taught(algorithm, model, 32, split="test")
    before = loss_of(model, unseen)
    logs = algorithm.update(model, taught(algorithm, model, 64))
    assert before == pytest.approx(math.log(9), abs=0.2)  # nothing known: nine words
    assert loss_of(model, unseen) < 0.1
    assert logs["supervised/loss"] < before
    played = episodes(algorithm.agent(model, True), 32, split="test")
    exact = [
        episode.answers()[0].text == TASK.expert(episode.turns[0].text)
        for episode in played
        if len(episode.turns[0].text) < 4
    ]
    assert sum(exact) > 0.8 * len(exact)


def test_e8_one_forward_and_one_backward_per_sequence_and_epoch():
    model = actor()
    algorithm = Supervised(Config(**QUICK, epochs=3, token_budget=40), model)
    batch = taught(algorithm, model)
    action_scores(model.policy, batch)  # a model is probed once, when it is first scored
    passes = [0, 0]
    last = model.policy.transformer.ln_f
    last.register_forward_hook(lambda m, given, out: passes.__setitem__(0, passes[0] + len(out)))
    last.register_full_backward_hook(lambda m, into, out: passes.__setitem__(1, passes[1] + len(out[0])))
    algorithm.update(model, batch)
    assert passes == [16 * 3, 16 * 3]


def test_only_the_policy_learns():
    model = actor()
    algorithm = Supervised(Config(**QUICK), model)
    critic, reference = parameters(model.critic), parameters(model.reference)
    policy = parameters(model.policy)
    logs = algorithm.update(model, taught(algorithm, model))
    assert same(critic, parameters(model.critic))
    assert same(reference, parameters(model.reference))
    assert not same(policy, parameters(model.policy))
    of_evaluation = {"supervised/held_out_loss", "supervised/held_out_perplexity"}
    assert set(logs) == set(supervised.LOGGED) - of_evaluation
    assert algorithm.after_update(model) == {}


def test_unusable_input_is_named():
    model = actor()
    algorithm = Supervised(Config(), model)
    batch = taught(algorithm, model, 4)
    with pytest.raises(LoquentError, match="no token to learn from"):
        algorithm.update(model, replace(batch, is_action=torch.zeros_like(batch.is_action), support=None))
    for wrong in ({"epochs": 0}, {"learn_on": "prompt"}, {"warmup": -1}):
        with pytest.raises(BadSetting, match=next(iter(wrong))):
            Config(**wrong)
