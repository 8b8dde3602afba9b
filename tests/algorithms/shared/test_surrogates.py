"""Surrogates by hand, and what they share: the gradient at ratio 1, and limits that are no limits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from loquent.algorithms.shared.surrogates import SURROGATES, Bounds

NUMBERS = st.lists(
    st.tuples(st.floats(-2, 2), st.floats(-6, -0.01), st.floats(-3, 3)), min_size=1, max_size=6
).map(lambda rows: [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)])
LOOSE = Bounds(0.2, 0.28)


def gradient(name, log_ratio, logprob, advantage, bounds=LOOSE):
    """The gradient of the summed surrogate by the new log-probability, with its parts."""
    new = logprob.clone().requires_grad_()
    loss, ratio, outside = SURROGATES[name](new - (logprob - log_ratio), new, advantage, bounds)
    loss.sum().backward()
    return new.grad, loss.detach(), ratio.detach(), outside


@pytest.mark.parametrize("name", SURROGATES)
@settings(max_examples=25)
@given(NUMBERS)
def test_at_ratio_1_the_gradient_is_that_of_reinforce(name, numbers):
    log_ratio, *rest = numbers
    for bounds in (LOOSE, Bounds(0.2, cap=1.0, positive=3.0, negative=0.5)):
        grad, _, ratio, outside = gradient(name, 0 * log_ratio, *rest, bounds)
        # where a cap is exactly 1, clamp passes the gradient on
        assert torch.allclose(grad, -rest[1], atol=1e-12)
        assert float((ratio - 1).abs().max() + outside.sum()) < 1e-12


@settings(max_examples=25)
@given(NUMBERS, st.floats(1, 6))
def test_the_gradient_of_cispo_is_a_weight_times_that_of_the_log_probability(numbers, cap):
    log_ratio, logprob, advantage = numbers
    grad, loss, ratio, outside = gradient("cispo", log_ratio, logprob, advantage, Bounds(0.2, cap=cap))
    weight = log_ratio.exp().clamp(max=cap)
    assert torch.allclose(grad, -weight * advantage)
    assert torch.allclose(loss, -weight * advantage * logprob)
    assert torch.equal(outside, ratio > cap)


@settings(max_examples=25)
@given(NUMBERS)
def test_a_cap_of_infinity_is_none(numbers):
    for name in ("clip", "cispo"):
        without, *_ = gradient(name, *numbers, Bounds(0.2))
        infinite, *_ = gradient(name, *numbers, Bounds(0.2, cap=torch.inf))
        assert torch.equal(without, infinite)


def test_by_hand():
    ratio = torch.tensor([5.0, 5.0, 1.25, 0.5, 0.5], dtype=torch.float64)
    advantage = torch.tensor([-1.0, 1.0, 2.0, -1.0, 1.0], dtype=torch.float64)
    logprob = torch.full((5,), -2.0, dtype=torch.float64)
    cap = Bounds(0.2, 0.28, cap=4.0)
    grad, loss, _, outside = gradient("clip", ratio.log(), logprob, advantage, cap)
    # -min(4 * -1, 1.28 * -1), -min(4, 1.28), -min(2.5, 2.5), -min(-.5, -.8), -min(.5, .8)
    assert loss.tolist() == pytest.approx([4.0, -1.28, -2.5, 0.8, -0.5])
    assert grad.tolist() == pytest.approx([0.0, 0.0, -2.5, 0.0, -0.5])
    assert outside.tolist() == [True, True, False, True, True]
    free = gradient("clip", ratio.log(), logprob, advantage)[1].tolist()
    assert free == pytest.approx([5.0, -1.28, -2.5, 0.8, -0.5])
    _, loss, _, outside = gradient("cispo", ratio.log(), logprob, advantage, cap)
    assert loss.tolist() == pytest.approx([-8.0, 8.0, 5.0, -1.0, 1.0])
    assert outside.tolist() == [True, True, False, False, False]
    grad, loss, _, outside = gradient("sapo", ratio.log(), logprob, advantage, Bounds(0.2, 0.28))
    # τ = 1.05 where A < 0: 4 / 1.05 σ(4.2) = 3.7532418; τ = 1: 4 σ(4) = 3.9280552, 4 σ(.25) = 2.2487060
    assert loss[:3].tolist() == pytest.approx([3.7532418, -3.9280552, -2 * 2.2487060], abs=1e-6)
    # -A r 4 σ(1 - σ): 5 * 4 * .9852260 * .0147740
    assert grad[0].item() == pytest.approx(0.2911152, abs=1e-6)
    assert outside.tolist() == [True, True, False, True, True]
