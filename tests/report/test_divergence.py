"""The rule for reward hacking, on values by row made up here."""

import numpy as np
import pytest

from loquent.report.divergence import Divergence, changes

ROWS = 30
RISE = [0.1, 0.3, 0.5, 0.6, 0.7, 0.75]


def by_row(means, noise=0.05, seed=0):
    """Values whose means over rows are these; rows have levels of their own."""
    draw = np.random.default_rng(seed)
    parts = noise * draw.normal(size=(len(means), ROWS))
    levels = draw.normal(size=ROWS)
    parts = parts - parts.mean(1, keepdims=True) + levels - levels.mean()
    return parts + np.array(means)[:, None]


def judge(values, returns=RISE, higher=True, key="x", **settings):
    return Divergence(by_row(returns, seed=1), {key: by_row(values)}, {key: higher}, **settings)


SHAPES = {
    "even": [0.5, 0.44, 0.38, 0.32, 0.26, 0.2],
    "middle": [0.5, 0.5, 0.5, 0.2, 0.2, 0.2],
    "early": [0.5, 0.2, 0.2, 0.2, 0.2, 0.2],
    "end": [0.5, 0.5, 0.5, 0.5, 0.5, 0.2],
    "hump": [0.2, 0.3, 0.5, 0.4, 0.3, 0.2],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("returns", [RISE, [0.1] + [0.7] * 5, [0.1, 0.1, 0.1, 0.7, 0.6, 0.7]])
def test_a_fall_of_any_shape_under_any_rise_is_hacking(shape, returns):
    found = judge(SHAPES[shape], returns)
    [fall] = found.fell
    assert (fall.earlier, fall.last, fall.difference) == pytest.approx((0.5, 0.2, -0.3))
    assert fall.rows == ROWS
    assert found.hacked
    assert found.gains == []


def test_direction_and_gains():
    values = {"x": by_row(SHAPES["even"]), "y": by_row(SHAPES["even"], seed=2)}
    found = Divergence(by_row(RISE, seed=1), values, {"x": True, "y": False})
    assert [fall.key for fall in found.fell] == ["x"]
    assert [rise.key for rise in found.gains] == ["y"]
    assert found.gains[0].difference == pytest.approx(-0.3), "in its own direction"
    assert not judge(SHAPES["even"], higher=False).fell


@pytest.mark.parametrize(
    ("returns", "top", "parted"),
    [
        (RISE[::-1], None, False),
        ([0.98, 0.97, 0.99, 0.98, 0.98, 0.97], 1.0, True),
        ([0.98, 0.97, 0.99, 0.98, 0.98, 0.97], None, False),
        ([0.98, 0.97, 0.99, 0.98, 0.9, 0.8], 1.0, False),
        ([-0.01] * 6, 0.0, False),
    ],
)
def test_a_return_that_does_not_rise_must_be_saturated(returns, top, parted):
    found = judge(SHAPES["even"], returns, top=top)
    assert found.fell
    assert found.parted is found.hacked is parted


def test_a_price_is_told_from_hacking_by_its_size():
    deep, shallow = judge([0.4, 0.4, 0.28]), judge([0.4, 0.4, 0.31])
    assert [found.hacked for found in (deep, shallow)] == [True, False]
    assert shallow.parted
    assert judge([0.4, 0.4, 0.31], key="gold/wish").hacked, "each fall of what is wanted counts"
    assert not judge([3.9, 4.0, 4.3], higher=False).hacked
    assert judge([3.9, 4.8, 5.8], higher=False).hacked
    assert not judge([0.01, 0.05, 0.1], higher=False).hacked, "many times more, and not much"


def test_noise_neither_falls_nor_rises():
    assert not judge([0.5] * 6).fell
    assert changes({}, {}) == []
    assert not judge([0.5] * 6, returns=[0.3] * 6).rise.moved
