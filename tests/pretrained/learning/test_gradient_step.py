"""The gradient step by hand: its divisor, passes, schedule, veto and state."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from loquent.algorithms.imitation.supervised import Config as Supervised
from loquent.algorithms.policy_gradient.trpo import Config as TRPO
from loquent.core.algorithm import StepSettings, step_size
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means, trainable


@dataclass
class Rows:
    """Numbers that a weight is multiplied by."""

    x: torch.Tensor

    def __len__(self):
        return len(self.x)

    def take(self, rows):
        return Rows(self.x[rows])


ROWS = Rows(torch.tensor([1.0, 2.0, 5.0, 8.0]))


def weight(**settings):
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, 1.0)
    made = StepSettings(**{"optimizer": "sgd", "learning_rate": 0.25, "max_grad_norm": None, **settings})
    return module, GradientStep(trainable(policy=module), made, Key(0))


def learn(module, step, means=None, rows=ROWS, size=4, **more):
    def loss(part):
        product = module.weight[0, 0] * part.x
        return Loss(product.sum(), {"policy/loss": product})

    passes = lambda own: (own.take(slice(i, i + size)) for i in range(0, len(own), size))  # noqa: E731
    return step.learn(rows, loss, means or Means(), passes=passes, **{"divisor": 4.0, **more})


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_step_by_hand_does_not_depend_on_the_size_of_a_pass(size):
    # the gradient is (1 + 2 + 5 + 8) / 4 = 4, so the weight is 1 - 0.25 * 4 = 0
    module, step = weight()
    means = Means()
    assert learn(module, step, means, size=size) == 4.0
    assert module.weight.item() == 0.0
    assert step.steps == 1
    assert means.log_values() == {"policy/loss": 4.0}


def test_a_clipped_step_by_hand():
    # the norm 4 is cut to 2, so the weight is 1 - 0.25 * 2 = 0.5; clipping adds 1e-6 to the norm
    module, step = weight(max_grad_norm=2.0)
    assert learn(module, step) == 4.0
    assert module.weight.item() == pytest.approx(0.5, abs=1e-6)


def test_a_vetoed_step_changes_and_logs_nothing():
    module, step = weight()
    means = Means()
    assert (
        learn(module, step, means, veto=lambda logged: float(logged[0]["policy/loss"].sum()) == 16.0) is None
    )
    assert (module.weight.item(), step.steps, means.log_values()) == (1.0, 0, {})


def test_a_gradient_that_is_not_finite_changes_nothing():
    module, step = weight()
    with pytest.raises(LoquentError, match="norm of the gradient is inf"):
        learn(module, step, rows=Rows(torch.tensor([float("inf")])))
    assert (module.weight.item(), step.steps) == (1.0, 0)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.8125, 0.625, 0.4375, 0.25]),  # from 1 to 1/4 in four steps
    ],
)
def test_a_schedule_counts_gradient_steps(schedule, rates):
    module, step = weight(learning_rate=1.0, schedule=schedule, warmup=2, total_steps=6, floor=0.25)
    taken = []
    for _ in rates:
        before = module.weight.item()
        learn(module, step)
        taken.append((before - module.weight.item()) / 4.0)
        assert step.rate == taken[-1]
    assert taken == rates


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_a_warm_up_can_be_a_share_of_the_run(schedule):
    share = Supervised(schedule=schedule, learning_rate=1.0, warmup=0.25, minibatch=8)
    steps = replace(share, warmup=3, total_steps=12)
    whole = share.for_run(updates=4, episodes=20)
    assert [step_size(i, whole) for i in range(14)] == [step_size(i, steps) for i in range(14)]
    assert [step_size(i, whole) for i in range(3)] == [1 / 3, 2 / 3, 1.0]
    assert "warmup = 0.25 with total_steps = 0" in share.spread_over_run()
    with pytest.raises(BadSetting, match="outside a run"):
        step_size(0, share)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_schedule_without_an_end_spans_the_run(schedule):
    """transformers.Trainer: the rate falls until the last of epochs x steps, and is above 0 there."""
    open_end = Supervised(schedule=schedule, learning_rate=1.0, epochs=2, minibatch=8)
    whole = open_end.for_run(updates=6, episodes=20)
    assert whole.total_steps == 6 * 2 * 3
    assert 0 < step_size(35, whole) < step_size(34, whole)
    assert step_size(36, whole) == 0
    assert open_end.for_run(7, 20).total_steps == 42
    assert "total_steps = 0" in open_end.spread_over_run()
    assert whole.spread_over_run() == ""
    assert replace(open_end, warmup=50).for_run(6, 20).total_steps == 51, "a warm-up longer than the run"
    with pytest.raises(BadSetting, match="outside a run"):
        step_size(0, open_end)
    fixed = replace(open_end, total_steps=9)
    assert fixed.for_run(6, 20) is fixed
    assert (
        TRPO(schedule=schedule, critic_epochs=4, critic_minibatch=5).for_run(3, 11).total_steps == 3 * 4 * 3
    )


IDLE = [  # an update has 3 gradient steps, the run 12
    ({"total_steps": 9}, "0 after update 3 of 4"),
    ({"total_steps": 2}, "0 after update 1 of 4"),
    ({"total_steps": 10}, ""),
    ({"total_steps": 0}, ""),
    ({"total_steps": 9, "floor": 0.1}, ""),
    ({"total_steps": 9, "schedule": "constant"}, ""),
    ({"learning_rate": 0.0}, "learning_rate = 0: no update"),
]


@pytest.mark.parametrize(("settings", "says"), IDLE)
def test_updates_that_change_nothing_are_named(settings, says):
    config = Supervised(**{"schedule": "cosine", "learning_rate": 1.0, "minibatch": 8} | settings)
    reason = config.idle(updates=4, episodes=20)
    assert says in reason if says else reason == ""


def test_its_state_goes_on_to_the_bit_and_an_odd_one_is_refused():
    settings = {"optimizer": "adamw", "schedule": "cosine", "total_steps": 5}
    module, step = weight(**settings)
    for _ in range(2):
        learn(module, step)
    other, again = weight(**settings)
    other.load_state_dict(module.state_dict())
    again.load_state_dict(step.state_dict())
    for _ in range(2):
        assert learn(module, step) == learn(other, again)
    assert torch.equal(module.weight, other.weight)
    assert again.rate == step.rate
    with pytest.raises(BadCheckpoint):
        again.load_state_dict({**step.state_dict(), "steps": -1})


def test_networks_are_in_training_mode_in_a_step_only_and_drop_by_the_step_s_key():
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 1, bias=False)).eval()
    settings = StepSettings(optimizer="sgd", learning_rate=0.0)
    seen = []

    def loss(part):
        seen.append((module.training, module[0](part.x)))
        return Loss(module(part.x).sum(), {})

    def run(key):
        step = GradientStep(trainable(policy=module), settings, key, (module,))
        for _ in range(2):
            step.learn(Rows(torch.ones(2, 64)), loss, Means(), passes=lambda own: [own])
        return [dropped for _, dropped in seen[-2:]]

    before = torch.get_rng_state()
    first, second = run(Key(0)), run(Key(0))
    assert all(training for training, _ in seen)
    assert not module.training
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first[0], first[1])
