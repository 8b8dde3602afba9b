"""A2C: its loss by hand, the identity A11 of the specification with PPO, and its presets."""

import pytest
import torch

from helpers.algorithms.letters import actor, gradients, one_update, parameters, same, scored
from loquent.algorithms.policy_gradient import a2c
from loquent.algorithms.policy_gradient.a2c import A2C, Config
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.algorithms.policy_gradient.ppo import Config as PPOConfig

SAME = {
    "learning_rate": 3e-3,
    "gamma": 0.9,
    "lam": 0.8,
    "beta": 0.1,
    "entropy_coefficient": 0.01,
    "max_grad_norm": None,
    "weight_decay": 0.0,
}
ONE = {"epochs": 1, "minibatch": 64}


def test_the_loss_by_hand():
    logprob, advantage = torch.tensor([-1.0, -0.5, -2.0]), torch.tensor([2.0, -1.0, 0.25])
    assert a2c.surrogate(logprob, advantage).tolist() == [2.0, -0.5, 0.5]
    assert a2c.surrogate(logprob, -advantage).tolist() != [2.0, -0.5, 0.5]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("critic", ["network", "head"])
def test_a11_its_gradient_is_that_of_ppo_with_one_epoch_and_no_clip(critic, normalised):
    taken = []
    for kind, more in ((PPO, {**ONE, "clip": 1e9}), (A2C, {"optimizer": "adamw"})):
        model = actor(dtype=torch.float64, critic=critic)
        config = kind.Config(**SAME, **more, normalize_advantages=normalised)
        algorithm = kind(config, model)
        batch = algorithm.prepare(scored(algorithm, model, 24))
        taken.append((gradients(algorithm, model, batch), algorithm, model, batch))
    (by_ppo, ppo, first, _), (by_a2c, own, second, batch) = taken
    assert by_ppo.keys() == by_a2c.keys()
    assert max(float((by_ppo[name] - by_a2c[name]).abs().max()) for name in by_ppo) < 1e-12
    assert max(float(g.abs().max()) for g in by_a2c.values()) > 1e-3
    ppo.update(first, batch)
    own.update(second, batch)
    ours, theirs = parameters(second), parameters(first)
    assert max(float((ours[name] - theirs[name]).abs().max()) for name in ours) < 1e-9  # the first step
    second_epoch = PPO(PPOConfig(**SAME, epochs=2, minibatch=64, normalize_advantages=normalised), first)
    second_epoch.update(first, batch)
    assert not same(ours, parameters(first))  # and it can fail


def test_one_update_is_one_step_on_all_episodes():
    model = actor()
    algorithm = A2C(Config(learning_rate=3e-3), model)
    steps = []
    algorithm.gradient.optimizer.register_step_post_hook(lambda *given: steps.append(1))
    _, logs = one_update(algorithm, model, 0, count=24)
    assert len(steps) == logs["gradient/steps"] == 1
    assert logs["policy/ratio"] == pytest.approx(1, abs=1e-5)


def test_rmsprop_is_that_of_stable_baselines3():
    # s = 0.01 g², step = lr g / (sqrt(s) + 1e-5) = lr g / (0.1 |g| + 1e-5)
    model = actor(dtype=torch.float64)
    algorithm = A2C(Config(learning_rate=1e-3, max_grad_norm=None), model)
    batch = algorithm.prepare(scored(algorithm, model))
    gradient = gradients(algorithm, model, batch)
    before = {name: p.detach().clone() for name, p in algorithm.parameters.items()}
    algorithm.update(model, batch)
    for name, g in gradient.items():
        expected = before[name] - 1e-3 * g / (0.1 * g.abs() + 1e-5)
        assert torch.allclose(algorithm.parameters[name], expected, atol=1e-12)


def test_the_preset_is_the_released_code():
    config = Config(**a2c.Config.presets["rl4lms"])
    assert (config.optimizer, config.lam, config.gamma) == ("rmsprop", 1.0, 0.99)
    assert (config.normalize_advantages, config.value_coefficient, config.max_grad_norm) == (False, 0.5, 0.5)
    assert (config.learning_rate, config.beta, config.kl_target, config.ratio) == (1e-6, 0.1, 0.5, "raw")
