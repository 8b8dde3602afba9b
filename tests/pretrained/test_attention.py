"""Attention beside torch's own layer, and the linear biases of arXiv:2108.12409 by hand."""

import torch
from torch import nn

from loquent.core.seeding import Key, borrow_generators
from loquent.pretrained.attention import Attention, recent


@torch.no_grad()
def test_attention_is_that_of_torch():
    with borrow_generators(Key(0)):
        ours, theirs = Attention(8, 2), nn.MultiheadAttention(8, 2, batch_first=True)
        queries, keys, bias = torch.randn(3, 4, 8), torch.randn(3, 5, 8), torch.randn(2, 4, 5)
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.out.state_dict())
    real = torch.arange(5) < torch.tensor([5, 3, 1])[:, None]
    expected = theirs(queries, keys, keys, key_padding_mask=~real)[0]
    torch.testing.assert_close(ours(queries, keys, real[:, None, None]), expected)
    expected = theirs(queries, keys, keys, attn_mask=bias.repeat(3, 1, 1))[0]
    torch.testing.assert_close(ours(queries, keys, bias), expected)
    index = torch.tensor([2, 0, 1])
    one = ours(queries[:, :1], keys[index], real[index][:, None, None])[:, 0]
    torch.testing.assert_close(ours.read(queries[:, 0], keys, real, index), one)


def test_biases_by_hand():
    never = -torch.inf
    assert recent(3, 2).tolist() == [
        [[0, never, never], [-1 / 16, 0, never], [-2 / 16, -1 / 16, 0]],
        [[0, never, never], [-1 / 256, 0, never], [-2 / 256, -1 / 256, 0]],
    ]
