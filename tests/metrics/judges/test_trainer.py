"""The trainer of judges: its steps by hand, early stopping, and a state that continues to the bit."""

import numpy as np
import pytest
import torch
from torch import nn

from loquent.core.seeding import Key, borrow_generators
from loquent.metrics.judges.encoders import Classified
from loquent.metrics.judges.trainer import Lessons, Trainer, TrainerSettings

X = torch.arange(10.0)[:, None]


def start(held_out=None, **settings):
    """A trainer of y = w x for y = 2 x, with dropout, on ten examples."""
    with borrow_generators(Key(1)):
        module = nn.Sequential(nn.Dropout(0.2), nn.Linear(1, 1, bias=False)).eval()
    losses = iter(held_out or [])

    def measure():
        with torch.no_grad():
            return {"loss": next(losses) if held_out else float((module(X) - 2 * X).square().mean())}

    lessons = Lessons(10, lambda numbers: (module(X[numbers]) - 2 * X[numbers]).square()[:, 0], measure)
    chosen = TrainerSettings(minibatch=4, learning_rate=0.01, optimizer="sgd", max_grad_norm=None, **settings)
    return Trainer(module, lessons, chosen, Key(7))


def test_a_step_is_the_mean_gradient_of_its_minibatch_in_the_keyed_order():
    trainer = start(epochs=2)
    trainer.module[0].p = 0.0
    w = float(trainer.module[1].weight.detach())
    for step in trainer.steps():
        epoch, place = divmod(step - 1, 3)  # minibatches of 4, 4 and 2
        order = Key(7).child("order", epoch).generator().permutation(10)[4 * place : 4 * place + 4]
        w -= 0.01 * float(np.mean([2 * (w * x - 2 * x) * x for x in order]))
        assert float(trainer.module[1].weight.detach()) == pytest.approx(w, rel=1e-4)
    assert [entry["epoch"] for entry in trainer.history] == [1, 2]
    assert step == trainer.count == 6


def test_without_patience_all_epochs_are_made_and_the_last_weights_are_kept():
    assert len(start([3.0, 1.0, 2.0, 4.0], epochs=4).run()) == 4


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 6)])
def test_training_stops_without_a_lower_held_out_loss_and_keeps_the_best_weights(patience, epochs):
    trainer, weights = start([3.0, 2.0, 2.5, 1.0, 1.0, 4.0, 0.5], epochs=7, patience=patience), {}
    for step in trainer.steps():
        if step % 3 == 0:
            weights[step // 3] = float(trainer.module[1].weight.detach())
    assert [entry["held_out_loss"] for entry in trainer.history] == [3.0, 2.0, 2.5, 1.0, 1.0, 4.0][:epochs]
    best = 2 if patience == 1 else 4  # the first of two equal ones
    assert float(trainer.module[1].weight.detach()) == weights[best] != weights[epochs]


@pytest.mark.parametrize("stop", [2, 3, 7, 20])
def test_a_state_continues_to_the_bit(stop):
    whole = start(epochs=7, patience=2)
    whole.run()
    trainer = start(epochs=7, patience=2)
    for step in trainer.steps():
        if step == stop:
            break
    state = trainer.state_dict()
    state = state | {"weights": {name: value.clone() for name, value in state["weights"].items()}}
    resumed = start(epochs=7, patience=2)
    resumed.load_state_dict(state)
    resumed.run()
    assert resumed.history == whole.history
    assert torch.equal(resumed.module[1].weight, whole.module[1].weight)


def test_a_value_that_no_training_text_has_is_no_class():
    found = Classified.of(["a", "b", "c", "d"], np.array([0, 1, 2, 3]), np.array([0, 2]))
    assert found.classes.tolist() == [0, -1, 1, -1]
