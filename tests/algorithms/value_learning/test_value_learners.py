"""The learners of values per token, as they learn: whose gradient goes where, what a batch's shape may
change, what they act by.
"""

import math
import warnings
from dataclasses import replace

import pytest
import torch

from helpers.algorithms import fork
from helpers.algorithms.letters import padded, parameters, same
from loquent.algorithms.imitation.cloning import Cloning
from loquent.algorithms.imitation.filtered_cloning import FilteredCloning
from loquent.algorithms.value_learning import value_learner
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.cql import CQL
from loquent.algorithms.value_learning.ilql import ILQL
from loquent.algorithms.value_learning.monte_carlo import MonteCarlo
from loquent.algorithms.value_learning.psi import Psi
from loquent.core import registry
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadSetting, LoquentError
from loquent.models.score.states import states_of
from loquent.models.score.tokens import action_scores, weighted_nll
from loquent.models.tokens.batch import positions
from loquent.models.values.networks import TokenValues
from loquent.pretrained import hidden

KEY = Key(3)
VALUE_LEARNERS = {"ilql": ILQL, "monte_carlo": MonteCarlo, "cql": CQL, "psi": Psi}
STILL = {"frozen": {"awac_weight": 0.0}, "lora": {"awac_weight": 0.0}}


def made(kind=ILQL, *, model=None, seed=0, **settings):
    """An actor, a learner over it, and the recorded games, prepared."""
    model = fork.actor(seed, layers=1, width=16) if model is None else model
    settings = {"minibatch": 12, "learning_rate": 1e-2, **settings}
    algorithm = kind(kind.Config(**settings), model, key=KEY)
    return model, algorithm, algorithm.prepare(fork.recorded(model))


def gradients_of(algorithm, model, batch):
    """The gradient of one whole minibatch by parameter name; parameters without one are left out."""
    for parameter in algorithm.parameters.values():
        parameter.grad = None
    total, _ = algorithm.loss(model, batch, batch)
    total.backward()
    return {
        name: p.grad.clone()
        for name, p in algorithm.parameters.items()
        if p.grad is not None and p.grad.abs().sum() > 0
    }


def loss_of(algorithm, model, batch, whole=None):
    with torch.no_grad():
        return float(algorithm.loss(model, batch, batch if whole is None else whole)[0])


# ---- the whole loss, from its parts


def test_the_loss_is_that_of_its_parts_by_hand():
    model, algorithm, batch = made(
        cql_weight=0.5, margin_weight=0.25, margin=0.1, awac_weight=2.0, awac_beta=1.5, tau=0.8
    )
    seen, at = states_of(model, batch, policy=True), positions(batch)
    taken, reward = batch.tokens.gather(1, at.action)[at.real], batch.reward.gather(1, at.action)[at.real]
    with torch.no_grad():
        v, heads = model.values.v(seen.online), model.values.q(seen.online[seen.state])
        t = losses.of(model.values.target_q(seen.target)[seen.state], taken)
        aim = reward + torch.where(at.alive[at.real], 0.99 * v[seen.following], 0.0)
        value, q = v[seen.state], [losses.of(head, taken) for head in heads]
        parts = (
            sum((aim - one).square() for one in q) + torch.where(t >= value, 0.8, 0.2) * (t - value).square()
        )
        parts = parts + 0.5 * sum(
            torch.nn.functional.cross_entropy(head, taken, reduction="none") for head in heads
        )
        parts = parts + 0.25 * sum(
            (head - one[:, None] + 0.1).clamp_min(0).square().sum(1) for head, one in zip(heads, q)
        )
        logprob = action_scores(model.policy, batch, support=False).policy
        parts = parts - 2.0 * (1.5 * (t - value)).exp() * logprob
    assert loss_of(algorithm, model, batch) == pytest.approx(float(parts.sum() / at.real.sum()), rel=1e-5)


@pytest.mark.parametrize("kind", VALUE_LEARNERS.values())
@pytest.mark.parametrize("normaliser", ["actions", "tokens"])
def test_a_batch_is_the_mean_of_its_rows_whatever_the_padding(kind, normaliser):
    more = {"normaliser": normaliser, "transition_weight": 0.3} if hasattr(kind.Config, "normaliser") else {}
    if normaliser == "tokens" and not more:
        pytest.skip("it has no policy's loss")
    model, algorithm, batch = made(kind, cql_weight=0.5, margin_weight=0.25, **more)
    batch = replace(batch, ended=batch.ended & (torch.arange(12) != 5))  # one game was cut
    whole, rows = loss_of(algorithm, model, batch), [batch.take([i]) for i in range(12)]
    assert sum(loss_of(algorithm, model, row, batch) for row in rows) == pytest.approx(whole, rel=1e-5)
    if not more:  # the policy's loss has another divisor than the values'
        counts = [int(row.is_action.sum()) for row in rows]
        assert sum(n * loss_of(algorithm, model, row) for n, row in zip(counts, rows)) / sum(
            counts
        ) == pytest.approx(whole, rel=1e-5)
    assert loss_of(algorithm, model, padded(batch, 100)) == pytest.approx(whole, rel=1e-6)
    assert loss_of(algorithm, model, rows[0]) != pytest.approx(whole, rel=1e-2)


def test_micro_batches_change_no_gradient():
    model, algorithm, batch = made(cql_weight=0.5)
    whole = gradients_of(algorithm, model, batch)
    for parameter in algorithm.parameters.values():
        parameter.grad = None
    for rows in ([0, 5, 11], [1, 2, 3, 4], [6, 7, 8, 9, 10]):
        algorithm.loss(model, batch.take(rows), batch)[0].backward()
    parts = {
        name: p.grad
        for name, p in algorithm.parameters.items()
        if p.grad is not None and p.grad.abs().sum() > 0
    }
    assert parts.keys() == whole.keys()
    assert all(torch.allclose(parts[name], whole[name], rtol=1e-4, atol=1e-7) for name in whole)


# ---- the policy's loss


def test_without_beta_the_policy_s_loss_is_cloning_s_to_the_bit():
    model, algorithm, batch = made(awac_beta=0.0)
    said, logged = algorithm.policy_loss(model, algorithm.loss_inputs(model, batch))
    assert set(logged["policy/weight"].tolist()) == {1.0}
    assert torch.equal(said, weighted_nll(model.policy, batch)[0]), (
        "which is what cloning and supervised learning minimise"
    )
    cloned = Cloning(Cloning.Config(minibatch=12), fork.actor(0, layers=1, width=16))
    logs = cloned.update(fork.actor(0, layers=1, width=16), batch)
    assert logs["supervised/loss"] == float(logged["policy/loss"].double().sum()) / len(seen_actions(batch))
    _, algorithm, batch = made(model=model, awac_beta=1.0)
    assert not torch.equal(algorithm.policy_loss(model, algorithm.loss_inputs(model, batch))[0], said)


def test_both_normalisers_and_the_weight_of_other_tokens():
    model, algorithm, batch = made(q_weight=0.0, v_weight=0.0, cql_weight=0.0)
    actions, tokens = int(batch.is_action.sum()), int(batch.real.sum()) - len(batch)
    by_actions = loss_of(algorithm, model, batch)
    algorithm.config = replace(algorithm.config, normaliser="tokens")
    assert loss_of(algorithm, model, batch) * tokens == pytest.approx(by_actions * actions, rel=1e-5)
    everything = batch.real.clone()
    everything[:, 0] = False
    with torch.no_grad():
        nll = -action_scores(model.policy, replace(batch, is_action=everything), support=False).policy.sum()
    algorithm.config = replace(algorithm.config, transition_weight=1.0)
    assert loss_of(algorithm, model, batch) * tokens == pytest.approx(float(nll), rel=1e-5)
    assert tokens > actions


def seen_actions(batch):
    return batch.is_action.nonzero()


# ---- whose gradient goes where


def trunks(names):
    """Which networks hold these parameters."""
    places = {
        "policy": "policy.",
        "value trunk": "values.value_trunk.",
        "v": "values.v_head.",
        "q": "values.q_heads.",
    }
    return {place for place, prefix in places.items() if any(name.startswith(prefix) for name in names)}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"policy", "value trunk", "v", "q"}),
        ({"awac_weight": 0.0}, {"value trunk", "v", "q"}),
        ({"awac_weight": 0.0, "detach_v": True}, {"value trunk", "v", "q"}),
        ({"awac_weight": 0.0, "detach_v": True, "detach_q": True}, {"v", "q"}),
        ({"awac_weight": 0.0, "backbones": "shared"}, {"policy", "v", "q"}),
        ({"awac_weight": 0.0, "backbones": "shared", "detach_v": True, "detach_q": True}, {"v", "q"}),
        ({"backbones": "shared", "detach_v": True, "detach_q": True}, {"policy", "v", "q"}),
        ({"awac_weight": 0.0, "backbones": "lora"}, {"value trunk", "v", "q"}),
        ({"awac_weight": 0.0, "backbones": "frozen"}, {"v", "q"}),
        ({"q_weight": 0.0, "cql_weight": 0.0}, {"policy", "value trunk", "v"}),
        ({"v_weight": 0.0}, {"policy", "value trunk", "q"}),
    ],
)
def test_gradients_reach_what_they_should_and_nothing_else(settings, expected):
    model, algorithm, batch = made(**settings)
    assert trunks(gradients_of(algorithm, model, batch)) == expected


def test_the_policy_s_loss_may_stop_at_its_output_layer():
    for detach, blocks in ((False, True), (True, False)):
        model, algorithm, batch = made(backbones="shared", detach_v=True, detach_q=True, detach_policy=detach)
        found = gradients_of(algorithm, model, batch)
        assert any(".h.0." in name for name in found) == blocks
        assert any("wte" in name for name in found)  # tied to the output layer


def test_a_trunk_that_the_values_losses_move_is_remarked_on():
    with pytest.warns(
        Remark, match=r"awac_weight = 0 with backbones = 'shared'.*separate, lora and frozen leave the policy"
    ):
        made(backbones="shared", awac_weight=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Remark)
        made(backbones="shared")
        made(backbones="separate", awac_weight=0.0)


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora", "frozen"])
def test_targets_have_no_dropout(backbones):
    model = fork.actor(layers=1, width=16, dropout=0.5)
    model, algorithm, batch = made(model=model, backbones=backbones, **STILL.get(backbones, {}))
    without = states_of(model, batch, cache=algorithm.cache)
    for network in algorithm.gradient.modules:
        network.train()
    training = {name: part.training for name, part in model.named_modules()}
    torch.manual_seed(0)
    learning = states_of(model, batch, cache=algorithm.cache)
    assert torch.allclose(learning.target, without.target, atol=1e-5)
    assert torch.allclose(learning.online, without.online) == (backbones == "frozen"), (
        "the heads that learn have it"
    )
    assert {name: part.training for name, part in model.named_modules()} == training
    drawn = torch.get_rng_state()
    torch.manual_seed(0)
    if backbones == "shared":
        hidden(model.policy, batch.tokens)
        assert torch.equal(torch.get_rng_state(), drawn), "the second pass draws nothing"


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora", "frozen"])
def test_targets_have_no_gradient_and_follow(backbones):
    model, algorithm, batch = made(backbones=backbones, target_rate=0.25, **STILL.get(backbones, {}))
    values = model.values
    ends = [p.detach().clone() for part in values.targets() for p in part.parameters()]
    assert not any(name.startswith("values.target") for name in algorithm.parameters)
    assert not any(p.requires_grad for part in values.targets() for p in part.parameters())
    model.train()
    assert values.v_head.training
    assert not any(module.training for part in values.targets() for module in part.modules())
    model.eval()
    algorithm.update(model, batch)  # one gradient step
    online = [values.q_heads, *([values.value_trunk] if values.value_trunk is not None else [])]
    sources = [p.detach() for part in online for p in part.parameters()]
    after = [p.detach() for part in values.targets() for p in part.parameters()]
    assert all(
        torch.allclose(now, before + 0.25 * (source - before), atol=1e-6)
        for before, source, now in zip(ends, sources, after, strict=True)
    )
    assert any(not torch.equal(before, now) for before, now in zip(ends, after))


def test_polyak_in_closed_form_and_hard_copies():
    values = TokenValues.build(fork.language(layers=1, width=16).module, key=KEY)
    with torch.no_grad():
        for part in values.targets():
            for parameter in part.parameters():
                parameter.zero_()
    for _ in range(100):
        values.follow(0.005)
    source, target = values.q_heads[0].outer.weight, values.target_heads[0].outer.weight
    assert torch.allclose(target, 0.394230 * source, atol=1e-6)
    assert pytest.approx(0.394230, abs=1e-6) == 1 - 0.995**100
    values.follow(1.0)
    assert same(parameters(values.q_heads), parameters(values.target_heads))
    assert same(parameters(values.value_trunk), parameters(values.target_trunk))
    model, algorithm, batch = made(target_rate=0.0, target_every=2)
    before = parameters(model.values.target_heads)
    algorithm.update(model, batch)
    assert same(parameters(model.values.target_heads), before)
    algorithm.update(model, batch)
    assert same(parameters(model.values.target_heads), parameters(model.values.q_heads))


# ---- what is computed


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora"])
@pytest.mark.parametrize("kind", VALUE_LEARNERS.values())
def test_each_network_runs_once_for_a_minibatch(kind, backbones):
    if kind is Psi and backbones == "shared":
        pytest.skip("refused")
    settings = STILL.get(backbones, {}) if kind is not Psi else {}
    model, algorithm, batch = made(kind, backbones=backbones, **settings)
    loss_of(algorithm, model, batch)  # its output layer is probed once
    for network in algorithm.gradient.modules:
        network.train()  # without dropout
    counts = dict.fromkeys(("policy", "value", "target"), 0)
    trunks_ = {
        "policy": model.policy.base_model,
        "value": model.values.value_trunk,
        "target": model.values.target_trunk,
    }
    for name, module in trunks_.items():
        if module is not None:
            module.register_forward_hook(lambda *given, name=name: counts.__setitem__(name, counts[name] + 1))
    algorithm.loss(model, batch, batch)[0].backward()
    policy = int(kind is Psi or backbones != "lora")
    assert counts == {
        "policy": policy,
        "value": int(backbones != "shared"),
        "target": int(backbones != "shared"),
    }


def test_all_values_of_a_token_are_formed_only_where_they_are_needed(monkeypatch):
    formed = []
    for settings, wide in (
        ({"cql_weight": 0.0}, set()),
        ({"cql_weight": 0.1}, {"online"}),
        ({"cql_weight": 0.0, "margin_weight": 1.0}, {"online"}),
    ):
        model, algorithm, batch = made(**settings)
        for name, heads in (("online", model.values.q_heads), ("target", model.values.target_heads)):
            for one in heads:
                monkeypatch.setattr(one, "forward", lambda hidden, name=name: formed.append(name))
                monkeypatch.setattr(
                    one,
                    "sum_rows",
                    lambda *given, name=name, own=one.sum_rows: (formed.append(name), own(*given))[1],
                )
        algorithm.loss(model, batch, batch)[0].backward()
        assert set(formed) == wide
        formed.clear()


def test_a_taken_token_s_value_is_its_column_and_chunks_change_nothing(monkeypatch):
    values = TokenValues.build(
        fork.language(layers=1, width=16).module, key=KEY, value_min=-0.05, value_max=0.05
    )
    states, tokens = torch.randn(30, 16), torch.randint(0, 11, (30,))
    for head, column in zip(values.q(states), values.gather(states, tokens), strict=True):
        assert torch.allclose(column, losses.of(head, tokens), atol=1e-6)
    assert torch.allclose(
        values.target_taken(states, tokens), losses.of(values.target_q(states), tokens), atol=1e-6
    )
    assert values.target_q(states).abs().max() == pytest.approx(0.05)
    best = values.target_wide(states, lambda q: q.amax(-1))

    def rows(q, here):
        return 0.5 * losses.cql_loss(q, tokens[here]) + losses.of(q, tokens[here]).square(), losses.of(
            q, tokens[here]
        )

    def gradients_of_sum(total):
        values.zero_grad()
        (3 * total).backward()
        return [p.grad.clone() for p in values.q_heads.parameters()]

    plain = sum(rows(q, slice(None))[0].sum() for q in values.q(states))
    expected = gradients_of_sum(plain)
    for chunk in (44, 1 << 20):  # four rows at a time; all at once
        monkeypatch.setattr("loquent.models.values.networks.CHUNK", chunk)
        total, columns = values.sum_rows(states, rows)
        assert float(total.detach()) == pytest.approx(float(plain.detach()), rel=1e-6)
        assert all(
            torch.allclose(column, head, atol=1e-6)
            for (column,), head in zip(columns, values.gather(states, tokens))
        )
        assert not any(column.requires_grad for (column,) in columns)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(gradients_of_sum(total), expected))
        assert torch.equal(values.target_wide(states, lambda q: q.amax(-1)), best)
        with torch.no_grad():
            assert float(values.sum_rows(states, rows)[0]) == pytest.approx(float(plain.detach()), rel=1e-6)


def test_the_states_of_a_frozen_trunk_are_computed_once_and_are_those_of_a_pass():
    model, algorithm, batch = made(backbones="frozen", awac_weight=0.0, epochs=3)
    passes = []
    model.policy.base_model.register_forward_hook(lambda *given: passes.append(1))
    algorithm.update(model, batch)
    assert len(passes) == 3, "twelve games of three kinds: equal rows have equal states"
    seen, plain = states_of(model, batch, cache=algorithm.cache), states_of(model, batch)
    assert torch.allclose(seen.online, plain.online, atol=1e-5)
    assert torch.equal(seen.state, plain.state)
    own = states_of(model, batch, policy=True, cache=algorithm.cache).policy
    assert torch.allclose(
        own[batch.is_action.roll(-1, 1)],
        hidden(model.policy, batch.tokens)[batch.is_action.roll(-1, 1)],
        atol=1e-5,
    )


def test_a_full_cache_changes_nothing():
    runs = []
    for megabytes in (0, 100):
        model, algorithm, batch = made(backbones="frozen", awac_weight=0.0, cache=megabytes)
        algorithm.update(model, batch)
        algorithm.update(model, batch)
        runs.append(parameters(model.values))
    assert same(*runs)


@pytest.mark.parametrize("backbones", ["frozen", "lora"])
def test_a_policy_that_is_to_stay_stays(backbones):
    model, algorithm, batch = made(backbones=backbones, awac_weight=0.0)
    before, values = parameters(model.policy), parameters(model.values.v_head)
    algorithm.update(model, batch)
    assert same(parameters(model.policy), before)
    assert not same(parameters(model.values.v_head), values)
    with pytest.raises(
        BadSetting, match=f"awac_weight = 1.0 with backbones = '{backbones}', which keep the policy fixed"
    ):
        made(backbones=backbones)


def test_adapters_begin_as_the_trunk_and_share_its_weights():
    model, _, batch = made(backbones="lora", awac_weight=0.0, rank=2)
    plain = hidden(model.policy, batch.tokens)
    for network in (model.values.value_trunk, model.values.target_trunk):
        assert torch.allclose(hidden(network, batch.tokens), plain, atol=1e-6)
    own = {id(p) for p in model.policy.parameters()}
    more = sum(p.numel() for p in model.values.value_trunk.parameters() if id(p) not in own)
    assert 0 < more < sum(p.numel() for p in model.policy.base_model.parameters()) / 3


# ---- what each is drawn towards


def seen_with(kind, **settings):
    model, algorithm, batch = made(kind, **settings)
    return model, algorithm, batch, algorithm.loss_inputs(model, batch)


def test_monte_carlo_is_drawn_towards_the_rewards_to_go():
    model, algorithm, _, seen = seen_with(MonteCarlo)
    expected = [
        *6 * [-1.5 * 0.99, -1.5],
        *5 * [-3 * 0.99**3, -3 * 0.99**2, -3 * 0.99, -3.0],
        0.0,
        0.0,
        0.0,
        0.0,
    ]
    assert algorithm.q_target(model, seen).tolist() == pytest.approx(expected, abs=1e-5)
    assert algorithm.v_target(seen).tolist() == pytest.approx(expected, abs=1e-5)
    per_turn = made(MonteCarlo, discount="turn", model=model)[2]
    assert per_turn.target[per_turn.is_action][12:16].tolist() == pytest.approx(
        [-3 * 0.99] * 2 + [-3.0] * 2, abs=1e-5
    )
    assert seen_with(ILQL, mc_returns=True)[3].returns.tolist() == pytest.approx(expected, abs=1e-5)
    with pytest.raises(LoquentError, match="has not been prepared"):
        replace(seen, batch=replace(seen.batch, target=None)).returns  # noqa: B018


def test_rewards_to_go_pass_from_row_to_row_of_one_episode():
    batch = made(ILQL)[2].take([6, 7, 8])
    one = replace(batch, episode=torch.tensor([0, 0, 0]), ended=torch.tensor([False, False, True]))
    found = value_learner.with_returns(one, 0.5, "turn").target[one.is_action].reshape(3, 4)
    last = [-3 * 0.5, -3 * 0.5, -3.0, -3.0]
    later = [-3 + 0.5 * last[0]] * 2
    middle = [0.5 * later[0]] * 2 + later
    latest = [-3 + 0.5 * middle[0]] * 2
    assert found.tolist() == [
        pytest.approx([0.5 * latest[0]] * 2 + latest),
        pytest.approx(middle),
        pytest.approx(last),
    ]
    apart = value_learner.with_returns(replace(one, episode=torch.tensor([0, 1, 2])), 0.5, "turn")
    assert apart.target[one.is_action].reshape(3, 4).tolist() == [pytest.approx(last)] * 3
    with torch.device("meta"):  # whatever is made without a device lands there
        assert torch.equal(
            value_learner.with_returns(one, 0.5, "turn").target[one.is_action].reshape(3, 4), found
        )


def test_conservative_q_learning_is_drawn_towards_the_best_next_token():
    model, algorithm, batch, seen = seen_with(CQL)
    best = model.values.target_q(seen.states.target).amax(-1)
    alive = seen.alive
    assert torch.allclose(
        algorithm.q_target(model, seen)[alive], seen.reward[alive] + 0.99 * best[seen.states.following][alive]
    )
    assert algorithm.q_target(model, seen)[~alive].tolist() == seen.reward[~alive].tolist()
    cut = replace(batch, ended=torch.zeros(12, dtype=torch.bool))
    again = algorithm.loss_inputs(model, cut)
    assert bool(again.alive.all()), "a game that was cut goes on in its last state"
    assert not torch.allclose(algorithm.q_target(model, again)[~alive], seen.reward[~alive])


def test_psi_learning_is_drawn_towards_the_soft_best_and_the_prior():
    model, algorithm, batch, seen = seen_with(Psi, reward_scale=0.5)
    soft = model.values.target_q(seen.states.target).logsumexp(-1)[seen.states.following]
    with torch.no_grad():
        prior = action_scores(model.policy, batch, support=False).policy
    expected = seen.reward / 0.5 + torch.where(seen.alive, 0.99 * soft, 0.0) + prior
    assert torch.allclose(algorithm.q_target(model, seen), expected, atol=1e-5)
    with pytest.raises(BadSetting, match=r"backbones must be one of .*, got 'shared'"):
        Psi.Config(backbones="shared")


def test_filtered_cloning_keeps_the_best_and_fails_where_none_is_left():
    model = fork.actor(0, layers=1, width=16)
    batch = fork.recorded(model)
    for share in (0.5, 0.1):
        kept = FilteredCloning(FilteredCloning.Config(top=share), model).prepare(batch)
        assert len(kept) == int(12 * share)
        assert sorted(kept.reward.sum(1).tolist()) == sorted(batch.reward.sum(1).tolist())[-len(kept) :]
    with pytest.raises(BadSetting, match=r"top = 0.05 of 12 episodes keeps none"):
        FilteredCloning(FilteredCloning.Config(top=0.05), model).prepare(batch)


# ---- a run of it


@pytest.mark.parametrize("name", ["cloning", "filtered_cloning", *VALUE_LEARNERS])
def test_resumed_it_is_the_same_run_to_the_bit(name):
    kind = registry.find("algorithm", name)
    backbones = {"backbones": "lora", "awac_weight": 0.0} if name == "cql" else {}
    backbones = {"backbones": "frozen"} if name == "psi" else backbones
    model, algorithm, batch = made(kind, minibatch=5, **backbones)
    algorithm.update(model, batch)
    state, weights = (
        algorithm.state_dict(),
        {key: tensor.clone() for key, tensor in model.state_dict().items()},
    )
    logs = algorithm.update(model, batch)
    again, other, _ = made(kind, seed=1, minibatch=5, **backbones)
    again.load_state_dict(weights)
    other.load_state_dict(state)
    assert other.update(again, batch) == logs
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in model.state_dict().items())


@pytest.mark.parametrize("name", VALUE_LEARNERS)
def test_what_is_logged_is_finite_and_named(name):
    model, algorithm, batch = made(registry.find("algorithm", name), margin_weight=0.1, cql_weight=0.1)
    logs = algorithm.update(model, batch)
    assert set(logs) <= set(value_learner.LOGGED)
    assert all(math.isfinite(value) for value in logs.values())
    assert logs["gradient/steps"] == 1
    assert ("policy/loss" in logs) == (name != "psi")


def test_a_batch_without_an_answer_is_refused():
    model, algorithm, batch = made()
    with pytest.raises(LoquentError, match="no action token"):
        algorithm.update(model, replace(batch, is_action=torch.zeros_like(batch.is_action)))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"value_min": 1.0, "value_max": 0.0}, "value_min = 1.0 is not below value_max = 0.0"),
        ({"tau": 1.5}, r"tau must be in \[0, 1\], got 1.5"),
        ({"backbones": "two"}, "must be one of 'separate', 'shared', 'lora', 'frozen', got 'two'"),
        ({"cql_temperature": 0.0}, "cql_temperature must be .*, got 0.0"),
    ],
)
def test_bad_settings_name_the_value(settings, why):
    with pytest.raises(BadSetting, match=why):
        ILQL.Config(**settings)
