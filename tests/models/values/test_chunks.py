import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from loquent.errors import LoquentError
from loquent.models.values.chunks import map_chunks, sum_chunks


def function(wide, here, wanted):
    logprob = wide.log_softmax(1)
    spread = (
        -(logprob.exp() * logprob).sum(1)
        if wanted[1]
        else torch.full((len(wide),), torch.nan, dtype=wide.dtype)
    )
    return logprob[:, 3], spread, (wide.square() * torch.arange(here.start, here.stop)[:, None]).sum(1)


def parts(bias=True):
    layer = nn.Linear(5, 11, bias=bias, dtype=torch.float64)
    states = torch.randn(13, 5, dtype=torch.float64, requires_grad=True)
    return layer, states


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("step", [1, 4, 13, 100])
@pytest.mark.parametrize("used", [(0,), (0, 1, 2), (2,)])
def test_values_and_gradients_are_those_of_the_whole(bias, step, used):
    torch.manual_seed(0)
    layer, states = parts(bias)
    upstream = torch.randn(3, 13, dtype=torch.float64)
    found = []
    for columns in (
        function(layer(states), slice(0, 13), (True,) * 3),
        map_chunks(layer, states, step, function, 3),
    ):
        layer.zero_grad()
        states.grad = None
        sum((columns[i] * upstream[i]).sum() for i in used).backward()
        found.append([*columns, states.grad, *(p.grad.clone() for p in layer.parameters())])
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(*found))
    assert not torch.allclose(found[0][3], found[1][3] * 1.0001, atol=1e-12)


def test_second_derivatives_are_refused():
    layer, states = parts()
    loss = function(layer(states), slice(0, 13), (True,) * 3)[0].sum()
    assert torch.autograd.grad(loss, states, create_graph=True)[0].requires_grad
    for loss in (
        map_chunks(layer, states, 4, function, 3)[0].sum(),
        sum_chunks(layer, states, 4, lambda wide, here: function(wide, here, (True,) * 3))[0],
    ):
        with pytest.raises(LoquentError, match="no second derivatives"):
            torch.autograd.grad(loss, states, create_graph=True)


def test_what_learns_nothing_gets_no_gradient():
    layer, states = parts()
    layer.requires_grad_(False)
    map_chunks(layer, states, 4, function, 3)[0].sum().backward()
    assert layer.weight.grad is None
    assert states.grad is not None
    with torch.no_grad():
        assert not map_chunks(layer, states, 4, function, 3)[0].requires_grad


def test_no_chunk_is_wider_than_asked():
    seen = []

    def watched(wide, here, wanted):
        seen.append((len(wide), wanted))
        return function(wide, here, wanted)

    layer, states = parts()
    map_chunks(layer, states, 6, watched, 3)[0].sum().backward()
    assert seen == [(n, (True, True, True)) for n in (6, 6, 1)] + [
        (n, (True, False, False)) for n in (6, 6, 1)
    ]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("step", [1, 4, 13, 100])
def test_a_sum_and_its_gradient_are_those_of_the_whole(bias, step):
    torch.manual_seed(0)
    layer, states = parts(bias)

    def rows(wide, here):
        return (wide.log_softmax(1)[:, 3] * torch.arange(here.start, here.stop)), wide.square().sum(1)

    found = []
    whole, parted = rows(layer(states), slice(0, 13)), sum_chunks(layer, states, step, rows)
    for total, column in ((whole[0].sum(), whole[1]), (parted[0], parted[1][0])):
        layer.zero_grad()
        states.grad = None
        (3 * total).backward()
        found.append([total, column, states.grad, *(p.grad.clone() for p in layer.parameters())])
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*found))
    assert not torch.allclose(found[0][3], found[1][3] * 1.0001, rtol=1e-12, atol=1e-12)
    assert not found[1][1].requires_grad


MANY_CHUNKS = """
import torch
from loquent.files.machine.memory import forget_peak, peak_rss, rss
from loquent.models.values.chunks import map_chunks
rows, vocabulary, step = 20 * 55, 152_000, 55  # 33 MB in a chunk
layer, states = torch.nn.Linear(2, vocabulary, bias=False), torch.ones(rows, 2)
with torch.no_grad():
    call = lambda states: map_chunks(layer, states, step, lambda wide, *rest: (wide.sum(1), wide.amax(1)), 2)
    call(states[:step])  # the first call of every operation takes more
    forget_peak()
    before = rss()
    call(states)
    print((peak_rss() - before) / (4 * step * vocabulary))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no peak that can be forgotten")
def test_the_memory_of_a_chunk_is_used_again():
    """Small tensors that lie between the memory of chunks would keep it from the next chunk."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_CHUNKS], capture_output=True, text=True, check=True, env=os.environ
    )
    assert float(done.stdout) < 10  # chunks at one time, of 20; it was 19
