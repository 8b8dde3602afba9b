"""The losses of preferences by hand and by their identities, and the pairs of answers."""

import math

import pytest
import torch

from loquent.algorithms.preference import losses
from loquent.algorithms.preference.pairs import pairs_of
from loquent.core.seeding import Key

RATIO = torch.tensor([[1.5, -0.5]], dtype=torch.float64)  # log-ratios of chosen and rejected
LENGTH = torch.tensor([[3, 2]])


def sigma(x):
    return 1 / (1 + math.exp(-x))


def dpo(kind, beta=0.5, ratio=RATIO, **more):
    return float(losses.dpo_loss(ratio, LENGTH, kind=kind, beta=beta, **more))


@pytest.mark.parametrize(
    ("kind", "smoothing", "wanted"),
    [
        ("sigmoid", 0.0, -math.log(sigma(1.0))),  # β h = 0.5 * 2
        ("sigmoid", 0.2, -0.8 * math.log(sigma(1.0)) - 0.2 * math.log(sigma(-1.0))),
        ("sigmoid_norm", 0.0, -math.log(sigma(0.375))),  # h = 1.5 / 3 + 0.5 / 2
        ("hinge", 0.0, 0.0),
        ("ipo", 0.0, 0.0625),  # (0.75 - 1)²
        ("robust", 0.2, (-0.8 * math.log(sigma(1.0)) + 0.2 * math.log(sigma(-1.0))) / 0.6),
    ],
)
def test_each_loss_of_dpo_by_hand(kind, smoothing, wanted):
    assert dpo(kind, label_smoothing=smoothing) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("sigmoid", math.log(2)),
        ("sigmoid_norm", math.log(2)),
        ("robust", math.log(2)),
        ("hinge", 1),
        ("ipo", 4.0),
    ],
)
def test_the_loss_of_a_policy_that_is_its_reference(kind, wanted):
    ratio = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    loss = losses.dpo_loss(ratio, LENGTH, kind=kind, beta=0.25, label_smoothing=0.1)
    assert float(loss.detach()) == pytest.approx(wanted, abs=1e-12)
    (slope,) = torch.autograd.grad(loss.sum(), ratio)
    assert slope[0, 0] < 0 < slope[0, 1], "the chosen answer becomes likelier, the other less likely"


def test_robust_dpo_is_unbiased_and_smoothing_is_a_mean():
    swapped, share = RATIO.flip(1), 0.2
    robust = [dpo("robust", ratio=each, label_smoothing=share) for each in (RATIO, swapped)]
    assert (1 - share) * robust[0] + share * robust[1] == pytest.approx(dpo("sigmoid"), abs=1e-12)
    mean = (1 - share) * dpo("sigmoid") + share * dpo("sigmoid", ratio=swapped)
    assert dpo("sigmoid", label_smoothing=share) == pytest.approx(mean, abs=1e-12)


def test_the_loss_of_kto_by_hand():
    ratio, good = torch.tensor([1.0, 1.0], dtype=torch.float64), torch.tensor([True, False])
    weights = {"desirable_weight": 2.0, "undesirable_weight": 3.0}
    loss = losses.kto_loss(ratio, good, 0.4, beta=0.5, **weights)
    assert loss.tolist() == pytest.approx([2 * (1 - sigma(0.3)), 3 * (1 - sigma(-0.3))], abs=1e-12)


def test_the_odds_ratio_by_hand_and_at_its_ends():
    p = torch.tensor([[0.8, 0.5]], dtype=torch.float64)
    assert float(losses.log_odds_ratio(p.log())) == pytest.approx(math.log(4.0), abs=1e-12)
    x = torch.tensor([-1e-12, -1e-5, -0.1, -2.0, -80.0], dtype=torch.float64)
    exact = [math.log(-math.expm1(float(each))) for each in x]
    assert losses.log_complement(x).tolist() == pytest.approx(exact, rel=1e-12)
    ends = torch.tensor([0.0, -1e-9, -200.0], requires_grad=True)
    value = losses.log_complement(ends)
    (slope,) = torch.autograd.grad(value.sum(), ends)
    assert bool(value.isfinite().all())
    assert bool(slope.isfinite().all())


GROUPS = torch.tensor([7, 7, 3, 3, 3, 5, 7])
RETURNS = torch.tensor([1.0, 0.0, 2.0, 2.0, 2.0, 9.0, 0.5], dtype=torch.float64)


def test_pairs_of_answers_to_one_row():
    assert pairs_of(RETURNS, GROUPS).tolist() == [[0, 1]], "equal answers and a single one make no pair"
    assert pairs_of(RETURNS, GROUPS, "all").tolist() == [[0, 1], [0, 6], [6, 1]]
    ties = torch.tensor([1.0, 0.0, 1.0, 0.0])
    assert pairs_of(ties, torch.zeros(4, dtype=torch.long)).tolist() == [[0, 1]], "the first of equal ones"
    rounded = torch.tensor([0.1, 0.2]).double().sum(), torch.tensor(0.3).double()
    assert rounded[0] != rounded[1]
    assert not len(pairs_of(torch.stack(rounded), torch.zeros(2, dtype=torch.long)))


@pytest.mark.parametrize("kind", ["best_worst", "all"])
def test_the_order_of_answers_does_not_matter(kind):
    draw = Key(4, ("pairs",)).generator()
    returns = torch.from_numpy(draw.permutation(20)).double()
    group = torch.from_numpy(draw.integers(0, 5, 20))
    order = torch.from_numpy(draw.permutation(20))
    found = {tuple(order[pair].tolist()) for pair in pairs_of(returns[order], group[order], kind)}
    assert found == set(map(tuple, pairs_of(returns, group, kind).tolist()))
    assert all(group[a] == group[b] and returns[a] > returns[b] for a, b in found)
