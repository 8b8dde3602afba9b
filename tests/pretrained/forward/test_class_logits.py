"""Logits of causal sequence classifiers by our own forward passes: the library's, in every family."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from loquent.core.seeding import Key, borrow_generators
from loquent.pretrained.forward import dropping, llama
from loquent.pretrained.forward.classes import class_logits

PAD = 0
ROWS = torch.tensor([[1, 5, 2, 7, 3, 4], [6, 2, 2, 1, PAD, PAD], [3, PAD, 8, PAD, PAD, PAD], [PAD] * 6])
LLAMA = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 16, "initializer_range": 0.3,
    "attention_dropout": 0.2, "sliding_window": None,
}  # fmt: skip
GPT2 = {"n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4, "initializer_range": 0.3}
SHAPES = {"gpt2": GPT2, **{family.lower(): LLAMA for family in llama.FAMILIES}}


def made(shape):
    with borrow_generators(Key(0, (shape,))):
        config = AutoConfig.for_model(
            shape, vocab_size=11, pad_token_id=PAD, eos_token_id=PAD, num_labels=3, **SHAPES[shape]
        )
        return AutoModelForSequenceClassification.from_config(config).double().eval()


def gradients(module, logits):
    weights = torch.linspace(-1, 1, logits.numel(), dtype=logits.dtype).view_as(logits)
    found = torch.autograd.grad((weights * logits).sum(), list(module.parameters()))
    return torch.cat([part.flatten() for part in found])


def librarys(module):
    return module(input_ids=ROWS, attention_mask=torch.ones_like(ROWS)).logits


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_and_gradients_are_the_librarys(shape):
    module = made(shape)
    ours, theirs = class_logits(module, ROWS), librarys(module)
    assert ours.shape == (4, 3)
    assert torch.allclose(ours, theirs, atol=1e-12, rtol=1e-7)
    assert torch.allclose(gradients(module, ours), gradients(module, theirs), atol=1e-10, rtol=1e-7)
    assert not torch.allclose(ours, class_logits(module, ROWS.roll(1, 1)), atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_dropout_needs_a_stream(shape):
    module = made(shape).train()
    assert class_logits(module, ROWS) is None
    with dropping(Key(1)):
        one = class_logits(module, ROWS)
    with dropping(Key(1)):
        assert torch.equal(one, class_logits(module, ROWS))
    with dropping(Key(2)):
        assert not torch.allclose(one, class_logits(module, ROWS), atol=1e-3)


def test_what_has_no_pass_of_ours():
    module = made("gpt2")
    handle = module.register_forward_hook(lambda *given: None)
    assert class_logits(module, ROWS) is None
    handle.remove()
    handle = module.transformer.h[0].register_forward_hook(lambda *given: None)
    assert class_logits(module, ROWS) is None
    handle.remove()
    assert class_logits(module, ROWS) is not None
    module.config.pad_token_id = None  # the library reads the last token of a single row
    assert class_logits(module, ROWS) is None
