"""What all gradient learners share: AdamW by hand, clipping, minibatches, means."""

import math

import pytest
import torch
from torch import nn

from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.pretrained.learning.optimization import (
    Means,
    adamw,
    clip_gradients,
    load_by_name,
    minibatches,
    rmsprop,
    sgd,
    state_by_name,
    take_step,
    trainable,
)


def linear():
    module = nn.Linear(2, 1)
    with torch.no_grad():
        module.weight.fill_(1.0)
        module.bias.fill_(1.0)
    return module


def test_adamw_by_hand():
    # gradient 0: a matrix decays by 1 - lr * decay = 1 - .5 * .5 = 3/4, a vector stays
    module = linear()
    parameters = trainable(net=module)
    optimizer = adamw(parameters, 0.5, 0.5)
    for p in parameters.values():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    assert module.weight.tolist() == [[0.75, 0.75]]
    assert module.bias.tolist() == [1.0]
    # the first step of Adam with gradient g is lr * g / |g| whatever its size
    module = linear()
    parameters = trainable(net=module)
    optimizer = adamw(parameters, 0.5, 0.0)
    for p in parameters.values():
        p.grad = torch.full_like(p, -3.0)
    optimizer.step()
    assert module.weight.tolist()[0] == pytest.approx([1.5, 1.5])


def test_vectors_of_a_network_with_its_own_rate_have_no_decay():
    named = trainable(policy=linear(), critic=linear())
    groups = {
        (group["network"], group["weight_decay"], name)
        for group in adamw(named, 0.5, 0.25, ("critic",)).param_groups
        for name, p in named.items()
        if any(p is listed for listed in group["params"])
    }
    assert groups == {
        (network, decay, f"{network or 'policy'}.{name}")
        for network in ("", "critic")
        for name, decay in (("weight", 0.25), ("bias", 0.0))
    }


def test_trainable_lists_shared_parameters_once_and_frozen_ones_never():
    module, other = linear(), linear()
    other.weight = module.weight
    module.bias.requires_grad_(False)
    assert list(trainable(a=module, b=other, c=None)) == ["a.weight", "b.bias"]


def test_gradients_are_clipped_together():
    a, b = linear(), linear()
    parameters = trainable(a=a, b=b)
    for p in parameters.values():
        p.grad = torch.full_like(p, 2.0)  # six entries of 2: the norm is 2 sqrt 6
    assert clip_gradients(parameters, None) == pytest.approx(2 * math.sqrt(6))
    assert a.weight.grad.tolist() == [[2.0, 2.0]]
    assert clip_gradients(parameters, 0.5) == pytest.approx(2 * math.sqrt(6))  # the norm before
    assert clip_gradients(parameters, 0.5) == pytest.approx(0.5, abs=1e-5)
    assert clip_gradients(parameters, 100.0) == pytest.approx(0.5, abs=1e-5)
    a.bias.grad.fill_(float("nan"))
    with pytest.raises(LoquentError, match="diverged"):
        clip_gradients(parameters, 0.5)


def test_the_state_is_a_copy_and_comes_back():
    one, other = linear(), linear()
    states = []
    for module in (one, other):
        parameters = trainable(net=module)
        optimizer = adamw(parameters, 0.1, 0.0)
        assert state_by_name(optimizer, parameters) == {}
        states.append((optimizer, parameters))

    def step(optimizer, parameters):
        for p in parameters.values():
            p.grad = torch.ones_like(p)
        optimizer.step()

    step(*states[0])
    kept = state_by_name(*states[0])
    step(*states[0])
    other.load_state_dict({"weight": one.weight, "bias": one.bias})
    assert float(kept["net.weight"]["step"]) == 1.0  # later steps do not reach the copy
    load_by_name(*states[1], state_by_name(*states[0]))
    for state in states:
        step(*state)
    assert torch.equal(one.weight, other.weight)


def test_the_count_of_steps_lies_where_the_optimizer_wants_it():
    # torch's own rule (Optimizer._process_value_according_to_param_policy): beside a fused parameter, else
    # where it was. The meta device stands for any that is not the CPU; moments always go to their parameter.
    for fused, where in ((True, "meta"), (False, "cpu")):
        parameters = trainable(net=nn.Linear(2, 1, device="meta"))
        optimizer = adamw(parameters, 0.1, 0.0)
        for group in optimizer.param_groups:
            group["fused"] = fused
        state = {
            name: {
                "step": torch.tensor(3.0),
                "exp_avg": torch.zeros(p.shape),
                "exp_avg_sq": torch.zeros(p.shape),
            }
            for name, p in parameters.items()
        }
        load_by_name(optimizer, parameters, state)
        for p in parameters.values():
            assert {key: value.device.type for key, value in optimizer.state[p].items()} == {
                "step": where,
                "exp_avg": "meta",
                "exp_avg_sq": "meta",
            }


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_state_from_the_cpu_goes_on_on_cuda():
    one, other = linear(), linear().cuda()
    states = [(adamw(p, 0.1, 0.0), p) for p in (trainable(net=one), trainable(net=other))]
    for n, (optimizer, parameters) in enumerate(states):
        if n:
            other.load_state_dict(one.state_dict())
            load_by_name(optimizer, parameters, state_by_name(*states[0]))
        for p in parameters.values():
            p.grad = torch.ones_like(p)
        optimizer.step()
    assert all(float(entry["step"]) == 2.0 for entry in states[1][0].state.values())


def test_minibatches_cover_every_row_once_in_a_keyed_order():
    rows = torch.tensor([3, 1, 4, 15, 9, 2, 6])
    drawn = [chunk.tolist() for chunk in minibatches(rows, 3, Key(0, ("x",)))]
    assert [len(chunk) for chunk in drawn] == [3, 3, 1]
    assert sorted(row for chunk in drawn for row in chunk) == sorted(rows.tolist())
    assert drawn == [chunk.tolist() for chunk in minibatches(rows, 3, Key(0, ("x",)))]
    assert drawn != [chunk.tolist() for chunk in minibatches(rows, 3, Key(1, ("x",)))]


def test_the_mean_of_nothing_is_not_logged():
    means = Means()
    means.add(none=torch.zeros(0), some=torch.zeros(0))
    means.add(some=torch.tensor([2.0, 4.0]))
    assert means.log_values() == {"some": 3.0}


def test_means_weigh_by_entries():
    means = Means()
    means.add(a=torch.tensor([1.0, 2.0, 3.0]), b=torch.tensor([True, False]))
    means.add(a=torch.tensor([6.0]))
    means.greatest("most", torch.tensor([1.0, 5.0]))
    means.greatest("most", torch.tensor([4.0]))
    assert means.log_values() == {"a": 3.0, "b": 0.5, "most": 5.0}  # not (2 + 6) / 2


def test_rows_that_a_batch_does_not_read_and_their_moments_stay_as_they_are():
    """The rows are those of PyTorch's SparseAdam to the bit, dense parameters those of AdamW."""
    ours, theirs = ([torch.nn.Parameter(torch.linspace(-1, 1, n)) for n in (12, 3)] for _ in range(2))
    for table, _ in (ours, theirs):
        table.data = table.data.view(6, 2)
    named = dict(zip(("table", "bias"), ours))
    lazy = adamw(named, 0.1, 0.0)
    others = torch.optim.SparseAdam(theirs[:1], lr=0.1), torch.optim.AdamW(theirs[1:], 0.1, weight_decay=0.0)
    for read in ([0, 3, 3], [3, 5], [0]):
        for table, bias in (ours, theirs):
            table.grad = bias.grad = None
            rows = torch.nn.functional.embedding(torch.tensor(read), table, sparse=True)
            ((rows**3).sum() + (bias**2).sum()).backward()
        take_step(lazy)
        for optimizer in others:
            optimizer.step()
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])
    state = state_by_name(lazy, named)
    assert torch.equal(state["table"]["exp_avg"].abs().sum(1) > 0, torch.tensor([1, 0, 0, 1, 0, 1]).bool())
    again = adamw(named, 0.1, 0.0)
    load_by_name(again, named, state)
    assert all(torch.equal(again.state[p][key], value) for p in ours for key, value in lazy.state[p].items())


def test_the_norm_of_a_sparse_gradient_is_that_of_the_dense_one():
    norms, gradients = [], []
    for sparse in (True, False):
        table = torch.nn.Parameter(torch.ones(4, 2))
        torch.nn.functional.embedding(torch.tensor([1, 1, 3]), table, sparse=sparse).sum().backward()
        norms.append(clip_gradients({"table": table}, 1.0))
        gradients.append(table.grad.to_dense())
    assert norms == pytest.approx([math.sqrt(10)] * 2)  # twice 2 and twice 1
    assert torch.equal(*gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "make", [lambda p: adamw(p, 0.1, 0.0), lambda p: rmsprop(p, 0.1), lambda p: sgd(p, 0.1)]
)
def test_the_hooks_of_others_are_called_once_a_step(make, dtype):
    parameter = torch.nn.Parameter(torch.ones(2, 2, dtype=dtype))
    optimizer, calls = make({"a": parameter}), []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    parameter.grad = torch.ones_like(parameter)
    take_step(optimizer)
    assert calls == ["before", "after"]
    assert parameter[0, 0].item() < 1


def test_rows_of_a_table_of_16_bits_change_as_those_of_float32():
    tables = [torch.nn.Parameter(torch.ones(4, 2, dtype=dtype)) for dtype in (torch.bfloat16, torch.float32)]
    for table in tables:
        optimizer = adamw({"table": table}, 0.125, 0.0)
        torch.nn.functional.embedding(torch.tensor([1, 3]), table, sparse=True).sum().backward()
        take_step(optimizer)
    assert torch.equal(tables[0], tables[1].to(torch.bfloat16))
    assert tables[0][:, 0].tolist() == [1.0, 0.875, 1.0, 0.875]
