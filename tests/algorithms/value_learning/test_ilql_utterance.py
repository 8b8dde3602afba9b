"""ILQL per utterance: hand-made numbers, the game of two words, and the best answer by its value."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.algorithms import fork
from helpers.algorithms.letters import padded
from loquent.algorithms.value_learning.ilql_utterance import LOGGED, UtteranceILQL
from loquent.core.episode import Tokens
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.choose.answers import AnswerScore
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Drawn
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.utterances import utterances
from loquent.pretrained import hidden

KEY = Key(3)


def made(*, model=None, seed=0, **settings):
    """An actor, a learner over it, and the recorded games, prepared."""
    model = fork.actor(seed, layers=1, width=16) if model is None else model
    settings = {"minibatch": 12, "learning_rate": 1e-2, **settings}
    algorithm = UtteranceILQL(UtteranceILQL.Config(**settings), model, key=KEY)
    return model, algorithm, algorithm.prepare(fork.recorded(model))


def loss_of(algorithm, model, batch, whole=None):
    with torch.no_grad():
        return float(algorithm.loss(model, batch, batch if whole is None else whole)[0])


def set_heads(values, q, v):
    """Make the heads give these numbers whatever they read."""
    with torch.no_grad():
        for heads, number in ((values.q_heads, q), (values.target_heads, q), ([values.v_head], v)):
            for head in heads:
                head.outer.weight.zero_(), head.outer.bias.fill_(number)


def test_the_loss_in_numbers_by_hand():
    # Q = -1, V = -0.5 everywhere, gamma = 0.5, tau = 0.9; b: -1.5 and the end. a d: 0 then -3. a e: 0 then 0.
    model, algorithm, batch = made(gamma=0.5, tau=0.9, awac_weight=0.0)
    set_heads(model.values, -1.0, -0.5)
    total, logged = algorithm.loss(model, batch, batch)
    # b; a (aim 0 + 0.5 * -0.5 = -0.25); d; e
    q = [6 * 2 * 0.5**2, 6 * 2 * 0.75**2, 5 * 2 * 2.0**2, 1 * 2 * 1.0**2]
    v = 18 * 0.1 * 0.5**2  # T = -1 lies below V = -0.5 in all 18 answers
    assert float(logged["answers/q_loss"].detach().sum()) == pytest.approx(sum(q))
    assert float(total.detach()) == pytest.approx((sum(q) + v) / 18)
    assert logged["answers/advantage"].tolist() == [-0.5] * 18


def test_fractional_rewards_are_kept_and_a_cut_game_goes_on():
    model, algorithm, batch = made(gamma=0.5, awac_weight=0.0, double_q=False)
    set_heads(model.values, 0.0, -2.0)
    batch = replace(batch, reward=torch.where(batch.reward != 0, 0.25, 0.0))
    cut = replace(batch, ended=torch.zeros(12, dtype=torch.bool)).take([0])
    assert algorithm.loss(model, batch.take([0]), batch.take([0]))[1][
        "answers/q_loss"
    ].tolist() == pytest.approx([0.25**2])
    assert algorithm.loss(model, cut, cut)[1]["answers/q_loss"].tolist() == pytest.approx(
        [(0.25 - 0.5 * 2) ** 2]
    )


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora", "frozen"])
def test_values_are_read_where_an_answer_begins_and_has_ended(backbones):
    still = {"awac_weight": 0.0} if backbones in ("lora", "frozen") else {}
    model, algorithm, batch = made(backbones=backbones, **still)
    values, heard = model.values, algorithm.loss_inputs(model, batch)
    own = hidden(model.policy, batch.tokens).detach()
    online, target = (
        own if part is None else hidden(part, batch.tokens).detach()
        for part in (values.value_trunk, values.target_trunk)
    )
    where = [(b, begins, ends) for b in range(12) for begins, ends in spans(batch, b)]
    assert heard.v.tolist() == pytest.approx(
        [values.v(online[b, begins]).item() for b, begins, _ in where], abs=1e-5
    )
    assert heard.q[1].tolist() == pytest.approx(
        [values.q(online[b, ends])[1].item() for b, _, ends in where], abs=1e-5
    )
    assert heard.target_q.tolist() == pytest.approx(
        [values.target_q(target[b, ends]).item() for b, _, ends in where], abs=1e-5
    )
    assert all(int(batch.tokens[b, ends]) in model.format.end for b, _, ends in where)


def spans(batch, b):
    """From the tokens alone: the position before each answer and that of its last token."""
    actions = batch.is_action[b].nonzero().flatten().tolist()
    begins = [p - 1 for p in actions if p - 1 not in actions or batch.turn[b, p] != batch.turn[b, p - 1]]
    ends = [p for p in actions if p + 1 not in actions or batch.turn[b, p] != batch.turn[b, p + 1]]
    return list(zip(begins, ends, strict=True))


def test_all_tokens_of_an_answer_have_its_weight():
    model, algorithm, batch = made(awac_beta=2.0)
    heard = algorithm.loss_inputs(model, batch)
    weight = algorithm.weights(batch, heard)
    # every answer is a word and its end
    expected = (2.0 * (heard.target_q - heard.v)).exp().repeat_interleave(2)
    assert torch.allclose(weight, expected.detach())
    q, v = (
        algorithm.loss(model, batch, batch)[1][f"answers/{name}"].sum() / 18 for name in ("q_loss", "v_loss")
    )
    said = -(weight * action_scores(model.policy, batch, support=False).policy).sum() / 36
    assert loss_of(algorithm, model, batch) == pytest.approx(float((q + v + said).detach()), rel=1e-5)


def test_a_batch_is_the_mean_of_its_rows_whatever_the_padding():
    model, algorithm, batch = made(awac_beta=1.0, transition_weight=0.5, normaliser="tokens")
    whole, rows = loss_of(algorithm, model, batch), [batch.take([i]) for i in range(12)]
    assert sum(loss_of(algorithm, model, row, batch) for row in rows) == pytest.approx(whole, rel=1e-5)
    assert loss_of(algorithm, model, padded(batch, 20)) == pytest.approx(whole, rel=1e-5)
    assert loss_of(algorithm, model, rows[0]) != pytest.approx(whole, rel=1e-2)


def test_it_meets_the_closed_forms_of_the_game():
    """With a discount per answer of 0.99² an answer of two tokens is what two tokens are to ILQL, but for the
    last reward's own step.
    """
    model, algorithm, batch = made(gamma=0.99**2, tau=0.9, target_rate=0.1, learning_rate=3e-3, epochs=10)
    for _ in range(60):
        algorithm.update(model, batch)
    with torch.no_grad():
        heard = algorithm.loss_inputs(model, batch)
    q = torch.stack(heard.q).mean(0).tolist()
    low = -3 * 5 * 0.1 / (5 - 4 * 0.9)  # V(s1), the expectile of five times -3 and once 0
    assert q[0] == pytest.approx(-1.5, abs=0.1)
    assert q[6] == pytest.approx(0.99**2 * low, abs=0.15)
    assert q[7] == pytest.approx(-3.0, abs=0.1)
    assert q[17] == pytest.approx(0.0, abs=0.1)
    assert heard.v[7].item() == pytest.approx(low, abs=0.15)
    model.evaluation = Decoding(max_new_tokens=2, top_k=2)
    algorithm.config = replace(algorithm.config, best_of=32)
    assert fork.greedy_return(algorithm.agent(model, True)) == 0.0, "a before b, e before d"
    algorithm.config = replace(algorithm.config, best_of=1)
    assert fork.greedy_return(algorithm.agent(model, True)) < 0.0, "the policy itself does not"


def test_the_score_is_target_q_after_the_answer_and_the_weighted_log_probability():
    model, _, batch = made()
    prompt, answers = batch.tokens[6, :1].tolist(), [[5, 2], [6]]
    drawn = [
        Drawn(Tokens(np.array(ids), np.full(len(ids), -0.5), np.zeros(len(ids)), None), "end")
        for ids in answers
    ]
    found = AnswerScore(model.policy, model.values, model.format.pad, 2.0)([prompt, prompt], drawn)
    for ids, score in zip(answers, found, strict=True):
        states = hidden(model.values.target_trunk, torch.tensor([[*prompt, *ids]]))[0, -1]
        assert score == pytest.approx(float(model.values.target_q(states)) - len(ids), abs=1e-5)


def test_what_is_logged_is_finite_and_named():
    model, algorithm, batch = made()
    logs = algorithm.update(model, batch)
    assert set(logs) == set(LOGGED)
    assert all(math.isfinite(value) for value in logs.values())


def test_several_answers_from_decoding_that_draws_none_are_refused_at_once():
    model = fork.actor(0, layers=1, width=16)
    model.evaluation = Decoding(method="greedy", max_new_tokens=2)
    with pytest.raises(BadSetting, match="the best of 4 answers with method = 'greedy'"):
        made(model=model)
    assert made(model=model, best_of=1)[1].agent(model, True).decoding.method == "greedy"


def test_each_action_token_knows_its_answer():
    assert utterances(made()[2]).of.tolist()[6] == [0, 0, 1, 1]
