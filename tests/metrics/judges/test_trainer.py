"""The trainer of judges: its steps by hand, early stopping, and a state that continues to the bit."""

import numpy as np
import pytest
import torch
from torch import nn

from loquent.core.seeding import Key, borrow_generators
from loquent.metrics.judges.encoders import Classified
from loquent.metrics.judges.layers import Examples, LayersSettings, Network, train
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


def test_layers_learn_classes_and_values():
    points = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 8, np.float32)
    one_of_both = (points.sum(1) == 1).astype(np.int64)
    settings = LayersSettings(hidden=16, epochs=150, minibatch=8, learning_rate=0.02)
    unknown = Examples(points[:2], np.array([0, -1]))
    network, history = train(Examples(points, one_of_both), unknown, 2, settings, Key(0))
    assert (network(points).argmax(1) == one_of_both).all()
    logits = network(points[:1])[0].astype(float)
    assert history[-1]["held_out_loss"] == pytest.approx(np.log(np.exp(logits).sum()) - logits[0], abs=1e-6)
    values = np.stack([points[:, 0] - points[:, 1], points[:, 0] * 2], 1)
    network, history = train(Examples(points, values), Examples(points, values), 2, settings, Key(0))
    assert np.abs(network(points) - values).max() < 0.05
    assert history[-1]["held_out_loss"] == pytest.approx(((network(points) - values) ** 2).mean(), abs=1e-6)


def test_a_network_is_that_of_torch():
    rng = np.random.default_rng(0)
    weights = tuple(rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 2)))
    biases = tuple(rng.standard_normal(n).astype(np.float32) for n in (4, 2))
    inputs = rng.standard_normal((5, 3)).astype(np.float32)
    hidden = torch.relu(torch.from_numpy(inputs @ weights[0] + biases[0]))
    expected = hidden @ torch.from_numpy(weights[1]) + torch.from_numpy(biases[1])
    np.testing.assert_allclose(Network(weights, biases)(inputs), expected, rtol=1e-5)


def test_a_value_that_no_training_text_has_is_no_class():
    found = Classified.of(["a", "b", "c", "d"], np.array([0, 1, 2, 3]), np.array([0, 2]))
    assert found.classes.tolist() == [0, -1, 1, -1]
