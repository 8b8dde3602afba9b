"""Relatives of GRPO: baselines, advantages of tokens, answers left out, and weights of another engine."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.algorithms.letters import TASK, actor, episodes, gradients, one_update, parameters, same, scored
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.shared import comparison
from loquent.core.seeding import Key
from loquent.errors import BadSetting, LoquentError
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import token_batch
from loquent.training import recipes
from loquent.training.trainer import Trainer

RETURNS, GROUP = torch.tensor([1.0, 2.0, 6.0, 5.0, 7.0]), torch.tensor([0, 0, 0, 1, 1])
MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
ANOTHER = Decoding(max_new_tokens=6, engine="helpers.models.plain_engine:PlainLoop")


def learner(model, **settings):
    return GRPO(GRPO.Config(**{"max_grad_norm": None, "minibatch": None, **settings}), model, key=Key(5))


def apart(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in other)


def test_baselines_by_hand():
    relative = comparison.relative
    assert relative(RETURNS, GROUP, "none", "leave_one_out").tolist() == [-3.0, -1.5, 4.5, -2.0, 2.0]
    assert relative(RETURNS, GROUP, "none", "global").tolist() == pytest.approx([-3.2, -2.2, 1.8, 0.8, 2.8])
    # deviations of the groups: √7 and √2, whatever the baseline; of all: √6.7
    scaled = relative(RETURNS, GROUP, "group", "leave_one_out")
    assert scaled[2].item() == pytest.approx(4.5 / (7**0.5 + 1e-4), rel=1e-6)
    whole = relative(RETURNS, GROUP, "batch", "global")
    assert whole[4].item() == pytest.approx(2.8 / (6.7**0.5 + 1e-4), rel=1e-6)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5)), min_size=1, max_size=12))
def test_sums_of_advantages(pairs):
    names = [name for name, _ in pairs]
    group = torch.tensor([sorted(set(names)).index(name) for name in names])
    returns = torch.tensor([value for _, value in pairs], dtype=torch.float64)
    count = comparison.by_group(torch.ones_like(returns), group)
    own, others = (comparison.relative(returns, group, "none", name) for name in ("group", "leave_one_out"))
    for advantage in (own, others):
        assert float(comparison.by_group(advantage, group).abs().max()) < 1e-9
    # without the answer itself in the baseline: G / (G - 1) times the advantage over the group
    assert torch.allclose(others * (count - 1), own * count * (count > 1), atol=1e-9)
    assert float(comparison.relative(returns, group, "none", "global").sum()) == pytest.approx(0, abs=1e-9)


def test_sums_to_the_end_of_an_episode_by_hand():
    values, episode = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0]), torch.tensor([1, 0, 1, 0, 1])
    assert comparison.to_go(values, episode).tolist() == [21.0, 10.0, 20.0, 8.0, 16.0]


def test_every_preset_of_a_paper_states_its_kl():
    presets = GRPO.Config.presets
    assert all({"kl", "beta"} <= preset.keys() for preset in presets.values())
    plus = presets["reinforce_plus_plus"]
    assert (plus["kl"], plus["beta"]) == ("to_go", 0.001)  # RLinf 0.2: eq. 8, and reinpp_kl_beta


@pytest.mark.parametrize("baseline", ["global", "group"])
def test_advantages_of_reinforce_plus_plus_by_hand(baseline):
    model = actor(critic="none", dtype=torch.float64)
    preset = GRPO.Config.presets["reinforce_plus_plus"]
    algorithm = learner(model, **{**preset, "beta": 0.3, "baseline": baseline})
    raw = scored(algorithm, model, 16)
    noise = torch.rand(raw.tokens.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    # episodes of two rows each: a conversation whose prompt lost turns
    raw = replace(raw, reference_logprob=raw.policy_logprob - noise, episode=raw.episode // 2)
    wanted = []
    returns = [float(raw.reward[i : i + 2][raw.is_action[i : i + 2]].sum()) for i in range(0, 16, 2)]
    for i in range(16):
        others = returns if baseline == "global" else returns[i // 4 * 2 : i // 4 * 2 + 2]
        own = noise[i][raw.is_action[i]].tolist()
        later = noise[i + 1][raw.is_action[i + 1]].sum().item() if i % 2 == 0 else 0.0
        centre = returns[i // 2] - sum(others) / len(others)
        wanted += [centre - 0.3 * (sum(own[t:]) + later) for t in range(len(own))]  # eq. 8
    mean = sum(wanted) / len(wanted)
    deviation = math.sqrt(sum((a - mean) ** 2 for a in wanted) / (len(wanted) - 1))
    prepared = algorithm.prepare(raw)
    wanted = [(a - mean) / deviation for a in wanted]  # eq. 10
    assert prepared.advantage[raw.is_action].tolist() == pytest.approx(wanted, abs=1e-6)
    assert not prepared.advantage[~raw.is_action].any()
    penalty = 0.3 * float(noise[raw.is_action].sum()) / 8
    assert algorithm.summary(prepared)["reward/penalty"] == pytest.approx(-penalty)


def test_a_global_baseline_needs_no_second_answer_and_no_group():
    model = actor(critic="none")
    assert learner(model, baseline="global", deviation="none").least_answers == 1
    assert learner(model, baseline="leave_one_out").least_answers == 2
    with pytest.raises(BadSetting, match="set deviation to 'tokens', 'batch' or 'none'"):
        GRPO.Config(baseline="global")
    with pytest.raises(BadSetting, match=r"engine_weight_min = 2 is above engine_weight_max = 1"):
        GRPO.Config(engine_weight_min=2.0, engine_weight_max=1.0)
    with pytest.raises(BadSetting, match="cap must be at least 1"):
        GRPO.Config(cap=0.5)
    with pytest.raises(BadSetting, match=r"cap = none with surrogate = 'cispo'.*; set cap, such as to 5,"):
        GRPO.Config(surrogate="cispo")


@pytest.mark.parametrize("length", ["token", "answer", "constant"])
def test_overlong_answers_have_no_gradient_and_count_as_in_trl(length):
    model = actor(critic="none", dtype=torch.float64)
    settings = {"length": length, "entropy_coefficient": 0.1, "token_budget": 30}
    batch = scored(learner(model), model, 16)
    assert 0 < int(batch.overlong.sum()) < 16
    last = [int(row[act][-1]) for row, act in zip(batch.tokens, batch.is_action, strict=True)]
    assert batch.overlong.tolist() == [token != 0 for token in last]  # 0 ends an answer
    without = learner(model, **settings, drop_overlong=True)
    prepared = without.prepare(batch)
    assert torch.equal(prepared.advantage, learner(model, **settings).prepare(batch).advantage)
    found = gradients(without, model, prepared)
    rest = prepared.take(~batch.overlong)
    only = gradients(learner(model, **settings), model, rest)
    share = 1.0 if length == "token" else len(rest) / 16
    assert apart(found, {name: share * gradient for name, gradient in only.items()}) < 1e-12
    assert apart(found, only) > 1e-3 or length == "token"
    assert without.summary(prepared)["groups/learned"] == len(rest) / 16
    before = parameters(model.policy)
    assert without.update(model, prepared.take(batch.overlong))["gradient/norm"] == 0.0
    assert same(before, parameters(model.policy))
    with pytest.raises(LoquentError, match="does not say which answers are overlong"):
        without.update(model, replace(prepared, overlong=None))


@pytest.mark.parametrize("stops", [("end", "stop"), ("length", "end")])
def test_one_cut_answer_of_the_learner_makes_all_rows_of_an_episode_overlong(stops):
    model = actor(critic="none")
    [played] = episodes(learner(model).agent(model, False), 1)
    answer = next(turn for turn in played.turns if turn.seat == "agent")
    task = replace(played.turns[0], stopped="length")  # no answer
    turns = tuple(turn for stop in stops for turn in (task, replace(answer, stopped=stop)))
    batch = token_batch([replace(played, turns=turns)], model.format, TASK.spec.rewards, max_length=16)
    assert set(batch.overlong.tolist()) == {"length" in stops}


@pytest.mark.parametrize("mode", MODES)
def test_weights_of_an_engine_by_hand(mode):
    log_weight = torch.tensor([0.0, math.log(4), math.log(0.25), math.log(2), 800.0])
    wanted = [1.0, 3.0, 0.5, 2.0, 3.0] if mode.endswith("truncate") else [1.0, 0.0, 0.0, 2.0, 0.0]
    assert comparison.engine_weight(log_weight, mode, 0.5, 3.0).tolist() == pytest.approx(wanted)
    free = comparison.engine_weight(log_weight[:4], mode, None, None).tolist()
    assert free == pytest.approx([1.0, 4.0, 0.25, 2.0])


def test_draws_of_our_own_have_weight_1():
    results = []
    for changes in ({}, {"engine_weight": "token_mask", "engine_weight_min": 3.0}):
        model = actor(critic="none")
        batch, logged = one_update(learner(model, **changes), model, 0)
        assert batch.weight is None
        results.append((repr(logged), *parameters(model.policy).values()))
    assert results[0][0] == results[1][0]
    assert all(map(torch.equal, results[0][1:], results[1][1:]))


@pytest.mark.parametrize(("mode", "ratio"), zip(MODES, ("support", "raw", "raw", "support"), strict=True))
def test_weights_of_another_engine(mode, ratio):
    model = actor(critic="none", decoding=replace(ANOTHER, temperature=0.7, top_k=5), dtype=torch.float64)
    algorithm = learner(model, engine_weight=mode, engine_weight_max=1.5, ratio=ratio, beta=0.0)
    assert algorithm.rescores
    played = episodes(algorithm.agent(model, False), 16, each=4)
    batch = token_batch(played, model.format, TASK.spec.rewards, max_length=32)
    batch = score(model, replace(batch, episode=batch.episode // 2), support=True)
    honest = algorithm.prepare(batch)  # an engine with our weights: weight 1 up to rounding
    assert float((honest.weight[batch.is_action] - 1).abs().max()) < 1e-6
    wrong = torch.rand(batch.tokens.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    other = replace(batch, drawn_logprob=batch.own_logprob + wrong - 0.5)
    prepared = algorithm.prepare(other)
    apart = torch.where(batch.is_action, 0.5 - wrong, 0.0)
    if mode.startswith("sequence"):
        apart = episodes_of(batch).sums(apart)[batch.episode][:, None].expand_as(apart)
    wanted = comparison.engine_weight(apart, mode, None, 1.5)[batch.is_action]
    assert torch.allclose(prepared.weight[batch.is_action], wanted)
    parts = algorithm.loss(model, prepared)
    assert float((parts["policy/ratio"] - 1).abs().max()) < 1e-9  # the engine's error is in the weight alone
    alone = algorithm.loss(model, replace(honest, weight=None))["total"]
    assert torch.allclose(parts["total"], alone * wanted, atol=1e-9)
    assert algorithm.summary(prepared)["policy/engine_weight"] == pytest.approx(float(wanted.mean()))


def test_a_run_weighs_what_another_engine_drew_and_a_global_baseline_needs_one_answer():
    model = "{path: '', layers: 1, width: 16, heads: 2, context: 512, vocabulary: 260, tokenizer_texts: 50}"
    small = [f"model={model}", "task.limit=60", "metrics={}", "rewards={lexicon: 1.0}", "training.answers=1"]
    small += [f"decoding={{max_new_tokens: 4, engine: '{ANOTHER.engine}'}}", "training.episodes=6"]
    with pytest.raises(BadSetting, match=r"answers = 1: grpo compares the answers to one row"):
        Trainer(recipes.load("reviews_grpo", small))
    small += ["algorithm.preset=reinforce_plus_plus", "algorithm.engine_weight=token_mask"]
    trainer = Trainer(recipes.load("reviews_grpo", small))
    assert trainer.update()["policy/engine_weight"] == pytest.approx(1, abs=1e-6)
