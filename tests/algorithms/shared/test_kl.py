"""The KL controller (A1) and the estimators."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from loquent.algorithms.shared.kl import Controller, k1, k3
from loquent.errors import BadCheckpoint, BadSetting


def test_a1_controller():
    # coefficient .1, target .1: kl -.2 -> e = clip(-3) = -.2 -> .1 * (1 - .1 * .2) = .098; kl .3 -> e = .2 ->
    # .098 * 1.02 = .09996
    controller = Controller(0.1, 0.1, gain=0.1)
    assert [controller.step(kl) for kl in (-0.2, 0.3, 0.4)] == pytest.approx(
        [0.098, 0.09996, 0.1019592], abs=1e-12
    )
    # kl .105 -> e = .05 -> .1 * 1.005; with the paper's gain of .2, .1 * 1.01
    assert Controller(0.1, 0.1, gain=0.1).step(0.105) == pytest.approx(0.1005)
    assert Controller(0.1, 0.1, gain=0.2).step(0.105) == pytest.approx(0.101)
    # it can fail
    assert Controller(0.1, 0.1, gain=0.1, clip=math.inf).step(-0.2) != pytest.approx(0.098, abs=1e-3)


@pytest.mark.parametrize("target", [None, math.inf])
def test_no_target_is_a_fixed_coefficient(target):
    controller = Controller(0.1, target)
    assert [controller.step(kl) for kl in (0.0, 5.0, math.nan)] == [0.1, 0.1, 0.1]


@pytest.mark.parametrize("target", [0.0, -1.0, math.nan])
def test_a_target_that_cannot_be(target):
    with pytest.raises(BadSetting, match="KL target"):
        Controller(0.1, target)


def test_state_round_trip():
    one, other = Controller(0.1, 0.1), Controller(0.7, 0.1)
    one.step(0.3)
    other.load_state_dict(one.state_dict())
    assert other.step(0.3) == one.step(0.3)
    assert Controller(0.7, 0.1).step(0.3) != one.coefficient
    with pytest.raises(BadCheckpoint, match="coefficient"):
        other.load_state_dict({})


@given(st.floats(-5, 5), st.lists(st.floats(-5, 5), max_size=5))
def test_the_coefficient_moves_towards_the_target_and_at_most_by_gain_times_clip(kl, history):
    controller = Controller(1.0, 0.5)
    for earlier in history:
        controller.step(earlier)
    before = controller.coefficient
    after = controller.step(kl)
    assert (after > before) == (kl > 0.5) or after == pytest.approx(before)
    assert abs(after / before - 1) <= 0.1 * 0.2 + 1e-12


def test_the_estimators_average_to_the_divergence():
    p, q = (
        torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64),
        torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64),
    )
    exact = 0.25 * math.log(2)  # .5 log 2 + 0 + .25 log(1/2)
    for estimate in (k1, k3):
        assert float((p * estimate(p.log(), q.log())).sum()) == pytest.approx(exact)
    assert (k3(p.log(), q.log()) >= 0).all()
    assert (k1(p.log(), q.log()) < 0).any()
    # drawn from the wrong policy it is another number
    assert float((q * k1(p.log(), q.log())).sum()) != pytest.approx(exact)
    same = torch.randn(100)
    assert not k1(same, same).any()  # exactly 0 for equal policies (A9)
    assert not k3(same, same).any()
