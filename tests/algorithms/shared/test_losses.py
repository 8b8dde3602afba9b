"""A4 and the other per-token losses, with their shapes checked."""

import pytest
import torch
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped

from loquent.algorithms.shared import gae, kl, losses
from loquent.errors import LoquentError

LOG_RATIO = torch.tensor([0.0, 0.3, -0.3, 0.1], dtype=torch.float64)
ADVANTAGE = torch.tensor([1.0, 1.0, -1.0, -2.0], dtype=torch.float64)


def test_a4_clipped_surrogate():
    # r = (1, 1.34986, .740818, 1.105171), clipped to [.8, 1.2]:
    # -min(1, 1) = -1;  -min(1.34986, 1.2) = -1.2;  -min(-.740818, -.8) = .8;  -min(-2.2103419, -2.2103419) =
    # 2.2103419
    old = torch.tensor([-1.0, -2.0, -3.0, -0.5], dtype=torch.float64)
    loss, _, clipped = losses.clipped_surrogate(old + LOG_RATIO, old, ADVANTAGE, 0.2)
    assert loss.tolist() == pytest.approx([-1, -1.2, 0.8, 2.2103418], abs=1e-6)
    assert float(loss.mean()) == pytest.approx(0.2025855, abs=1e-6)
    assert clipped.tolist() == [False, True, True, False]
    # mean((r - 1) - log r)
    assert float(kl.k3(old, old + LOG_RATIO).mean()) == pytest.approx(0.0239620, abs=1e-6)
    assert float(losses.clipped_surrogate(old + LOG_RATIO, old, ADVANTAGE, 0.25)[0].mean()) != pytest.approx(
        0.2025855, abs=1e-3
    )


def test_a4_the_gradient_stops_where_the_ratio_is_clipped():
    new = LOG_RATIO.clone().requires_grad_()
    losses.clipped_surrogate(new, torch.zeros_like(new), ADVANTAGE, 0.2)[0].sum().backward()
    # inside: -A r; clipped in the direction the advantage pushes: 0
    assert new.grad.tolist() == pytest.approx([-1.0, 0.0, 0.0, 2.2103418], abs=1e-6)


def test_a4_normalised():
    # mean -1/4, deviations (5/4, 5/4, -3/4, -7/4), unbiased deviation sqrt(27/4 / 3) = 3/2
    assert losses.normalise(ADVANTAGE).tolist() == pytest.approx(
        [0.8333333, 0.8333333, -0.5, -1.1666667], abs=1e-6
    )
    biased = (ADVANTAGE - ADVANTAGE.mean()) / ADVANTAGE.std(unbiased=False)
    assert biased.tolist() != pytest.approx([0.8333333, 0.8333333, -0.5, -1.1666667], abs=1e-2)  # it can fail
    assert not losses.normalise(torch.zeros(4)).any()
    assert losses.normalise(torch.tensor([3.0])).tolist() == [3.0]
    with pytest.raises(LoquentError, match="no action token"):
        losses.normalise(torch.zeros(0))


def test_squared_error():
    value, target, old = torch.tensor([1.0, 3.0]), torch.tensor([0.0, 0.0]), torch.tensor([2.0, 3.5])
    assert losses.squared_error(value, target).tolist() == [1.0, 9.0]
    # kept within 1/2 of old: (1.5, 3.0); errors 2.25 and 9; the larger of the two
    assert losses.squared_error(value, target, old, 0.5).tolist() == [2.25, 9.0]


def test_explained_variance():
    target = torch.tensor([0.0, 1.0, 2.0])
    assert losses.explained_variance(target, target) == 1.0
    assert losses.explained_variance(torch.ones(3), target) == 0.0
    assert losses.explained_variance(target, torch.ones(3)) is None
    assert losses.explained_variance(target[:1], target[:1]) is None


PURE = [
    losses.clipped_surrogate,
    losses.squared_error,
    losses.normalise,
    losses.explained_variance,
    kl.k1,
    kl.k3,
    gae.gae,
    gae.discounts,
]


def test_the_annotated_shapes_hold():
    checked = {f.__name__: jaxtyped(typechecker=beartype)(f) for f in PURE}
    n, grid = torch.randn(5), torch.randn(2, 3)
    real = torch.ones(2, 3, dtype=torch.bool)
    checked["clipped_surrogate"](n, n, n, 0.2)
    checked["squared_error"](n, n, n, 0.1)
    checked["normalise"](n)
    checked["explained_variance"](n, n)
    checked["k1"](grid, grid)
    checked["k3"](n, n)
    checked["gae"](
        grid,
        grid,
        real,
        real,
        torch.zeros(2),
        checked["discounts"](torch.ones(2, 3, dtype=torch.long), real, 0.9, "turn"),
        0.9,
    )
    for wrong in (
        lambda: checked["clipped_surrogate"](n, n[:4], n, 0.2),
        lambda: checked["gae"](grid, grid, real, real, torch.zeros(3), grid, 0.9),
    ):
        with pytest.raises(TypeCheckError):
            wrong()
