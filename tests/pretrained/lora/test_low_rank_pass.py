"""A second trunk on frozen weights (`backbones = lora`) in our own forward passes: the library's function."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from helpers.library_dropout import LibraryDropout
from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.pretrained.forward import dropout, dropping, pass_of
from loquent.pretrained.lora.low_rank import LowRank, add_adapters

TOKENS = torch.tensor([[1, 5, 2, 7, 3, 4], [6, 2, 2, 1, 0, 0]])
COMMON = {"vocab_size": 11, "initializer_range": 0.3}
SHAPES = {
    "gpt2": {"n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4, "embd_pdrop": 0.1, "attn_pdrop": 0.3,
             "resid_pdrop": 0.2},
    "llama": {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 2, "max_position_embeddings": 16, "attention_dropout": 0.3},
}  # fmt: skip


def trunk(shape, dtype=torch.float64):
    """An adapted trunk whose corrections are not 0."""
    with borrow_generators(Key(0, (shape,))):
        config = AutoConfig.for_model(shape, **COMMON, **SHAPES[shape])
        module = AutoModelForCausalLM.from_config(config, attn_implementation="eager").to(dtype)
        twin = add_adapters(module.base_model, 3)
        for part in twin.modules():
            if isinstance(part, LowRank):
                torch.nn.init.normal_(part.up.weight, std=0.3)
    return twin.eval()


WITHIN = {"gpt2": 1e-10, "llama": 1e-6}  # the library's norms and weights of attention are float32


def same(ours, theirs, within):
    """Equal up to a share of the largest number."""
    return float((ours - theirs).abs().max()) <= within * float(theirs.abs().max())


def learning(module):
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def gradients(module, states):
    weights = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view_as(states)
    found = torch.autograd.grad((weights * states).sum(), learning(module))
    return torch.cat([part.flatten() for part in found])


def librarys(module):
    return module(input_ids=TOKENS, use_cache=False).last_hidden_state


@pytest.mark.parametrize("shape", SHAPES)
def test_states_and_gradients_are_the_librarys(shape):
    module = trunk(shape)
    assert pass_of(module) is not None
    assert len(learning(module)) == 2 * sum(isinstance(part, LowRank) for part in module.modules())
    ours, theirs = pretrained.hidden(module, TOKENS), librarys(module)
    assert same(ours, theirs, WITHIN[shape])
    assert same(gradients(module, ours), gradients(module, theirs), WITHIN[shape])
    for part in module.modules():
        if isinstance(part, LowRank):
            torch.nn.init.zeros_(part.up.weight)
    assert not torch.allclose(ours, pretrained.hidden(module, TOKENS), atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_adapter_inside_an_adapter_has_no_pass_of_ours(shape):
    assert pass_of(add_adapters(trunk(shape), 3)) is None
    inner = "c_attn" if shape == "gpt2" else "q_proj"
    settings = LoraConfig(r=2, target_modules=rf".*{inner}\.layer", fan_in_fan_out=shape == "gpt2")
    module = get_peft_model(trunk(shape), settings)
    assert any(".lora_A." in name for name, _ in module.named_modules())
    assert pass_of(module.base_model.model) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_with_dropout_they_are_the_librarys_under_the_same_masks(shape, monkeypatch):
    module, masks, own = trunk(shape).train(), [], dropout.dropout_mask

    def kept(*given):
        mask, factor = own(*given)
        masks.append((mask.clone(), factor))
        return mask, factor

    def multiplied(states, p=0.5, training=True, inplace=False):
        mask, factor = masks.pop(0)
        return states * mask * factor

    monkeypatch.setattr(dropout, "dropout_mask", kept)
    with LibraryDropout() as library, dropping(Key(1)):
        ours = pretrained.hidden(module, TOKENS)
    assert not library.count
    assert len(masks) == (1 + 2 * 3 if shape == "gpt2" else 2)
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "dropout", multiplied)
        theirs = librarys(module)
    assert not masks
    assert same(ours, theirs, WITHIN[shape])
    assert same(gradients(module, ours), gradients(module, theirs), WITHIN[shape])


def test_adapters_of_a_higher_precision_than_the_trunk():
    module = trunk("gpt2", torch.bfloat16)
    assert {parameter.dtype for parameter in learning(module)} == {torch.float32}
    assert torch.allclose(pretrained.hidden(module, TOKENS), librarys(module), atol=0.1, rtol=0.05)


def test_adapters_in_adapters_have_no_pass():
    pytest.importorskip("peft")
    with borrow_generators(Key(0)):
        config = AutoConfig.for_model("gpt2", **COMMON, **SHAPES["gpt2"])
        module = AutoModelForCausalLM.from_config(config)
    lora = {"rank": 2, "alpha": 4.0, "dropout": 0.0, "targets": ("c_attn",), "path": "", "revision": ""}
    pretrained.lora.adapt(module, **lora, key=Key(0))
    assert pass_of(module.base_model.eval()) is not None
    assert pass_of(add_adapters(module.base_model, 2).eval()) is None
