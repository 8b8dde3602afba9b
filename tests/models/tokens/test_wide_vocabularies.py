"""Large vocabularies: sums by blocks give the draws of a complete sum, and masks need no full sort."""

import numpy as np
import pytest
import torch

from loquent.core.seeding import Key
from loquent.models.decode import sampling
from loquent.models.decode.sampling import choose
from loquent.models.tokens import support
from loquent.models.tokens.support import filter_top_k, filter_top_p


def whole(logits, uniform):
    """The draws and totals of a cumulative sum in float64 over all columns."""
    mass = (logits - logits.amax(1, keepdim=True)).exp()
    sums = mass.cumsum(1, dtype=torch.float64)
    last = torch.searchsorted(sums, sums[:, -1:].contiguous())
    place = torch.searchsorted(sums, (uniform * sums[:, -1])[:, None], right=True)
    return torch.minimum(place, last)[:, 0], sums


@pytest.mark.parametrize("vocabulary", [4096, 4097, 5000, 50257])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_draws_by_blocks_are_those_of_the_whole_sum(vocabulary, scale):
    random = Key(0, ("wide", vocabulary, scale)).generator()
    logits = torch.from_numpy(random.normal(size=(40, vocabulary)).astype(np.float32) * scale)
    logits[3, 1:], logits[4, :-1] = -torch.inf, -torch.inf
    logits[5, vocabulary // 2 :] = -torch.inf
    uniform = torch.from_numpy(random.random(40))
    uniform[:6] = 0.0
    uniform[6:10] = 1 - 2**-53
    # exactly at the boundary of two columns, and just beside it
    sums = whole(logits, uniform)[1]
    for row, factor in zip(range(10, 30), np.tile([1.0, 1 - 2**-52, 1 + 2**-52, 1 + 1e-13], 5), strict=True):
        column = int(random.integers(vocabulary - 1))
        uniform[row] = min(float(sums[row, column] / sums[row, -1]) * factor, 1 - 2**-53)
    expected, sums = whole(logits, uniform)
    choice = choose(logits, uniform)
    assert torch.equal(choice.ids, expected)
    above = (logits - logits.amax(1, keepdim=True)).gather(1, expected[:, None])[:, 0].double()
    assert torch.allclose(choice.drawn_logprob, above - sums[:, -1].log(), atol=1e-12, rtol=0)


def test_draws_by_blocks_depend_on_their_row_alone():
    random = Key(1, ("wide",)).generator()
    logits, uniform = torch.from_numpy(random.normal(size=(7, 9000))), torch.from_numpy(random.random(7))
    together = choose(logits, uniform)
    for row in range(7):
        alone = choose(logits[row : row + 1], uniform[row : row + 1])
        assert int(alone.ids) == int(together.ids[row])
        assert float(alone.drawn_logprob) == float(together.drawn_logprob[row])
        greedy = choose(logits[row : row + 1], None)
        assert int(greedy.ids) == int(logits[row].argmax())


def test_a_number_at_a_boundary_is_decided_by_the_whole_sum(monkeypatch):
    """Without the slack, additions in another order choose another column at a boundary."""
    random = Key(2, ("wide",)).generator()
    logits = torch.from_numpy(random.normal(size=(200, 8192)))
    sums = whole(logits, torch.zeros(200))[1]
    column = torch.from_numpy(random.integers(0, 8191, 200))
    uniform = sums.gather(1, column[:, None])[:, 0] / sums[:, -1]
    expected = whole(logits, uniform)[0]
    assert torch.equal(choose(logits, uniform).ids, expected)
    monkeypatch.setattr(sampling, "SLACK", -1.0)
    assert not torch.equal(choose(logits, uniform).ids, expected)


def test_a_draw_that_rounding_of_a_long_sum_decides_is_that_of_the_whole_sum():
    """A sum of 1 loses 2^20 masses of half its last place; sums of blocks keep them, 1.2e-10 in all."""
    logits = torch.full((1, 2**20), float(np.log(1.1e-16)), dtype=torch.float64)
    logits[0, 0], logits[0, -3], logits[0, -2:] = 0.0, float(np.log(0.01)), 0.0
    sums = whole(logits, torch.zeros(1, dtype=torch.float64))[1]
    assert float(sums[0, -4]) == 1.0
    uniform = (sums[:, -3] + 1e-12) / sums[:, -1]  # just beyond the third column from the end
    expected = whole(logits, uniform)[0]
    assert expected.tolist() == [2**20 - 2]
    assert torch.equal(choose(logits, uniform).ids, expected)


def sorted_nucleus(logits, p, min_keep):
    total = logits.double().logsumexp(1, keepdim=True)
    return support._nucleus(logits, total, p, min_keep, logits.shape[1])[0]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 0.999999, 1 - 1e-12])
@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("rounded", [False, True])
def test_the_nucleus_by_buckets_is_that_of_a_full_sort(p, scale, rounded):
    random = Key(3, ("nucleus", p, scale)).generator()
    logits = torch.from_numpy(random.normal(size=(11, 5003)).astype(np.float32) * scale)
    logits = (logits * 4).round() / 4 if rounded else logits  # many equal logits
    logits[1, ::2], logits[2, 1:], logits[3, 7] = -torch.inf, -torch.inf, 80.0
    for keep in (1, 3, 400):
        assert torch.equal(filter_top_p(logits, p, keep), sorted_nucleus(logits, p, keep))
    assert torch.equal(filter_top_p(logits.double(), p), sorted_nucleus(logits.double(), p, 1))


def test_a_nucleus_whose_mass_meets_p_is_sorted(monkeypatch):
    """Equal logits: the mass of k tokens is k / V, which meets p up to rounding."""
    logits = torch.zeros(2, 8192)
    p = 0.25 - support.SLACK
    assert torch.equal(filter_top_p(logits, p), sorted_nucleus(logits, p, 1))
    sorts = []
    own = support._nucleus
    monkeypatch.setattr(support, "_nucleus", lambda *given: sorts.append(1) or own(*given))
    filter_top_p(logits, p)
    assert sorts
    sorts.clear()
    filter_top_p(logits, 0.3)
    assert not sorts


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_rows_that_are_not_finite_change_no_other_row(bad):
    logits = torch.from_numpy(Key(4, ("nan",)).generator().normal(size=(3, 5000)))
    expected = filter_top_p(logits, 0.7)
    logits[1, 4000] = bad
    kept = filter_top_p(logits, 0.7)
    assert torch.equal(kept[0], expected[0])
    assert torch.equal(kept[2], expected[2])


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("vocabulary", [60, 5000])
def test_the_first_ranks_are_those_of_the_filter(vocabulary, rounded):
    random = Key(6, ("ranks", vocabulary)).generator()
    logits = torch.from_numpy(random.normal(size=(9, vocabulary)).astype(np.float32))
    logits = logits.round() if rounded else logits  # ties at the last rank
    logits[2, 3:] = -torch.inf
    uniform = torch.from_numpy(random.random(9))
    choice = choose(logits, uniform, top_k=7)
    kept = filter_top_k(logits, 7)
    assert torch.equal(choice.support.dense_mask(), kept)
    expected = whole(logits.masked_fill(~kept, -torch.inf), uniform)[0]
    assert torch.equal(choice.ids, expected)
    policy = logits.gather(1, expected[:, None])[:, 0].double() - logits.logsumexp(1).double()
    assert torch.equal(choice.policy_logprob, policy)
