"""GRPO and RLOO: numbers by hand, TRL 1.16's own numbers, dropped rows, and episodes of several rows."""

from dataclasses import replace

import pytest
import torch

from helpers.algorithms.groups_of_trl import CASES, RELATIVES, TRL, of_trl
from helpers.algorithms.letters import actor, gradients, scored
from loquent.algorithms.policy_gradient import grpo, rloo
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.shared import comparison, losses
from loquent.models.decode.loop import Decoding
from loquent.models.score.one_pass import Scores

GROUP = torch.tensor([0, 0, 0, 1, 1])


@pytest.mark.parametrize("name", [*CASES, *RELATIVES])
def test_trl_has_the_same_advantages_loss_and_gradient(name, monkeypatch):
    kind, settings = {**CASES, **RELATIVES}[name]
    expected = {key: torch.tensor(value) for key, value in TRL["cases"][name].items()}
    batch, new, mask = of_trl()
    module = grpo if kind is GRPO else rloo
    scores = Scores(new, new, torch.zeros_like(new))
    monkeypatch.setattr(module, "action_scores", lambda *given: scores)
    if kind is GRPO:
        monkeypatch.setattr(module, "action_losses", lambda *given: (given[-1](scores, slice(None)), scores))
    model = actor(critic="none", decoding=Decoding(max_new_tokens=TRL["longest"]))
    algorithm = kind(kind.Config(**settings), model)
    prepared = algorithm.prepare(batch)
    assert torch.allclose(prepared.advantage[:, 1].float(), expected["advantages"], atol=1e-6)
    loss = algorithm.loss(model, prepared)["total"].sum() / algorithm.divisor(prepared)
    assert float(loss.detach()) == pytest.approx(float(expected["loss"]), abs=1e-6)
    (gradient,) = torch.autograd.grad(loss, new)
    assert torch.allclose(gradient.float(), expected["gradient"][mask], atol=1e-6)
    assert float(gradient.abs().max()) > 1e-3
    others = [case for other, case in TRL["cases"].items() if other != name]
    assert all(abs(case["loss"] - float(loss.detach())) > 1e-6 for case in others)  # it can fail


def test_advantages_by_hand():
    returns = torch.tensor([1.0, 2.0, 6.0, 5.0, 7.0])
    # means 3 and 6; others' means 4, 3.5, 1.5, 7, 5
    assert comparison.relative(returns, GROUP, "none").tolist() == [-2.0, -1.0, 3.0, -1.0, 1.0]
    assert comparison.leave_one_out(returns, GROUP).tolist() == [-3.0, -1.5, 4.5, -2.0, 2.0]
    # deviations: √((4 + 1 + 9) / 2) and √2
    scaled = comparison.relative(returns, GROUP, "group")
    assert scaled[2].item() == pytest.approx(3 / (7**0.5 + 1e-4), rel=1e-6)
    assert scaled[4].item() == pytest.approx(1 / (2**0.5 + 1e-4), rel=1e-6)
    whole = comparison.relative(returns, GROUP, "batch")
    assert whole[2].item() == pytest.approx(3 / (float(returns.std()) + 1e-4), rel=1e-6)
    shuffled = torch.tensor([3, 0, 4, 2, 1])
    again = comparison.relative(returns[shuffled], GROUP[shuffled], "group")
    assert torch.allclose(again, scaled[shuffled])


def test_an_answer_without_others_has_no_advantage():
    returns, group = torch.tensor([4.0, 1.0, 3.0]), torch.tensor([0, 1, 1])
    assert comparison.leave_one_out(returns, group).tolist() == [0.0, -2.0, 2.0]
    assert comparison.relative(returns, group, "group")[0].item() == 0.0
    assert comparison.returns_differ(returns, group).tolist() == [False, True, True]


def test_the_upper_bound_is_its_own():
    new, advantage = torch.tensor([1.25, 1.35, 0.75]).log(), torch.tensor([1.0, 1.0, -1.0])
    policy, ratio, clipped = losses.clipped_surrogate(new, torch.zeros(3), advantage, 0.2, 0.28)
    assert ratio.tolist() == pytest.approx([1.25, 1.35, 0.75])
    assert policy.tolist() == pytest.approx([-1.25, -1.28, 0.8])
    assert clipped.tolist() == [False, True, True]
    assert losses.clipped_surrogate(new, torch.zeros(3), advantage, 0.2)[0][0].item() == pytest.approx(-1.2)


def test_ratios_of_whole_answers_by_hand():
    log_ratio, number, length = (
        torch.tensor([1.0, 2.0, 3.0, -4.0]),
        torch.tensor([0, 0, 1, 0]),
        torch.tensor([3, 1]),
    )
    assert grpo.sequence_ratio(log_ratio, number, length).tolist() == pytest.approx(
        [-1 / 3, -1 / 3, 3, -1 / 3]
    )
    assert rloo.answer_log_ratio(log_ratio, number, length).tolist() == [-1.0, 3.0]
    assert grpo.by_answer(torch.tensor([3.0, 6.0, 5.0, 9.0]), number, length).tolist() == [1.0, 2.0, 5.0, 3.0]


def test_rows_whose_answers_are_all_equal_are_left_out():
    model = actor(critic="none")
    algorithm = GRPO(GRPO.Config(drop_equal=True, minibatch=4), model)
    batch = scored(algorithm, model, 16)
    reward = torch.zeros_like(batch.reward)
    reward[batch.is_action & (batch.group == 2)[:, None]] = torch.rand(
        int(batch.is_action[batch.group == 2].sum()), generator=torch.Generator().manual_seed(1)
    )
    prepared = algorithm.prepare(replace(batch, reward=reward))
    rows = torch.cat(list(algorithm.minibatches(prepared, torch.arange(len(batch)))))
    assert set(batch.group[rows].tolist()) == {2}
    assert algorithm.update(model, prepared)["groups/learned"] == 0.25
    none = algorithm.prepare(replace(batch, reward=torch.zeros_like(reward)))
    before = model.policy.lm_head.weight.detach().clone()
    assert algorithm.update(model, none)["gradient/steps"] == 0
    assert torch.equal(before, model.policy.lm_head.weight)


@pytest.mark.parametrize("name", CASES)
def test_an_episode_of_several_rows_is_one_answer(name):
    kind, settings = CASES[name]
    model = actor(critic="none", dtype=torch.float64)
    algorithm = kind(kind.Config(**settings, max_grad_norm=None), model)
    batch = scored(algorithm, model, 16)
    # the same rows, as eight episodes of two rows each
    paired = replace(batch, episode=batch.episode // 2, group=batch.group)
    prepared = algorithm.prepare(paired)
    episodes = episodes_of(paired)
    assert len(episodes.group) == 8
    assert episodes.length.tolist() == [int(batch.is_action[i : i + 2].sum()) for i in range(0, 16, 2)]
    first = [float(row[act][0]) for row, act in zip(prepared.advantage, batch.is_action, strict=True)]
    assert first[::2] == first[1::2]
    for parts in (algorithm.micro_batches(prepared), algorithm.micro_batches(prepared.take(range(6)))):
        assert all(len(part) % 2 == 0 for part in parts)
    small = kind(kind.Config(**settings, max_grad_norm=None, token_budget=1), model)
    assert [len(part) for part in small.micro_batches(prepared)] == [2] * 8
    whole, single = (gradients(a, model, prepared) for a in (algorithm, small))
    assert max(float((whole[key] - single[key]).abs().max()) for key in whole) < 1e-10
    apart = gradients(kind(algorithm.config, model), model, algorithm.prepare(batch))
    assert max(float((whole[key] - apart[key]).abs().max()) for key in whole) > 1e-6


def test_presets_are_settings():
    for name, values in GRPO.Config.presets.items():
        config = GRPO.Config(**values)
        assert all(getattr(config, setting) == value for setting, value in values.items()), name
