"""PPO as a run: resumption to the bit, what it logs, its orders of rows, what it refuses, and that it
learns.
"""

import math
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch

from helpers.algorithms.letters import actor, mean_share, one_update, parameters, same, scored, through_json
from helpers.output_products import OutputProducts
from loquent.algorithms.imitation.supervised import Supervised
from loquent.algorithms.policy_gradient import ppo
from loquent.algorithms.policy_gradient.a2c import A2C
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.policy_gradient.nlpo import NLPO
from loquent.algorithms.policy_gradient.ppo import PPO, Config
from loquent.core.algorithm import Algorithm
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.models.decode.loop import Decoding
from loquent.models.score import tokens

QUICK = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2, "beta": 0.1}


def test_every_epoch_and_update_has_an_order_of_its_own():
    algorithm = PPO(Config(**QUICK), actor())
    rows = torch.arange(24)

    def orders():
        drawn = torch.cat(list(algorithm.schedule(rows))).tolist()
        return [tuple(drawn[:24]), tuple(drawn[24:])]

    first = orders()
    algorithm.updates = 1
    assert len({*first, *orders()}) == 4


def test_resumed_is_the_same_run_to_the_bit():
    settings = Config(**QUICK, kl_target=0.05)
    straight = actor(3)
    algorithm = PPO(settings, straight, key=Key(5))
    for number in range(2):
        one_update(algorithm, straight, number)
    again = actor(3)
    again.load_state_dict(straight.state_dict())
    resumed = PPO(settings, again, key=Key(5))
    resumed.load_state_dict(through_json(algorithm.state_dict()))
    fresh = PPO(settings, again, key=Key(5))
    assert resumed.controller.coefficient == algorithm.controller.coefficient != fresh.controller.coefficient
    logs = [one_update(a, m, 2)[1] for a, m in ((algorithm, straight), (resumed, again))]
    assert logs[0] == logs[1]
    assert same(parameters(straight), parameters(again))


def test_resuming_without_the_optimizer_is_another_run():
    settings = Config(**QUICK)
    straight, again = actor(3), actor(3)
    algorithm = PPO(settings, straight)
    one_update(algorithm, straight, 0)
    again.load_state_dict(straight.state_dict())
    forgetful = PPO(settings, again)
    forgetful.load_state_dict({**through_json(algorithm.state_dict()), "optimizer": {}})
    for a, m in ((algorithm, straight), (forgetful, again)):
        one_update(a, m, 1)
    assert not same(parameters(straight), parameters(again))


def test_a_state_of_another_model_is_refused():
    small, large = actor(), actor(width=16)
    algorithm, other = PPO(Config(**QUICK), small), PPO(Config(**QUICK), large)
    one_update(algorithm, small, 0)
    with pytest.raises(BadCheckpoint, match="shape"):
        other.load_state_dict(algorithm.state_dict())
    deep = actor(layers=2)
    deeper = PPO(Config(**QUICK), deep)
    one_update(deeper, deep, 0)
    with pytest.raises(BadCheckpoint, match="belongs to another model"):
        algorithm.load_state_dict(deeper.state_dict())


def test_every_logged_key_is_defined_and_every_defined_key_is_logged():
    model = actor()
    algorithm = PPO(Config(**QUICK, kl_target=0.1, value_clip=0.2), model)
    for number in range(2):
        _, logs = one_update(algorithm, model, number)
    assert set(logs) == set(ppo.LOGGED)
    assert all(math.isfinite(value) for value in logs.values())
    assert logs["gradient/steps"] == 2 * math.ceil(16 / 6)
    assert logs["kl/coefficient"] != logs["kl/coefficient_next"]


def test_means_are_over_the_whole_update_and_weighted_by_tokens():
    model = actor()
    algorithm = PPO(Config(**{**QUICK, "learning_rate": 0.0, "epochs": 1, "minibatch": 5}), model)
    batch = algorithm.prepare(scored(algorithm, model))
    logs = algorithm.update(model, batch)
    parts = algorithm.loss(model, batch)
    assert logs["critic/loss"] == pytest.approx(
        float(parts["critic/loss"].detach().double().mean()), rel=1e-5
    )
    assert logs["policy/entropy"] == pytest.approx(
        float(parts["policy/entropy"].detach().double().mean()), rel=1e-5
    )


def test_an_update_that_diverges_is_stopped():
    model = actor()
    free = PPO(Config(**{**QUICK, "learning_rate": 0.05, "epochs": 4}), model)
    assert one_update(free, model, 0)[1]["gradient/steps"] == 12
    model = actor()
    bound = PPO(Config(**{**QUICK, "learning_rate": 0.05, "epochs": 4, "stop_kl": 0.05}), model)
    assert 1 <= one_update(bound, model, 0)[1]["gradient/steps"] < 12


def test_a_refused_minibatch_is_in_no_mean():
    model = actor()
    settings = {**QUICK, "learning_rate": 0.05, "epochs": 4}
    bound = PPO(Config(**settings, stop_kl=0.05), model)
    batch = bound.prepare(scored(bound, model))
    logs = bound.update(model, batch)
    steps = int(logs["gradient/steps"])
    assert 1 <= steps < 12
    model = actor()
    free = PPO(Config(**settings), model)
    made, loss, moves = [], free.loss, []
    free.loss = lambda *given: made.append((len(moves), loss(*given))) or made[-1][1]
    free.gradient.optimizer.register_step_post_hook(lambda *given: moves.append(1))
    free.update(model, batch)

    def mean(name, count):
        return float(
            torch.cat([parts[name].detach().double() for step, parts in made if step < count]).mean()
        )

    for name in ("policy/kl_old", "policy/loss", "critic/loss"):
        assert logs[name] == pytest.approx(mean(name, steps), rel=1e-6)
        assert logs[name] != pytest.approx(mean(name, steps + 1), rel=1e-6)  # with the refused one


def test_an_update_without_a_step_has_no_means():
    model = actor()
    algorithm = PPO(Config(**QUICK, stop_kl=0.0), model)
    batch = algorithm.prepare(scored(algorithm, model))
    logs = algorithm.update(model, replace(batch, drawn_logprob=batch.drawn_logprob - 0.1))
    assert logs["gradient/steps"] == 0
    assert math.isnan(logs["policy/loss"])
    assert {*logs, "kl/coefficient_next"} == set(ppo.LOGGED)


@pytest.mark.parametrize("method", ["greedy", "beam"])
@pytest.mark.parametrize("kind", [PPO, NLPO])
def test_what_is_learnt_from_is_drawn(kind, method):
    sure = Decoding(method=method, max_new_tokens=6)
    with pytest.raises(BadSetting, match=f"decoding.method = '{method}'"):
        kind(kind.Config(), actor(decoding=sure))
    assert kind(kind.Config(), actor(evaluation=sure)).updates == 0
    undecided = actor()
    undecided.decoding = None
    assert kind(kind.Config(), undecided).updates == 0


def test_a_target_that_beta_cannot_reach_is_refused():
    with pytest.raises(BadSetting, match=r"kl_target = 0 .*above 0"):
        Config(kl_target=0.0)
    with pytest.raises(BadSetting, match=r"beta = 0 .*would stay 0"):
        Config(beta=0.0, kl_target=0.1)
    for target in (None, math.inf):
        assert Config(beta=0.0, kl_target=target).beta == 0


@pytest.mark.parametrize("kind", [PPO, NLPO, Supervised])
def test_algorithms_have_all_that_the_training_loop_reads(kind):
    algorithm = kind(kind.Config(), actor())
    assert isinstance(algorithm, Algorithm)
    assert {"Config", "name", "scored", "reads"} <= set(Algorithm.__annotations__)
    assert not isinstance(
        SimpleNamespace(**{name: print for name in dir(algorithm) if name != "reads"}), Algorithm
    )


def test_unusable_input_is_named():
    model = actor()
    algorithm = PPO(Config(), model)
    batch = scored(algorithm, model, 4)
    with pytest.raises(LoquentError, match="no action token"):
        algorithm.update(
            model,
            replace(algorithm.prepare(batch), is_action=torch.zeros_like(batch.is_action), support=None),
        )
    with pytest.raises(LoquentError, match="scored"):
        algorithm.prepare(replace(batch, value=None))
    with pytest.raises(BadSetting, match="value function"):
        PPO(Config(), actor(critic="none"))
    for wrong in (
        {"epochs": 0},
        {"gamma": 1.5},
        {"clip": -0.1},
        {"discount": "word"},
        {"learning_rate": float("nan")},
    ):
        with pytest.raises(BadSetting, match=next(iter(wrong))):
            Config(**wrong)
    spoilt = replace(algorithm.prepare(batch), target=torch.full_like(batch.reward, float("nan")))
    before = parameters(model)
    with pytest.raises(LoquentError, match="diverged"):
        algorithm.update(model, spoilt)
    assert same(before, parameters(model))  # the model is not destroyed


def test_minibatches_are_keyed():
    runs = []
    for seed in (1, 1, 2):
        model = actor()
        one_update(PPO(Config(**QUICK), model, key=Key(seed)), model, 0)
        runs.append(parameters(model))
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_every_setting_says_what_and_why():
    assert all(field.metadata["why"] for field in fields(Config))


@pytest.mark.parametrize("critic", ["network", "head"])
def test_it_learns_a_letter(critic):
    model = actor(1, spread=0.05, critic=critic)
    algorithm = PPO(Config(learning_rate=3e-3, minibatch=16, epochs=3, beta=0.0, gamma=1.0), model)
    before, error = mean_share(algorithm.agent(model, True))
    for number in range(12):
        one_update(algorithm, model, number, count=48)
    after, now = mean_share(algorithm.agent(model, True))
    assert after - before > 3 * math.hypot(error, now)
    assert after > 0.5 > before


def test_a_warm_up_trains_the_critic_alone():
    model = actor()
    algorithm = PPO(Config(**QUICK, critic_warmup=1), model)

    def moved():
        before = {name: value.detach().clone() for name, value in algorithm.parameters.items()}
        one_update(algorithm, model, algorithm.updates)
        changed = {
            name for name, value in algorithm.parameters.items() if not torch.equal(before[name], value)
        }
        return {name.partition(".")[0] for name in changed}

    assert moved() == {"critic"}
    assert moved() == {"critic", "policy"}
    with pytest.raises(BadSetting, match="critic_warmup = 1"):
        Config(critic_warmup=1, value_coefficient=0.0)


@pytest.mark.parametrize("kind", [PPO, NLPO, A2C, GRPO])
def test_learners_compute_the_logits_once(kind, monkeypatch):
    """With a bonus for the entropy they are computed again; a critic that learns alone needs no gradient."""
    monkeypatch.setattr(tokens, "WHOLE", 0)

    def products(**settings):
        model = actor(critic="none" if kind is GRPO else "network")
        algorithm = kind(kind.Config(**settings), model)
        batch = algorithm.prepare(scored(algorithm, model, 8))
        with OutputProducts(model.policy.lm_head.weight) as counted:
            logs = algorithm.update(model, batch)
        return counted.count / logs["gradient/steps"]

    assert products() == 2  # the logits, and the gradient by the states
    if kind is not GRPO:
        assert products(entropy_coefficient=0.01) == 3
    if kind in (PPO, NLPO):
        assert products(critic_warmup=1) == 1
        assert products(critic_warmup=1, entropy_coefficient=0.01) == 1
