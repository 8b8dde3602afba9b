"""What every on-policy learner keeps: ratio 1 and KL 0 before the first step, exact gradients, resumption."""

import math
import sys
from dataclasses import replace

import pytest
import torch

from helpers.algorithms.letters import (
    actor,
    gradients,
    mean_share,
    one_update,
    padded,
    parameters,
    ratio_error,
    same,
    scored,
    through_json,
)
from loquent.algorithms.policy_gradient.a2c import A2C
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.policy_gradient.nlpo import NLPO
from loquent.algorithms.policy_gradient.on_policy import divergence
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.algorithms.policy_gradient.rloo import RLOO
from loquent.algorithms.policy_gradient.trpo import TRPO
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.models.decode.loop import Decoding

RELATIVES = {**GRPO.Config.presets["reinforce_plus_plus"], "surrogate": "sapo", "drop_overlong": True}
STEPS = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2}
LEARNERS = {
    "ppo": (PPO, STEPS),
    "nlpo": (NLPO, {**STEPS, "top_p": 0.7, "mu": 2}),
    "a2c": (A2C, {"learning_rate": 3e-3}),
    "a2c, adamw, raw": (A2C, {"learning_rate": 3e-3, "optimizer": "adamw", "ratio": "raw"}),
    "trpo": (TRPO, {"learning_rate": 3e-3, "critic_epochs": 2, "critic_minibatch": 6}),
    "grpo": (GRPO, STEPS),
    "grpo, dapo": (GRPO, {**STEPS, "length": "token", "clip_high": 0.28, "drop_equal": True, "beta": 0.0}),
    "grpo, dr": (GRPO, {**STEPS, "length": "constant", "deviation": "none", "kl": "reward"}),
    "grpo, gspo": (GRPO, {**STEPS, "importance": "sequence", "deviation": "batch"}),
    "grpo, relatives": (GRPO, {**STEPS, **RELATIVES, "entropy_coefficient": 0.01}),
    "rloo": (RLOO, STEPS),
    "rloo, normalised": (RLOO, {**STEPS, "normalize_advantages": True}),
}
DECODINGS = [
    Decoding(max_new_tokens=6),
    Decoding(max_new_tokens=6, top_k=4, temperature=0.7),
    Decoding(max_new_tokens=6, top_p=0.8, min_new_tokens=3),
]


def made(name, model, **more):
    kind, settings = LEARNERS[name]
    return kind(kind.Config(**{**settings, **more}), model, key=Key(5))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a5_the_ratio_is_one_and_the_kl_zero_before_the_first_step(name, decoding):
    model = actor(decoding=decoding)
    algorithm = made(name, model)
    batch = algorithm.prepare(scored(algorithm, model, 24))
    assert len({int(n) for n in batch.real.sum(1)}) > 1  # prompts and answers of unequal length
    assert not divergence(batch).any()  # exactly
    # an answer's ratio multiplies those of its tokens
    assert ratio_error(algorithm, model, batch) < (6e-4 if name.startswith("rloo") else 1e-4)
    logs = algorithm.update(model, batch)
    assert logs["policy/ratio_error"] < 6e-4
    assert logs["kl/reference"] == logs["kl/reference_k3"] == 0.0
    assert ratio_error(algorithm, model, batch) > 1e-3  # and it moves once the policy has


@pytest.mark.sweep(3)
@pytest.mark.parametrize("critic", ["network", "head"])
@pytest.mark.parametrize("name", LEARNERS)
def test_resumed_is_the_same_run_to_the_bit(name, critic):
    straight = actor(3, critic=critic)
    algorithm = made(name, straight)
    for number in range(2):
        one_update(algorithm, straight, number)
    again = actor(3, critic=critic)
    again.load_state_dict(straight.state_dict())
    resumed = made(name, again)
    resumed.load_state_dict(through_json(algorithm.state_dict()))
    logs = [one_update(a, m, 2)[1] for a, m in ((algorithm, straight), (resumed, again))]
    assert repr(logs[0]) == repr(logs[1])
    assert same(parameters(straight), parameters(again))
    forgetful = made(name, again)  # and the state matters
    forgetful.load_state_dict({**through_json(algorithm.state_dict()), "optimizer": {}})
    one_update(forgetful, again, 3)
    one_update(algorithm, straight, 3)
    assert not same(parameters(straight), parameters(again))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_logged_key_is_defined_and_every_defined_key_is_logged(name):
    model = actor()
    algorithm = made(name, model)
    for number in range(2):
        _, logs = one_update(algorithm, model, number)
    absent = {"policy/engine_weight"}  # of another engine
    if algorithm.config.beta == 0 or getattr(algorithm.config, "kl", "") in ("reward", "to_go"):
        absent |= {"kl/loss"}
    assert set(logs) == set(sys.modules[type(algorithm).__module__].LOGGED) - absent
    assert all(math.isfinite(value) for value in logs.values())


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("ppo", "nlpo", "trpo")])
def test_padding_and_micro_batches_change_no_gradient(name):
    model = actor(dtype=torch.float64)
    more = {"max_grad_norm": None} | ({} if name.startswith("a2c") else {"minibatch": 64, "epochs": 1})
    algorithm = made(name, model, **more)
    batch = scored(algorithm, model, 24)
    whole = gradients(algorithm, model, algorithm.prepare(batch))
    for budget, other in ((1, batch), (40, batch), (9999, padded(batch, 5))):
        learner = made(name, model, **more, token_budget=budget)
        got = gradients(learner, model, learner.prepare(other))
        assert max(float((whole[name] - got[name]).abs().max()) for name in whole) < 1e-10
    assert max(float(g.abs().max()) for g in whole.values()) > 1e-3


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_to_learn_changes_nothing(name):
    model = actor(reference="none")
    off = {"beta": 0.0, "weight_decay": 0.0}
    kind = LEARNERS[name][0]
    own = {GRPO: {"entropy_coefficient": 0.0}, RLOO: {}, TRPO: {}}
    off |= own.get(kind, {"value_coefficient": 0.0})
    algorithm = made(name, model, **off)
    batch = algorithm.prepare(scored(algorithm, model))
    before = parameters(model.policy)
    algorithm.update(model, replace(batch, advantage=torch.zeros_like(batch.advantage)))
    assert same(before, parameters(model.policy))  # to the bit
    algorithm.update(model, batch)
    assert not same(before, parameters(model.policy))


def test_a_state_of_another_optimizer_is_refused():
    first, second = actor(), actor()
    by_adamw, by_rmsprop = made("a2c, adamw, raw", first), made("a2c", second)
    for algorithm, model in ((by_adamw, first), (by_rmsprop, second)):
        one_update(algorithm, model, 0)
    saved = by_rmsprop.state_dict()
    with pytest.raises(BadCheckpoint, match="not that of RMSprop; it must have step, square_avg"):
        by_rmsprop.load_state_dict(by_adamw.state_dict())
    with pytest.raises(BadCheckpoint, match="not that of AdamW; it must have step, exp_avg and exp_avg_sq"):
        by_adamw.load_state_dict(saved)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_a_learner_needs_is_named(name):
    kind = LEARNERS[name][0]
    if kind in (PPO, NLPO, A2C, TRPO):
        with pytest.raises(BadSetting, match="needs a value function"):
            made(name, actor(critic="none"))
    else:
        model = actor(critic="none")
        algorithm = made(name, model)
        batch = scored(algorithm, model)
        with pytest.raises(LoquentError, match="no `group`"):
            algorithm.prepare(replace(batch, group=None))
    with pytest.raises(BadSetting, match="needs a reference"):
        made(name, actor(reference="none"), beta=0.1)
    with pytest.raises(BadSetting, match=r"decoding\.method = 'greedy'"):
        made(name, actor(decoding=Decoding(method="greedy", max_new_tokens=6)))


@pytest.mark.sweep("a2c", "grpo", "grpo, gspo", "rloo")
@pytest.mark.parametrize("name", ["a2c", "trpo", "grpo", "grpo, dr", "grpo, gspo", "rloo"])
def test_it_learns_a_letter(name):
    model = actor(1, spread=0.05)
    more = {"beta": 0.0}
    if name == "trpo":
        more |= {"radius": 0.05}
    elif name != "a2c":
        more |= {"minibatch": 16, "epochs": 3}
    algorithm = made(name, model, **more)
    before, error = mean_share(algorithm.agent(model, True))
    for number in range(12):
        one_update(algorithm, model, number, count=48)
    after, now = mean_share(algorithm.agent(model, True))
    assert after - before > 3 * math.hypot(error, now)
