"""Golden values A2 and A3, and the laws of the estimator: padding, borders, discounting per turn."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from loquent.algorithms.shared.gae import discounts, gae

A2_REWARD, A2_VALUE = [-0.01, -0.02, 0.97], [0.5, 0.6, 0.7]
A2 = [0.3914823675, 0.326935, 0.27]
# A2, gamma .99, lambda .95, V(end) = 0:
#   A_2 = .97 - .7 = .27;  A_1 = (-.02 + .99 * .7 - .6) + .9405 * .27 = .073 + .253935 = .326935
#   A_0 = (-.01 + .99 * .6 - .5) + .9405 * .326935 = .084 + .3074823675 = .3914823675;  returns = A + V
A3_REWARD, A3_VALUE = [0.0, 0.05], [0.2, 0.3]
A3 = [0.234313, 0.146]
# A3, truncated with V = .4: A_1 = .05 + .99 * .4 - .3 = .146;  A_0 = (.99 * .3 - .2) + .9405 * .146 = .097 +
# .137313 = .234313


def one(reward, value, *, alive=None, bootstrap=0.0, gamma=0.99, lam=0.95, turn=None, per="token", pad=0):
    """The estimator on a single row of doubles, with `pad` places of rubbish at its right."""
    n = len(reward)
    real = torch.tensor([[True] * n + [False] * pad])
    alive = torch.tensor(
        [(alive if alive is not None else [True] * (n - 1) + [bootstrap != 0]) + [True] * pad]
    )
    turns = torch.tensor([(turn or [1] * n) + [9] * pad])
    padded = [
        torch.tensor([row + [float(7 + i)] * pad], dtype=torch.float64)
        for i, row in enumerate((reward, value))
    ]
    factor = discounts(turns, real, gamma, per).double()
    advantage, target = gae(*padded, real, alive, torch.tensor([bootstrap], dtype=torch.float64), factor, lam)
    assert not advantage[:, n:].any()
    assert not target[:, n:].any()
    return advantage[0, :n].tolist(), target[0, :n].tolist()


def test_a2_terminal():
    advantage, target = one(A2_REWARD, A2_VALUE)
    assert advantage == pytest.approx(A2, abs=1e-7)
    assert target == pytest.approx([0.8914823675, 0.926935, 0.97], abs=1e-7)
    assert one(A2_REWARD, A2_VALUE, gamma=1.0, lam=1.0)[0] == pytest.approx([0.44, 0.35, 0.27])
    assert one(A2_REWARD, A2_VALUE, lam=0.9)[0] != pytest.approx(A2, abs=1e-3)  # it can fail


def test_by_hand_in_binary_fractions():
    # r = (0, 1), V = (1/2, 1/2), gamma 1, lambda 1/2, ended: δ_1 = 1/2 = A_1;  δ_0 = 0, A_0 = 1/2 * 1/2 = 1/4
    assert one([0.0, 1.0], [0.5, 0.5], gamma=1.0, lam=0.5)[0] == [0.25, 0.5]
    assert one([0.0, 1.0], [0.5, 0.5], gamma=1.0, lam=0.25)[0] != [0.25, 0.5]


def test_a3_packed_and_truncated():
    alive = [True, True, False, True, True]
    packed, _ = one(A2_REWARD + A3_REWARD, A2_VALUE + A3_VALUE, alive=alive, bootstrap=0.4)
    assert packed == pytest.approx(A2 + A3, abs=1e-7)
    other, _ = one([*A2_REWARD, 5.0, -3.0], [*A2_VALUE, 1.0, 2.0], alive=alive, bootstrap=-9.0)
    assert other[:3] == packed[:3]  # the second episode does not reach the first
    leaky, _ = one(A2_REWARD + A3_REWARD, A2_VALUE + A3_VALUE, alive=[True] * 5, bootstrap=0.4)
    assert leaky[:3] != pytest.approx(A2, abs=1e-3)  # and it would, were the border not told


def test_a3_as_rows_of_unequal_length():
    nan = float("nan")  # what stands in the padding is never looked at
    reward = torch.tensor([A2_REWARD, [*A3_REWARD, nan]], dtype=torch.float64)
    value = torch.tensor([A2_VALUE, [*A3_VALUE, nan]], dtype=torch.float64)
    real = torch.tensor([[True] * 3, [True, True, False]])
    alive = torch.tensor([[True, True, False], [True, True, False]])
    advantage, target = gae(
        reward, value, real, alive, torch.tensor([0.0, 0.4]).double(), torch.full((2, 3), 0.99).double(), 0.95
    )
    assert advantage[0].tolist() == pytest.approx(A2, abs=1e-7)
    assert advantage[1].tolist() == pytest.approx([*A3, 0.0], abs=1e-6)
    assert target.isfinite().all()


def test_a_turn_is_discounted_once():
    # two answers of two tokens; r = (0, 0, 0, 1), V = 0, lambda 1, gamma 1/2, ended: by turns the reward
    # crosses one border, by tokens three
    assert one([0.0, 0.0, 0.0, 1.0], [0.0] * 4, gamma=0.5, lam=1.0, turn=[1, 1, 3, 3], per="turn")[0] == [
        0.5,
        0.5,
        1.0,
        1.0,
    ]
    assert one([0.0, 0.0, 0.0, 1.0], [0.0] * 4, gamma=0.5, lam=1.0, turn=[1, 1, 3, 3], per="token")[0] == [
        0.125,
        0.25,
        0.5,
        1.0,
    ]
    touching = one([0.0, 0.0, 0.0, 1.0], [0.0] * 4, gamma=0.5, lam=1.0, turn=[1, 1, 2, 2], per="turn")[0]
    assert touching == [0.5, 0.5, 1.0, 1.0]  # answers that touch are two turns
    # the cut is a border too
    assert one([0.0, 0.0], [0.0, 0.0], bootstrap=1.0, gamma=0.5, lam=1.0, per="turn", pad=3)[0] == [0.5, 0.5]


numbers = st.floats(-2, 2, allow_nan=False, width=32)


@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6),
    numbers,
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 4),
)
def test_laws(steps, bootstrap, gamma, lam, pad):
    reward, value = [r for r, _ in steps], [v for _, v in steps]
    plain = one(reward, value, bootstrap=bootstrap, gamma=gamma, lam=lam)
    # padding changes nothing
    assert one(reward, value, bootstrap=bootstrap, gamma=gamma, lam=lam, pad=pad) == plain
    gamma, following = float(torch.tensor(gamma)), [*value[1:], bootstrap]
    residuals = [r + gamma * after - v for r, v, after in zip(reward, value, following)]
    for n, advantage in enumerate(plain[0]):  # eq. 5 as it is printed: the sum of λ^t δ
        assert advantage == pytest.approx(
            sum((gamma * lam) ** t * delta for t, delta in enumerate(residuals[n:])), abs=1e-5
        )
