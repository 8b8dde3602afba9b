"""Losses of value learning against numbers worked out by hand: two games of three and one action tokens,
garbage in every padded slot.
"""

import math

import pytest
import torch

from loquent.algorithms.value_learning import value_losses as losses

JUNK = 1e6
REAL = torch.tensor([[True, True, True], [True, False, False]])
ALIVE = torch.tensor([[True, True, False], [False, False, False]])
REWARD = torch.tensor([[0.0, 0.0, -1.0], [2.0, JUNK, -JUNK]])
V = torch.tensor([[0.5, 0.2, -0.1], [1.0, JUNK, JUNK]])
NEXT = torch.tensor([[0.2, -0.1, JUNK], [-JUNK, JUNK, math.nan]])  # no state follows an end
Q1 = torch.tensor([[0.4, 0.1, -0.8], [1.5, -JUNK, JUNK]])
Q2 = torch.tensor([[0.6, 0.0, -1.2], [1.0, JUNK, JUNK]])
T = torch.tensor([[0.3, 0.4, -1.0], [0.7, JUNK, JUNK]])
GAMMA = torch.full((2, 3), 0.99)


def mean(per_token, real=REAL):
    return losses.sum_real(per_token, real) / real.sum()


def leaf(tensor):
    return tensor.clone().requires_grad_()


def test_bellman_targets_and_their_loss():
    q1, q2, following = leaf(Q1), leaf(Q2), leaf(NEXT)
    target = losses.bellman_target(REWARD, following, ALIVE, GAMMA)
    assert target[REAL].tolist() == pytest.approx([0.198, -0.099, -1.0, 2.0], abs=1e-7)
    assert float(mean(losses.q_loss((q1,), target)).detach()) == pytest.approx(0.09260125, abs=1e-7)
    assert float(mean(losses.q_loss((q2,), target)).detach()) == pytest.approx(0.30285125, abs=1e-7)
    both = mean(losses.q_loss((q1, q2), target))
    assert float(both.detach()) == pytest.approx(0.3954525, abs=1e-7), "heads are added, not averaged"
    both.backward()
    assert following.grad is None, "no gradient reaches the value of the next state"
    assert q1.grad[REAL].tolist() == pytest.approx(
        [2 * (q - t) / 4 for q, t in zip(Q1[REAL].tolist(), target[REAL].tolist())]
    )
    assert q1.grad[~REAL].tolist() == [0, 0], "nor padding"


def test_a_game_that_was_cut_bootstraps_and_the_count_stays_that_of_actions():
    alive, following = ALIVE.clone(), NEXT.clone()
    alive[1, 0], following[1, 0] = True, 7.0
    target = losses.bellman_target(REWARD, following, alive, GAMMA)
    assert float(target[1, 0]) == pytest.approx(8.93, abs=1e-6)
    error = losses.q_loss((Q1, Q2), target)
    assert float(mean(error)) == pytest.approx(float(error[REAL].sum()) / 4)
    assert float(mean(error)) != pytest.approx(float(error[REAL].sum()) / 5), (
        "the released code counts a fifth"
    )


@pytest.mark.parametrize(("tau", "expected"), [(0.7, 0.0775), (0.5, 0.1225)])
def test_expectile(tau, expected):
    v, t = leaf(V), leaf(T)
    loss = mean(losses.expectile_loss(t, v, tau))
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-7)
    loss.backward()
    assert t.grad is None
    assert v.grad[REAL].abs().min() > 0
    assert v.grad[~REAL].tolist() == [0, 0]
    if tau == 0.5:
        assert float(loss.detach()) == pytest.approx(0.5 * float((T - V)[REAL].square().mean()), abs=1e-7)


def test_an_equal_target_counts_as_better():
    assert losses.expectile_loss(torch.tensor([1.0]), torch.tensor([1.0]), 0.9).tolist() == [0.0]
    v = leaf(torch.tensor([1.0 - 1e-3, 1.0 + 1e-3]))
    assert losses.expectile_loss(torch.tensor([1.0, 1.0]), v, 0.9).tolist() == pytest.approx(
        [0.9e-6, 0.1e-6], rel=1e-3
    )


def test_the_cross_entropy_of_q():
    q, taken = torch.tensor([[1.0, 0.0, -1.0, 2.0]]), torch.tensor([3])
    assert losses.cql_loss(q, taken).tolist() == pytest.approx([0.440190], abs=1e-6)
    assert losses.cql_loss(q, taken, 2.0).tolist() == pytest.approx([0.787338], abs=1e-6)
    assert losses.cql_loss(q, taken).tolist() == pytest.approx(
        [float(torch.nn.functional.cross_entropy(q, taken))]
    )
    assert losses.cql_loss(q, torch.tensor([0])).tolist() != pytest.approx([0.440190], abs=0.1)


def test_the_large_margin():
    q = torch.tensor([[1.0, 0.0, -1.0, 2.0]])
    assert losses.margin_loss(q, torch.tensor([3]), 0.0).tolist() == [0.0]
    assert losses.margin_loss(q, torch.tensor([0]), 0.0).tolist() == [1.0]
    # of itself, and of the 1.0 that is 1 below
    assert losses.margin_loss(q, torch.tensor([3]), 1.5).tolist() == [1.5**2 + 0.5**2]


def test_advantage_weights():
    value, target = torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0.3, 0.9, 0.5])
    weight = losses.awac_weight(target, value, beta=4.0)
    assert weight.tolist() == pytest.approx([0.449329, math.exp(1.6), 1.0], abs=1e-6)
    assert losses.awac_weight(target, value, beta=0.0).tolist() == [1.0, 1.0, 1.0]
    assert losses.awac_weight(target, value, beta=0.8, mode="sign").tolist() == pytest.approx([0.2, 0.8, 0.2])
    assert losses.awac_weight(target, value, beta=4.0, clip=2.0).tolist() == pytest.approx(
        [0.449329, 2.0, 1.0], abs=1e-6
    )
    assert not losses.awac_weight(leaf(target), leaf(value), beta=4.0).requires_grad


def test_rewards_to_go():
    reward = torch.tensor([[0.0, 0.0, -1.0], [2.0, JUNK, JUNK]])
    found = losses.reward_to_go(reward, REAL, GAMMA)
    assert found.flatten().tolist() == pytest.approx([-0.9801, -0.99, -1.0, 2.0, 0.0, 0.0], abs=1e-6)
    after = losses.reward_to_go(reward, REAL, GAMMA, torch.tensor([10.0, 1.0]))
    assert after[:, 0].tolist() == pytest.approx([-0.9801 + 10 * 0.99**3, 2.99], abs=1e-5)


def test_huber():
    q, target = leaf(torch.tensor([0.5, 3.0])), torch.tensor([0.0, 0.0])
    # both heads: 2 * 0.125, 2 * 2.5
    assert losses.huber_loss((q, q), target).tolist() == pytest.approx([0.25, 5.0])
