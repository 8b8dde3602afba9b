"""Dropout in our own forward pass: the eager model's function of equal masks, from streams of its own."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.pretrained.forward import dropout, dropping, gpt2

RATES = {"embd_pdrop": 0.1, "attn_pdrop": 0.3, "resid_pdrop": 0.2}
TOKENS = torch.tensor([[1, 5, 2, 7, 3, 4], [6, 2, 2, 1, 0, 0]])


def model(**options):
    sizes = {"vocab_size": 11, "n_positions": 16, "n_embd": 16, "n_layer": 3, "n_head": 4}
    with borrow_generators(Key(0, ("dropout",))):
        config = GPT2Config(**sizes, **{**RATES, **options}, initializer_range=0.3)
        return GPT2LMHeadModel._from_config(config, attn_implementation="eager").double().train()


def gradients(module, states):
    weights = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view_as(states)
    found = torch.autograd.grad((weights * states).sum(), list(module.transformer.parameters()))
    return torch.cat([part.flatten() for part in found])


def under(masks, module, tokens, monkeypatch):
    """The library's own pass, whose dropout multiplies by these masks in turn."""
    queue = list(masks)

    def multiplied(states, p=0.5, training=True, inplace=False):
        mask, factor = queue.pop(0)
        return states * mask * factor

    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "dropout", multiplied)
        states = module.transformer(input_ids=tokens, use_cache=False).last_hidden_state
    assert not queue
    return states


def test_states_and_gradients_are_the_eager_models_under_the_same_masks(monkeypatch):
    module, masks, own = model(), [], dropout.dropout_mask

    def kept(*given):
        mask, factor = own(*given)
        masks.append((mask.clone(), factor))
        return mask, factor

    monkeypatch.setattr(dropout, "dropout_mask", kept)
    with dropping(Key(1)):
        assert gpt2.serves(module.transformer)
        states = pretrained.hidden(module, TOKENS)
    assert len(masks) == 1 + 3 * 3
    theirs = under(masks, module, TOKENS, monkeypatch)
    assert torch.allclose(states, theirs, atol=1e-12, rtol=0)
    assert torch.allclose(gradients(module, states), gradients(module, theirs), atol=1e-10, rtol=1e-10)
    other = [(mask.flip(0), factor) for mask, factor in masks]
    assert not torch.allclose(states, under(other, module, TOKENS, monkeypatch), atol=1e-3, rtol=0)


def test_wanted_positions_have_the_states_of_equal_masks_in_the_layers_before(monkeypatch):
    """Only the last layer is computed at the wanted positions alone; here nothing is dropped there."""
    module = model()
    for part in module.transformer.h[-1].modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    wanted = torch.zeros_like(TOKENS, dtype=torch.bool)
    wanted[:, 3] = True
    with dropping(Key(1)):
        complete = pretrained.hidden(module, TOKENS)
    with dropping(Key(1)):
        part = pretrained.hidden(module, TOKENS, wanted)
    assert torch.allclose(part[:, 3], complete[:, 3], atol=1e-12)


def test_the_last_layer_drops_at_wanted_positions():
    module = model(embd_pdrop=0.0, resid_pdrop=0.0)
    for block in module.transformer.h[:-1]:
        block.attn.attn_dropout.p = 0.0
    wanted = torch.zeros_like(TOKENS, dtype=torch.bool)
    wanted[:, 4] = True
    with torch.no_grad(), dropping(Key(1)):
        drawn = torch.stack([pretrained.hidden(module, TOKENS, wanted)[:, 4] for _ in range(4)])
    assert float(drawn.std(0).min()) > 0
    with torch.no_grad(), dropping(Key(2)):
        weights = torch.stack(
            [
                dropout.attend(*heads(), 1.0, 0.3, torch.ones(1, 1, 2, 3, dtype=torch.bool))
                for _ in range(4000)
            ]
        )
    query, keys, values = heads()
    mean = torch.softmax(query @ keys.transpose(2, 3), -1) @ values
    assert torch.allclose(weights.mean(0), mean, atol=0.05)


def heads():
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(1, 2, size, 4, generator=generator, dtype=torch.float64) for size in (2, 3, 3))


def test_rate_0_changes_nothing():
    module = model(embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
    states = pretrained.hidden(module, TOKENS)
    with dropping(Key(1)):
        dropped = pretrained.hidden(module, TOKENS)
    assert torch.equal(states, dropped)
    assert torch.equal(states, pretrained.hidden(module.eval(), TOKENS))


def test_evaluation_mode_drops_nothing():
    module = model().eval()
    states = pretrained.hidden(module, TOKENS)
    with dropping(Key(1)):
        assert torch.equal(states, pretrained.hidden(module, TOKENS))


def test_masks_depend_on_the_key_alone_and_global_generators_are_left_alone():
    module, before = model(), torch.get_rng_state()

    def states(key, seed):
        torch.manual_seed(seed)
        with dropping(key):
            return pretrained.hidden(module, TOKENS), pretrained.hidden(module, TOKENS)

    first, second = states(Key(1), 0)
    assert not torch.equal(first, second)  # the stream goes on
    again = states(Key(1), 5)
    assert torch.equal(first, again[0])
    assert torch.equal(second, again[1])
    assert not torch.equal(first, states(Key(2), 0)[0])
    torch.set_rng_state(before)
    states_before = torch.get_rng_state()
    with dropping(Key(3)):
        pretrained.hidden(module, TOKENS)
    assert torch.equal(states_before, torch.get_rng_state())


def test_without_a_stream_the_library_drops():
    module = model()
    assert not gpt2.serves(module.transformer)
    assert gpt2.serves(module.transformer.eval())


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 0.25])
def test_masks_have_the_rate_of_the_librarys_layer(rate):
    """Units are independent: 4,000,000 of them, in pairs of neighbours too, within five deviations."""
    with dropping(Key(7, (f"{rate}",))):
        mask, factor = dropout.dropout_mask((1000, 4000), rate, torch.empty(0))
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    share, pairs = float(mask.double().mean()), float((mask[:, 1:] * mask[:, :-1]).double().mean())
    keep, count = 1 - rate, mask.numel()
    assert abs(share - keep) < 5 * (keep * rate / count) ** 0.5 + 1 / dropout.LEVELS
    assert abs(pairs - keep**2) < 10 * (keep * rate / count) ** 0.5 + 2 / dropout.LEVELS
    assert factor == pytest.approx(1 / keep, rel=1e-3)
    columns = mask.double().mean(0)
    assert float((columns - keep).abs().max()) < 6 * (keep * rate / 1000) ** 0.5
