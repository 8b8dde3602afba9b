"""Attention of one query per row over slots: the formula, and slots that grow."""

import pytest
import torch

from loquent.models.caches.single import empty, grouped_attention, wider

SIZES = [(4, 1), (1, 4), (2, 3)]  # heads that have keys, and heads that share each


def slots(rows, heads, width, shared):
    return empty(rows, heads, width, shared=shared > 1, dtype=torch.float64, device=torch.device("cpu"))


def filled(part, columns, seed):
    """Slots with `columns` more columns of random numbers."""
    start, part = part.shape[2], wider(part, columns)
    part[:, :, start:] = torch.randn(
        part[:, :, start:].shape, dtype=part.dtype, generator=torch.Generator().manual_seed(seed)
    )
    return part


@pytest.mark.parametrize(("heads", "shared"), SIZES)
def test_single_queries_read_the_visible_columns(heads, shared):
    keys, values = (filled(part, 7, seed) for seed, part in enumerate(slots(3, heads, 5, shared)))
    query = torch.randn(3, heads, shared, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    mask = torch.zeros(3, 1, 1, 7, dtype=torch.float64)
    mask[0, ..., 4:], mask[2, ..., :1] = -torch.inf, -torch.inf
    found = grouped_attention(query, keys, values, mask)
    for row, seen in enumerate((slice(4), slice(7), slice(1, 7))):
        for head in range(heads):
            for number in range(shared):
                weights = (keys[row, head, seen] @ query[row, head, number]).exp()
                expected = (weights[:, None] * values[row, head, seen]).sum(0) / weights.sum()
                assert torch.allclose(found[row, head, number], expected, rtol=1e-12)


@pytest.mark.parametrize("shared", [1, 4])
def test_slots_that_grow_keep_their_numbers_and_their_memory_order(shared):
    for part in slots(2, 3, 5, shared):
        once = filled(part, 4, 0)
        twice = wider(once, 6)
        assert twice.shape == (2, 3, 10, 5)
        assert torch.equal(twice[:, :, :4], once)
        assert not twice[:, :, 4:].any()
        assert twice.stride(2) == (1 if part.stride(2) == 1 else 5)
        assert (once.stride(2) == 1) == (twice.stride(2) == 1)


def test_a_single_query_and_shared_heads_have_opposite_memory_orders():
    (keys, values), (shared_keys, shared_values) = slots(2, 3, 5, 1), slots(2, 3, 5, 4)
    assert keys.stride() == shared_values.stride() != values.stride() == shared_keys.stride()
