import copy
import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from helpers.models.small_models import END, VOCABULARY, drawn, gpt2, llama, prompts_of
from loquent import pretrained
from loquent.core.seeding import Key
from loquent.models.caches import cache, slots
from loquent.models.caches import rows as choice_of_rows
from loquent.models.decode.loop import _without_gaps
from loquent.pretrained.forward import choice
from loquent.pretrained.forward import gpt2 as ours


def variant(**options):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {
        "vocab_size": VOCABULARY,
        "n_positions": 64,
        "n_embd": 32,
        "n_layer": 3,
        "n_head": 4,
        "initializer_range": 0.3,
    }
    marks = {"bos_token_id": END, "eos_token_id": END}
    return GPT2LMHeadModel(GPT2Config(**{**sizes, **marks, **options})).double().eval()


VARIANTS = [
    {},
    {"activation_function": "relu"},
    {"activation_function": "gelu"},
    {"activation_function": "gelu_pytorch_tanh"},
    {"scale_attn_by_inverse_layer_idx": True},
    {"scale_attn_weights": False},
    {"n_inner": 48},
    {"tie_word_embeddings": False},
]


def tokens_of(rows=3, wide=11):
    return torch.from_numpy(Key(0, ("tokens",)).generator().integers(0, VOCABULARY, (rows, wide)))


def near(a, b, within=1e-9):
    return bool((a - b).abs().max() < within)


def whole(module, tokens):
    return module.transformer(input_ids=tokens, use_cache=False).last_hidden_state


# ---- one pass over whole rows


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_hidden_states_and_gradients_are_the_librarys(options):
    module, tokens = variant(**options), tokens_of()
    assert ours.serves(module)
    upstream = torch.randn(3, 11, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = []
    for run in (whole, lambda module, tokens: ours.last_hidden(module.transformer, tokens)):
        module.zero_grad()
        hidden = run(module, tokens)
        (hidden * upstream).sum().backward()
        found.append((hidden, {name: p.grad.clone() for name, p in module.transformer.named_parameters()}))
    (theirs, their_gradients), (mine, my_gradients) = found
    assert near(mine, theirs, 1e-10)
    assert all(near(my_gradients[name], gradient, 1e-8) for name, gradient in their_gradients.items())
    with torch.no_grad():
        assert near(ours.last_hidden(module.transformer, tokens), theirs, 1e-10)
        module.transformer.h[1].attn.c_proj.bias[0] += 1e-6
        assert not near(ours.last_hidden(module.transformer, tokens), theirs, 1e-10)


@pytest.mark.parametrize("many", [0.1, 0.5, 1.0])
def test_states_where_they_are_wanted(many):
    module, tokens = gpt2(), tokens_of()
    wanted = torch.from_numpy(Key(1, ("wanted",)).generator().random(tokens.shape) < many)
    gradients = []
    for states in (whole(module, tokens), choice.hidden_where(ours, module.transformer, tokens, wanted)):
        module.zero_grad()
        states[wanted].square().sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in module.transformer.parameters()]))
        assert near(states[wanted], whole(module, tokens)[wanted], 1e-10)
    assert near(*gradients, 1e-8)
    assert pretrained.hidden(module, tokens, wanted)[wanted].equal(
        choice.hidden_where(ours, module.transformer, tokens, wanted)[wanted]
    )
    left_out = choice.hidden_where(ours, module.transformer, tokens, wanted)[~wanted]
    assert bool(len(left_out) and (left_out == 0).any()) == (many < 0.7)  # so something was saved


def test_nothing_wanted_is_no_error():
    module, tokens = gpt2(), tokens_of()
    assert choice.hidden_where(
        ours, module.transformer, tokens, torch.zeros_like(tokens, dtype=torch.bool)
    ).shape == (3, 11, 32)


def test_gelu_by_a_sigmoid():
    x = torch.linspace(-30, 30, 1001, dtype=torch.float64)
    with torch.no_grad():
        assert near(ours.gelu(x), F.gelu(x, approximate="tanh"), 1e-14)
        assert not near(ours.gelu(x), F.gelu(x), 1e-5)  # the other GELU, by erf
        assert torch.isfinite(ours.gelu(torch.tensor([-1e30, 1e30]))).all()
        assert ours.gelu(x.bfloat16()).dtype == torch.bfloat16
    x.requires_grad_()
    assert ours.gelu(x).requires_grad


# ---- whose pass it is


def test_other_networks_are_left_alone():
    class Adapted(torch.nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs) + 1

    def adapted(module):
        module.lm_head = Adapted(32, VOCABULARY, bias=False, dtype=torch.float64)

    def patched(module):
        module.transformer.h[0].forward = lambda hidden, *given, **named: hidden

    def scaled(module):
        torch.nn.utils.parametrizations.weight_norm(module.transformer.h[0].mlp.c_fc)

    changes = [
        adapted,
        patched,
        scaled,
        lambda module: module.train(),
        lambda module: module.transformer.h[0].attn.train(),
        lambda module: module.transformer.drop.train(),
        lambda module: module.transformer.h[1].register_forward_hook(lambda *given: None),
        lambda module: module.transformer.register_forward_pre_hook(lambda *given: None),
        lambda module: module.transformer.h[0].register_full_backward_hook(lambda *given: None),
    ]
    for change in changes:
        module = gpt2(dropout=0.1)
        assert ours.serves(module)
        change(module)
        assert not ours.serves(module)
    assert ours.serves(gpt2().train()), "nothing is dropped at a rate of 0"
    assert not ours.serves(llama())
    assert not ours.serves(variant(reorder_and_upcast_attn=True))
    assert not ours.serves(variant(add_cross_attention=True))


def test_hooks_see_every_pass():
    module, seen = gpt2(), []
    module.transformer.register_forward_hook(lambda *given: seen.append(1))
    pretrained.hidden(module, tokens_of())
    assert seen == [1]
    drawn(module, prompts_of(2), {"max_new_tokens": 5}, {"end": ()})  # which probes the model's cache first
    seen.clear()
    drawn(module, prompts_of(2), {"max_new_tokens": 5}, {"end": ()})
    assert len(seen) == 5


# ---- rows under way


def rows_three_ways(module, rows=6, columns=40):
    return [
        slots.Slots(ours, module, END, rows, columns),
        cache.Cached(module, END),
        cache.Uncached(module, END),
    ]


@torch.inference_mode()
def test_slots_give_the_logits_of_other_rows():
    module, prompts = gpt2(), prompts_of(9)
    ways = rows_three_ways(module)
    assert isinstance(choice_of_rows.rows_of(module, END, 6, 40), slots.Slots)

    def same(found, within=1e-10):
        return all(torch.allclose(found[0], other, atol=within) for other in found[1:])

    def ids(n, salt):
        return torch.from_numpy(Key(salt, ("ids",)).generator().integers(0, VOCABULARY, n))

    assert same([rows.join(prompts[:4]).logits for rows in ways])
    assert same([rows.step(ids(4, 0)).logits for rows in ways])
    for rows in ways:
        rows.keep(torch.tensor([0, 3, 2]))
    found = [rows.step(ids(3, 1)).logits for rows in ways]
    assert same(found)
    assert not same([found[0], found[1].roll(1, 0)])
    assert same([rows.join(prompts[4:7]).logits for rows in ways])
    for salt in range(2, 12):
        assert same([rows.step(ids(6, salt)).logits for rows in ways])
    for rows in ways:
        rows.keep(torch.tensor([5, 1]))
    assert same([rows.step(ids(2, 20)).logits for rows in ways])
    assert same([rows.join(prompts[7:]).logits for rows in ways])
    assert same([rows.step(ids(4, 21)).logits for rows in ways])


def test_columns_grow_by_blocks(monkeypatch):
    monkeypatch.setattr(slots, "BLOCK", 3)
    module, prompts = gpt2(), prompts_of(20)
    settings = {"live": 4, "max_new_tokens": 20}
    grown = drawn(module, prompts, settings)
    monkeypatch.setattr(slots, "BLOCK", 64)
    assert [a.tokens.ids.tolist() for a in grown] == [
        a.tokens.ids.tolist() for a in drawn(module, prompts, settings)
    ]


@pytest.mark.parametrize("live", [1, 3, 8, 64])
def test_ragged_answers_are_the_same_in_slots_and_without_a_cache(live, monkeypatch):
    module, prompts = gpt2(), prompts_of(40)
    stop = [(lambda ids, n=1 + 7 * i % 12: len(ids) >= n) for i in range(40)]
    found = drawn(module, prompts, {"live": live}, {"stop": stop})
    monkeypatch.setattr(choice, "PASSES", ())
    monkeypatch.setattr(choice_of_rows, "serves", lambda module, gives: False)
    plain = drawn(module, prompts, {"live": live}, {"stop": stop})
    assert [a.tokens.ids.tolist() for a in found] == [a.tokens.ids.tolist() for a in plain]
    assert (
        max(np.abs(a.tokens.drawn_logprob - b.tokens.drawn_logprob).max() for a, b in zip(found, plain))
        < 1e-9
    )
    assert len({len(a.tokens.ids) for a in found}) > 5


def test_the_last_rows_fill_the_gaps():
    assert _without_gaps(np.array([0, 1, 0, 0], dtype=bool)).tolist() == [0, 3, 2]
    assert _without_gaps(np.array([1, 1, 0, 0, 1, 0], dtype=bool)).tolist() == [5, 3, 2]
    for done in itertools.product([False, True], repeat=6):
        kept = _without_gaps(np.array(done)).tolist()
        assert sorted(kept) == [i for i, ended in enumerate(done) if not ended]
        assert sum(i != place for i, place in enumerate(kept)) <= sum(done)


def test_weights_that_learn_are_seen_at_once():
    module, prompts = gpt2(), prompts_of(4)
    before = drawn(module, prompts, {"method": "greedy"})
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.lm_head.weight.copy_(module.lm_head.weight.flip(0))
    assert [a.tokens.ids.tolist() for a in drawn(other, prompts, {"method": "greedy"})] != [
        a.tokens.ids.tolist() for a in before
    ]
