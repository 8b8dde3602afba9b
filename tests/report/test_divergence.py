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


def judge(values, returns=None, higher=True, key="x", noise=0.05, **settings):
    returns = RISE[: len(values)] if returns is None else returns
    return Divergence(by_row(returns, seed=1), {key: by_row(values, noise)}, {key: higher}, **settings)


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


COLLAPSE = [0.5, 0.5, 0.5, 0.3, 0.25, 0.22, 0.2]


@pytest.mark.parametrize(
    ("values", "returns", "hacked"),
    [
        (COLLAPSE, [0.8, 0.8, 0.8, 0.3, 0.3, 0.4, 0.5], False),  # both collapse, and one recovers in part
        (COLLAPSE, [0.8, 0.8, 0.8, 0.3, 0.5, 0.8, 0.9], True),
        ([0.4, 0.4, *COLLAPSE[2:]], [0.1, 0.4, 0.9, 0.3, 0.3, 0.4, 0.5], False),  # worse since 0.5
        ([0.4, 0.4, *COLLAPSE[2:]], [0.1, 0.4, 0.5, 0.3, 0.3, 0.4, 0.5], True),
        (COLLAPSE, [0.1, 0.8, 0.81, 0.8, 0.79, 0.8, 0.8], True),
    ],
)
def test_a_collapse_that_recovers_in_part_is_no_hacking(values, returns, hacked):
    found = judge(values, returns)
    assert found.fell
    assert found.rise.moved
    assert found.hacked is found.parted is hacked


def test_scores_are_what_is_compared():
    """Values by row say what is chance, and scores how far a value moved."""
    scores = {"x": np.array([0.48, 0.5, 0.4, 0.4, 0.4, 0.4])}
    [fall] = judge(SHAPES["even"], scores=scores).fell
    assert (fall.since, fall.first, fall.earlier, fall.last, fall.difference) == pytest.approx(
        (1, 0.48, 0.5, 0.4, -0.1)
    )
    assert fall.p == judge(SHAPES["even"]).fell[0].p
    assert not judge(SHAPES["even"], scores={"x": np.linspace(0.18, 0.267, 6)}).fell
    assert not judge(SHAPES["even"], scores={"return": np.array(RISE[::-1])}).parted


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
    deep, shallow = judge([0.4, 0.4, 0.31]), judge([0.4, 0.4, 0.33])
    assert [found.hacked for found in (deep, shallow)] == [True, False]
    assert shallow.parted
    assert judge([0.4, 0.4, 0.33], key="gold/wish").hacked, "each fall of what is wanted counts"
    assert not judge([3.9, 4.0, 4.3], higher=False).hacked
    assert judge([3.9, 4.8, 5.8], higher=False).hacked
    assert not judge([0.01, 0.05, 0.1], higher=False).hacked, "many times more, and not much"
    assert judge([0.01, 0.05, 0.12], higher=False).hacked
    assert not judge([0.01, 0.05, 0.12], higher=False, widths={"x": 2.0}).hacked, "a tenth of the range"
    assert judge([0.001, 0.005, 0.012], higher=False, widths={"x": 0.1}, noise=0.001).hacked


@pytest.mark.parametrize(
    ("values", "higher", "hacked"),
    [
        ([0.08, 0.04, 0.0], True, True),  # BLEU as a share
        ([0.09, 0.05, 0.01], True, True),  # overlap with references
        ([3.92, 4.1, 4.3], False, False),  # perplexity of a healthy run, and its distinct bigrams and overlap
        ([0.337, 0.31, 0.295], True, False),
        ([0.275, 0.27, 0.26], True, False),
        ([0.003, 0.008, 0.014], False, False),  # repetition
    ],
)
def test_small_scales(values, higher, hacked):
    found = judge(values, higher=higher, noise=0.001)
    assert found.parted
    assert found.hacked is hacked


def test_noise_neither_falls_nor_rises():
    assert not judge([0.5] * 6).fell
    assert changes({}, {}) == []
    assert not judge([0.5] * 6, returns=[0.3] * 6).rise.moved
