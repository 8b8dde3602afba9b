"""ILQL in the game of `fork.py`: what its losses lead to, in tables and in a transformer, and what they must
not.
"""

from dataclasses import replace

import pytest
import torch

from helpers.algorithms import fork
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.ilql import ILQL
from loquent.core.seeding import Key
from loquent.models.decoding_settings import Decoding
from loquent.models.score.states import states_of
from loquent.models.tokens.batch import positions
from loquent.models.values.perturb import Perturbation

SEEDS = (0, 1, 2)
TABLE = {  # τ -> V(s1), Q(s0, a), V(s0), the first word of a greedy player
    0.5: (-2.475, -2.425747, -1.955374, "b"),
    0.7: (-2.025, -1.984702, -1.634911, "b"),
    0.8: (-1.65, -1.617165, -1.511433, "b"),
    0.9: (-1.060714, -1.039606, -1.084145, "a"),
    0.95: (-0.61875, -0.606437, -0.650365, "a"),
}


@pytest.mark.parametrize("tau", TABLE)
def test_the_closed_forms(tau):
    found = fork.closed(tau)
    assert [found[name] for name in ("V(s1)", "Q(s0,a)", "V(s0)")] == pytest.approx(TABLE[tau][:3], abs=1e-6)
    first = "a" if found["Q(s0,a)"] > found["Q(s0,b)"] else "b"
    assert first == TABLE[tau][3]


class Tables:
    """A value for every beginning of a game, and for every token after it: the library's losses without any
    network.
    """

    def __init__(self, batch, vocabulary, first=0.0):
        self.at = at = positions(batch)
        beginnings = [[tuple(row[: place + 1]) for place in range(len(row))] for row in batch.tokens.tolist()]
        number = {one: i for i, one in enumerate(sorted({one for row in beginnings for one in row}))}
        states = torch.tensor([[number[one] for one in row] for row in beginnings])
        self.state, self.following = (states.gather(1, place)[at.real] for place in (at.state, at.next))
        self.taken, self.reward = (
            column.gather(1, at.action)[at.real] for column in (batch.tokens, batch.reward)
        )
        self.v = torch.zeros(len(number), requires_grad=True)
        self.q = torch.full((len(number), vocabulary), first, requires_grad=True)

    def learn(self, tau, steps=1500, cql=0.0):
        optimizer, target = torch.optim.Adam([self.v, self.q], lr=0.05), self.q.detach().clone()
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / steps)
            aim = losses.bellman_target(
                self.reward,
                self.v[self.following],
                self.at.alive[self.at.real],
                torch.full_like(self.reward, fork.GAMMA),
            )
            wide, followed = self.q[self.state], losses.of(target[self.state], self.taken)
            loss = losses.q_loss((losses.of(wide, self.taken),), aim) + losses.expectile_loss(
                followed, self.v[self.state], tau
            )
            loss = loss + cql * losses.cql_loss(wide, self.taken)
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
            target.lerp_(self.q.detach(), 0.1)
        return self

    def named(self, ids):
        """The table's own entries by the names of the closed forms.

        The first row began with b, the last with a e.
        """
        start, later = self.state[0], self.state[-2]
        q = {f"Q(s0,{word})": self.q[start, ids[word]] for word in "abz"} | {
            f"Q(s1,{word})": self.q[later, ids[word]] for word in "dez"
        }
        return {
            name: float(value.detach())
            for name, value in {"V(s0)": self.v[start], "V(s1)": self.v[later], **q}.items()
        }


@pytest.fixture(scope="module")
def game():
    model = fork.actor()
    ids = {word: model.language.tokenizer.convert_tokens_to_ids(word) for word in fork.WORDS}
    return fork.recorded(model), ids, model.language.vocabulary


@pytest.mark.parametrize("tau", TABLE)
def test_tables_meet_the_closed_forms(tau, game):
    batch, ids, vocabulary = game
    found = Tables(batch, vocabulary).learn(tau).named(ids)
    assert {name: found[name] for name in fork.closed(tau)} == pytest.approx(fork.closed(tau), abs=1e-2)


def test_a_table_of_another_expectile_does_not(game):
    batch, ids, vocabulary = game
    found = Tables(batch, vocabulary).learn(0.7).named(ids)
    assert {name: found[name] for name in fork.closed(0.8)} != pytest.approx(fork.closed(0.8), abs=1e-1)


def test_a_word_that_was_never_said_is_never_asked_for(game):
    """Its value, +10 at first, reaches no V; the conservative term alone pulls it below what was said."""
    batch, ids, vocabulary = game
    tables = Tables(batch, vocabulary)
    with torch.no_grad():
        tables.q[:, ids["z"]] = 10.0
    free, usual = tables.learn(0.9).named(ids), Tables(batch, vocabulary).learn(0.9).named(ids)
    assert free["Q(s0,z)"] == 10.0
    assert (free["V(s0)"], free["V(s1)"]) == (usual["V(s0)"], usual["V(s1)"])
    held = Tables(batch, vocabulary)
    with torch.no_grad():
        held.q[:, ids["z"]] = 10.0
    kept, without = (
        held.learn(0.9, cql=0.01).named(ids),
        Tables(batch, vocabulary).learn(0.9, cql=0.01).named(ids),
    )
    assert kept["Q(s0,z)"] < min(kept["Q(s0,a)"], kept["Q(s0,b)"])
    assert kept["Q(s1,z)"] < min(kept["Q(s1,d)"], kept["Q(s1,e)"])
    assert kept["Q(s0,a)"] > kept["Q(s0,b)"]
    assert [kept["V(s0)"], kept["V(s1)"]] == pytest.approx([without["V(s0)"], without["V(s1)"]], abs=2e-2)


def test_the_expectile_of_what_was_seen_tends_to_its_best_and_never_above():
    seen, found = torch.tensor([-2.97] * 5 + [0.0]), []
    for tau in (0.5, 0.7, 0.9, 0.99, 0.9999):
        v = torch.zeros((), requires_grad=True)
        optimizer = torch.optim.LBFGS([v], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

        def loss(v=v, tau=tau, optimizer=optimizer):
            optimizer.zero_grad()
            value = losses.expectile_loss(seen, v.expand(6), tau).sum()
            value.backward()
            return value

        optimizer.step(loss)
        found.append(float(v.detach()))
        assert found[-1] == pytest.approx(-2.97 * 5 * (1 - tau) / (5 - 4 * tau), abs=1e-3)
    assert found == sorted(found)
    assert -0.01 < found[-1] <= 0.0


def learned(tau, seed):
    """A two-layer transformer after 650 gradient steps on the twelve recorded games.

    A value is known once those after it are, so steps become small only when all have arrived, and then there
    are enough of them for the targets, which follow by a tenth of the way, to pass what the last large steps
    left along the whole game.
    """
    model = fork.actor(seed)
    # words that were never said keep the value they begin with: the lowest there is, so that acting by values
    # does not choose them
    config = ILQL.Config(
        tau=tau, cql_weight=0.0, initial_value=-3.0, learning_rate=1e-3, target_rate=0.1, minibatch=12
    )
    algorithm = ILQL(config, model, key=Key(seed))
    batch = algorithm.prepare(fork.recorded(model))
    for rate, steps in ((1e-3, 350), (3e-4, 150), (1e-4, 150)):
        algorithm.config = algorithm.gradient.settings = replace(config, epochs=steps, learning_rate=rate)
        algorithm.update(model, batch)
    return model


def values_of(model):
    """The network's values by the names of the closed forms: of the first row, a `b`, and of the last,
    `a e`.
    """
    ids = {word: model.language.tokenizer.convert_tokens_to_ids(word) for word in fork.WORDS}
    seen = states_of(model, fork.recorded(model).take([0, 11]))
    start, later = seen.state[0], seen.state[-2]
    with torch.no_grad():
        v, q = model.values.v(seen.online), model.values.target_q(seen.target)
    found = {
        "V(s0)": v[start],
        "V(s1)": v[later],
        "Q(s0,a)": q[start, ids["a"]],
        "Q(s0,b)": q[start, ids["b"]],
    }
    found |= {"Q(s1,d)": q[later, ids["d"]], "Q(s1,e)": q[later, ids["e"]]}
    return {name: float(value) for name, value in found.items()}


@pytest.mark.sweep("0.9-0.0-2")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("tau", "expected"), [(0.9, 0.0), (0.5, -1.5)])
def test_a_transformer_finds_the_way_that_one_step_does_not(tau, expected, seed):
    model = learned(tau, seed)
    assert values_of(model) == pytest.approx(fork.closed(tau), abs=0.15)
    assert fork.greedy_return(fork.Greedy(model, beta=4.0)) == expected
    how = {
        "decoding": Decoding(method="greedy", max_new_tokens=4),
        "perturbation": Perturbation(model.values, adv_beta=4.0),
    }
    assert fork.greedy_return(LanguageModelAgent(model.policy, model.format, **how)) == expected, (
        "the library's own way of acting"
    )
    assert fork.greedy_return(fork.Greedy(model, beta=0.0)) < expected or tau == 0.5, (
        "the policy alone, a clone, does not"
    )
