"""CHAI: its conservative term in numbers, candidates that are drawn once, what it is drawn towards, and
acting by value.
"""

import math

import pytest
import torch

from helpers.algorithms import fork
from helpers.algorithms.letters import padded, parameters, same
from loquent.algorithms.imitation.cloning import Cloning
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.chai import LOGGED, Chai
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.choose.candidates import FeatureScore, features_of, running_mean
from loquent.models.decode.loop import decode
from loquent.models.decoding_settings import Decoding
from loquent.pretrained import hidden

KEY = Key(3)


def made(*, seed=0, cloned=False, **settings):
    model = fork.actor(seed, layers=1, width=64 if cloned else 16)
    model.decoding = model.evaluation = Decoding(max_new_tokens=2, top_k=2 if cloned else 0)
    if cloned:
        Cloning(Cloning.Config(epochs=100, minibatch=12, learning_rate=1e-2), model).update(
            model, fork.recorded(model)
        )
    settings = {"minibatch": 12, "learning_rate": 1e-2, "candidates": 3, **settings}
    algorithm = Chai(Chai.Config(**settings), model, key=KEY)
    return model, algorithm, algorithm.prepare(fork.recorded(model))


def set_heads(values, online, target):
    """Make the heads give these numbers whatever they read."""
    with torch.no_grad():
        for heads, number in ((values.q_heads, online), (values.target_heads, target)):
            for head in heads:
                head.outer.weight.zero_(), head.outer.bias.fill_(number)


def loss_of(algorithm, model, batch, whole=None):
    with torch.no_grad():
        return float(algorithm.loss(model, batch, batch if whole is None else whole)[0])


def test_the_conservative_term_by_hand():
    data, candidates, logprob = (
        torch.tensor([0.5]),
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[math.log(0.5), math.log(0.25)]]),
    )
    random, density = torch.tensor([[0.0, -1.0]]), -3 * math.log(2)  # uniform on (-1, 1)³: 1/8
    found = losses.candidates_cql_loss(data, candidates, logprob, random, density)
    whole = 2 * math.e + 4 * math.e**2 + 8 + 8 / math.e
    assert found.tolist() == [pytest.approx(math.log(whole / 4) - 0.5)]
    published = losses.candidates_cql_loss(data, candidates, logprob, random, -math.log(6), published=True)
    terms = (1 + math.log(2), 2 + math.log(4), math.log(6), -1 + math.log(6))
    assert published.tolist() == [pytest.approx(math.log(sum(math.exp(term / 4) for term in terms)) - 0.5)]


def test_equal_values_cost_what_the_densities_say():
    # Q = -2 everywhere: log-mean-exp(-2 - log density) + 2, whatever Q is; two heads
    for form, density, inside in (("density", -16 * math.log(2), 1), ("published", -math.log(32), 6)):
        model, algorithm, batch = made(cql_form=form)
        set_heads(model.values, -2.0, -2.0)
        logprob = algorithm.candidates.of([batch.tokens[0, :1].tolist()])[1][0]
        q = 0.0 if form == "density" else -2.0  # as published, Q is divided by 2K and does not cancel
        terms = [(q - one) / inside for one in [*logprob.tolist(), *[density] * 3]]
        mean = sum(map(math.exp, terms)) / (6 if form == "density" else 1)
        cost = 2 * (math.log(mean) - q)
        found = algorithm.loss(model, batch.take([0]), batch.take([0]))[1]["answers/cql_loss"]
        assert found.tolist() == [pytest.approx(cost, rel=1e-5)]


def test_the_loss_in_numbers_by_hand():
    # Q = -1, target Q = -2 of every candidate, gamma = 0.5. b: -1.5 and the end. a d: 0 then -3. a e: 0 then
    # 0.
    model, algorithm, batch = made(gamma=0.5, cql_weight=0.0)
    set_heads(model.values, -1.0, -2.0)
    total, logged = algorithm.loss(model, batch, batch)
    # of a the aim is 0 + 0.5 * -2, which Q is
    expected = [*6 * [2 * 0.5**2], *5 * [0.0, 2 * 2.0**2], 0.0, 2 * 1.0**2]
    assert logged["answers/q_loss"].tolist() == pytest.approx(expected)
    assert float(total.detach()) == pytest.approx(sum(expected) / 18)
    assert logged["answers/best_q"].tolist() == [-2.0] * 6


def test_it_is_drawn_towards_the_best_candidate_of_the_next_state():
    model, algorithm, batch = made(gamma=0.5, cql_weight=0.0, double_q=False)
    row = batch.take([11])  # a e
    where = [int(p) for p in row.is_action[0].nonzero().flatten()]
    state = row.tokens[0, : where[2]].tolist()
    values = model.values.target_q(algorithm.candidates.of([state])[0][0])
    assert algorithm.loss(model, row, row)[1]["answers/best_q"].tolist() == [
        pytest.approx(float(values.max()))
    ]
    assert float(values.max()) > float(values.min())
    means = running_mean(hidden(model.policy, row.tokens))
    q = model.values.q(means[0, where[1]])[0]
    assert algorithm.loss(model, row, row)[1]["answers/q_loss"].tolist()[0] == pytest.approx(
        float((0.5 * values.max() - q).detach()) ** 2, rel=1e-4
    )


def test_features_are_means_and_candidates_are_those_of_the_policy():
    model, algorithm, batch = made()
    state = batch.tokens[0, :1].tolist()
    features, logprob = algorithm.candidates.of([state])
    name = next(iter(algorithm.candidates._stored))
    keys = [KEY.child("candidates", name, i) for i in range(3)]
    drawn = decode(
        model.policy,
        [state] * 3,
        keys,
        model.decoding,
        end=model.format.end,
        pad=model.format.pad,
        vocabulary=model.format.vocabulary,
    )
    for i, answer in enumerate(drawn):
        row = torch.tensor([[*state, *answer.tokens.ids.tolist()]])
        assert torch.allclose(features[0, i], hidden(model.policy, row)[0].mean(0), atol=1e-5)
        assert float(logprob[0, i]) == pytest.approx(float(answer.tokens.drawn_logprob.sum()), rel=1e-5)
    short, long = [1, 5], [1, 5, 2, 6, 3]
    together = features_of(model.policy, [short, long], 0, 100)
    assert torch.allclose(together[0], hidden(model.policy, torch.tensor([short]))[0].mean(0), atol=1e-5)
    assert FeatureScore(model.policy, model.values, 0)([state] * 3, drawn) == pytest.approx(
        model.values.target_q(features[0]).tolist(), abs=1e-5
    )


def test_candidates_are_drawn_once_and_a_full_cache_draws_the_same_again():
    runs = []
    for megabytes in (100, 0):
        model, algorithm, batch = made(cache=megabytes, minibatch=5)
        before = parameters(model.policy)
        algorithm.update(model, batch)
        algorithm.update(model, batch)
        assert algorithm.after_update(model) == {"candidates/states": 2.0 if megabytes else 0.0}
        assert same(parameters(model.policy), before)
        runs.append(parameters(model.values))
    assert all(torch.allclose(runs[0][name], runs[1][name], atol=1e-4) for name in runs[0])


def test_a_state_without_room_counts_by_its_newest_ids():
    _, algorithm, batch = made()
    room = algorithm.candidates.room
    ids = [int(i) for i in torch.arange(room + 5) % 11]
    long, cut = algorithm.candidates.of([ids])[0], algorithm.candidates.of([ids[5:]])[0]
    assert torch.equal(long, cut)
    assert len(algorithm.candidates) == 1
    assert len(batch)


def test_a_batch_is_the_mean_of_its_rows_whatever_the_padding():
    model, algorithm, batch = made()
    whole, rows = loss_of(algorithm, model, batch), [batch.take([i]) for i in range(12)]
    assert sum(loss_of(algorithm, model, row, batch) for row in rows) == pytest.approx(whole, rel=1e-4)
    assert loss_of(algorithm, model, padded(batch, 20)) == pytest.approx(whole, rel=1e-4)
    assert loss_of(algorithm, model, rows[0]) != pytest.approx(whole, rel=1e-2)


def test_it_learns_what_its_features_can_tell_apart():
    """Features are means over whole rows: those of `a d` and `a e` differ by a 300th here, those of `b` and
    `a` by a 30th.
    """
    settings = {
        "candidates": 32,
        "epochs": 600,
        "learning_rate": 1e-2,
        "max_grad_norm": None,
        "target_rate": 0.1,
    }
    model, algorithm, batch = made(cloned=True, gamma=1.0, cql_weight=0.0, **settings)
    first, second = (algorithm.update(model, batch)["answers/q_loss"] for _ in range(2))
    assert second < first
    q = algorithm.loss(model, batch, batch)[1]["answers/q"].tolist()
    assert q[0] == pytest.approx(-1.5, abs=0.2)
    assert q[7] < q[17] < 0, "d below e"


def test_resumed_with_its_candidates_it_is_the_same_run_to_the_bit():
    model, algorithm, batch = made(minibatch=5)
    algorithm.update(model, batch)
    state, weights = (
        algorithm.state_dict(),
        {key: tensor.clone() for key, tensor in model.state_dict().items()},
    )
    assert state["candidates"]["features"].shape == (2, 3, 16)
    logs = algorithm.update(model, batch)
    again, other, _ = made(seed=1, minibatch=5)
    again.load_state_dict(weights)
    other.load_state_dict(state)
    assert len(other.candidates) == 2
    assert other.update(again, batch) == logs
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in model.state_dict().items())
    state["candidates"]["features"] += 1
    other.load_state_dict(state)
    assert other.update(again, batch) != logs, "it learns from what was kept"


def test_what_is_logged_is_finite_and_named():
    model, algorithm, batch = made()
    logs = algorithm.update(model, batch) | algorithm.after_update(model)
    assert set(logs) == set(LOGGED)
    assert all(math.isfinite(value) for value in logs.values())


def test_decoding_that_draws_none_is_refused_at_once():
    model = fork.actor(0, layers=1, width=16)
    model.decoding = Decoding(method="greedy", max_new_tokens=2)
    with pytest.raises(BadSetting, match=r"candidates = 5 with decoding.method = 'greedy'"):
        Chai(Chai.Config(), model, key=KEY)
    model.decoding, model.evaluation = Decoding(max_new_tokens=2), model.decoding
    with pytest.raises(BadSetting, match="the best of 5 answers with method = 'greedy'"):
        Chai(Chai.Config(), model, key=KEY)
    assert Chai(Chai.Config(best_of=1), model, key=KEY).agent(model, True).decoding.method == "greedy"
