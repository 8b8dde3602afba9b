"""Learners drop units by masks of their own key in our forward pass, never by torch's layers."""

import pytest
import torch

from helpers.algorithms import fork
from helpers.library_dropout import LibraryDropout
from loquent.algorithms.imitation.supervised import Supervised
from loquent.algorithms.value_learning.ilql import ILQL
from loquent.core.seeding import Key
from loquent.models.score.states import states_of
from loquent.pretrained import dropping, hidden
from loquent.pretrained.forward import dropout, gpt2

KEY = Key(3)
LEARNERS = {
    "supervised": (Supervised, {}, 1),
    "ilql, separate": (ILQL, {}, 2),
    "ilql, shared": (ILQL, {"backbones": "shared"}, 1),
    "ilql, frozen": (ILQL, {"backbones": "frozen", "awac_weight": 0.0}, 0),
}


def made(name):
    kind, settings, passes = LEARNERS[name]
    model = fork.actor(layers=1, width=16, dropout=0.5)
    algorithm = kind(kind.Config(minibatch=12, **settings), model, key=KEY)
    return model, algorithm, algorithm.prepare(fork.recorded(model)), passes


@pytest.mark.parametrize("name", LEARNERS)
def test_an_update_draws_the_masks_of_each_network_that_learns(name, monkeypatch):
    """Four for each pass of one layer with dropout; target networks draw none."""
    model, algorithm, batch, passes = made(name)
    drawn, own = [], dropout.dropout_mask
    monkeypatch.setattr(dropout, "dropout_mask", lambda *given: drawn.append(given) or own(*given))
    with LibraryDropout() as library:
        algorithm.update(model, batch)
    assert len(drawn) == 4 * passes
    assert not library.count


def test_the_count_of_torchs_dropout_can_fail():
    model = fork.actor(layers=1, width=16, dropout=0.5)
    model.policy.train()
    assert not gpt2.serves(model.policy.base_model)
    with LibraryDropout() as library:
        hidden(model.policy, torch.tensor([[1, 2, 3]]))
    assert library.count == 4


@pytest.mark.parametrize("name", [name for name in LEARNERS if name.startswith("ilql")])
def test_keyed_dropout_leaves_targets_alone(name):
    model, algorithm, batch, _ = made(name)
    without = states_of(model, batch, cache=algorithm.cache)
    for network in algorithm.gradient.modules:
        network.train()
    with dropping(KEY):
        learning = states_of(model, batch, cache=algorithm.cache)
    assert torch.allclose(learning.target, without.target, atol=1e-5)
    assert torch.allclose(learning.online, without.online) == (name == "ilql, frozen")
