"""LoRA on a model: by hand, beside peft's own model, on disk, merged, and with damaged or foreign files."""

import json
import sys

import pytest
import torch

from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel, BadSetting, MissingExtra
from loquent.pretrained import LanguageModel, build, hidden, lora
from loquent.pretrained.forward import gpt2

TEXTS = [f"the number {i} comes before the number {i + 1}" for i in range(40)]
OPTIONS = {"rank": 3, "alpha": 6.0, "dropout": 0.0, "targets": (), "revision": "", "key": Key(1, ("lora",))}
ROWS = torch.tensor([[5, 9, 30, 7, 2, 11], [3, 14, 8, 20, 21, 0]])


def tiny(shape="gpt2", dtype="float64"):
    return build(
        TEXTS, vocabulary=300, layers=2, width=16, heads=2, context=32, key=Key(0), shape=shape, dtype=dtype,
        dropout=0.0, device="cpu",
    )  # fmt: skip


def stirred(module):
    """The model with adapters that do something: B is 0 at first."""
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "lora_B" in name:
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=draw, dtype=parameter.dtype))
    return module


@pytest.fixture(params=["gpt2", "llama"])
def folder(request, tmp_path):
    pretrained.save(tiny(request.param), tmp_path / "base")
    return tmp_path


def adapted(folder, **options):
    language = pretrained.load(folder / "base", dtype="float64", device="cpu")
    lora.adapt(language.module, path=str(folder / "base"), **{**OPTIONS, **options})
    return language


@torch.no_grad()
def logits(module):
    return module(input_ids=ROWS, use_cache=False).logits


def test_at_first_the_model_is_unchanged_to_the_bit_and_only_adapters_learn(folder):
    plain = pretrained.load(folder / "base", dtype="float64", device="cpu")
    language = adapted(folder)
    assert torch.equal(logits(plain.module), logits(language.module))
    learning = {name for name, p in language.module.named_parameters() if p.requires_grad}
    assert learning
    assert all("lora_A" in name or "lora_B" in name for name in learning)
    assert not any(name.startswith("lm_head") for name in learning)
    layers = 4 if plain.module.config.model_type == "gpt2" else 7
    assert len(learning) == 2 * 2 * layers  # two layers, A and B
    assert not torch.equal(logits(stirred(language.module)), logits(plain.module))


def test_the_output_is_that_of_the_sum_by_hand(folder):
    language = adapted(folder)
    module = stirred(language.module)
    expected = pretrained.load(folder / "base", dtype="float64", device="cpu").module
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "lora_A" in name:
                place = name.removesuffix(".lora_A.default.weight")
                layer = expected.get_submodule(place)
                up = module.get_parameter(f"{place}.lora_B.default.weight")
                delta = 6.0 / 3 * up @ parameter  # α / r · B A, arXiv:2106.09685 eq. 3
                layer.weight += delta.T if type(layer).__name__ == "Conv1D" else delta
    assert torch.allclose(logits(module), logits(expected), atol=1e-12)
    states = pretrained.head(module)(hidden(module, ROWS))
    assert torch.allclose(states, logits(expected), atol=1e-12)
    merged = lora.merge(module)
    assert not lora.is_adapted(merged)
    assert torch.allclose(logits(merged), logits(expected), atol=1e-12)
    assert all(p.requires_grad for p in merged.parameters())


def test_the_model_without_adapters_shares_every_weight(folder):
    language = adapted(folder)
    before = logits(language.module)
    plain = lora.base(stirred(language.module))
    assert torch.equal(logits(plain), before)
    own = {p.data_ptr() for p in language.module.parameters()}
    assert {p.data_ptr() for p in plain.parameters()} <= own
    assert lora.is_adapted(language.module)
    assert not lora.is_adapted(plain)


def test_the_faster_gpt2_has_the_same_outputs_and_gradients(tmp_path):
    pretrained.save(tiny(), tmp_path / "base")
    module = stirred(adapted(tmp_path).module)
    assert gpt2.serves(module)
    learning = [p for p in module.parameters() if p.requires_grad]
    fast = hidden(module, ROWS)
    slow = module.transformer(input_ids=ROWS, use_cache=False).last_hidden_state
    assert torch.allclose(fast, slow, atol=1e-12)
    by_fast, by_slow = (torch.autograd.grad(states.square().sum(), learning) for states in (fast, slow))
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(by_fast, by_slow, strict=True))
    assert all(float(g.abs().max()) > 0 for g in by_fast)


def test_a_folder_gives_the_same_bits_and_peft_reads_it(folder):
    import peft
    from transformers import AutoModelForCausalLM

    language = adapted(folder)
    stirred(language.module)
    pretrained.save(language, folder / "adapter")
    files = {file.name for file in (folder / "adapter").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "base.json", "config.json"} <= files
    assert "model.safetensors" not in files
    again = pretrained.load(folder / "adapter", dtype="float64", device="cpu")
    assert torch.equal(logits(again.module), logits(language.module))
    base = AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float64)
    by_peft = peft.PeftModel.from_pretrained(base, folder / "adapter").double().eval()
    assert torch.allclose(logits(by_peft), logits(language.module), atol=1e-12)


def test_adapters_have_at_least_float32(tmp_path):
    pretrained.save(tiny(dtype="float32"), tmp_path / "base")
    language = pretrained.load(tmp_path / "base", dtype="bfloat16", device="cpu")
    module = lora.adapt(language.module, path=str(tmp_path / "base"), **OPTIONS)
    types = {p.dtype for p in module.parameters() if p.requires_grad}
    assert (types, module.dtype) == ({torch.float32}, torch.bfloat16)
    assert logits(module).dtype == torch.bfloat16


def test_initial_weights_come_from_the_key(folder):
    before = torch.get_rng_state()
    first, same, other = (
        [p for name, p in adapted(folder, key=Key(seed)).module.named_parameters() if "lora_A" in name]
        for seed in (1, 1, 2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert torch.equal(torch.get_rng_state(), before)


def test_named_layers_and_names_that_no_layer_has(tmp_path):
    pretrained.save(tiny(), tmp_path / "base")
    names = {
        n for n, p in adapted(tmp_path, targets=("c_attn",)).module.named_parameters() if p.requires_grad
    }
    assert names
    assert all(".c_attn." in name for name in names)
    with pytest.raises(
        BadSetting, match="the linear layers of this model are c_attn, c_fc, c_proj;"
    ) as error:
        adapted(tmp_path, targets=("q_proj", "k_proj"))
    assert "model.lora.targets = ['k_proj', 'q_proj']" in str(error.value)
    assert "{" not in str(error.value)


@pytest.mark.parametrize("targets", [("wte",), ("c_attn", "wte")])
def test_an_embedding_takes_no_adapter(tmp_path, targets):
    pretrained.save(tiny(), tmp_path / "base")
    why = r"'wte' names the layer transformer\.wte, which is no linear layer \(it is Embedding\).*are c_attn"
    with pytest.raises(BadSetting, match=why):
        adapted(tmp_path, targets=targets)


def test_a_layer_takes_no_adapter_if_its_weight_is_also_that_of_another(tmp_path):
    pretrained.save(tiny(), tmp_path / "base")
    why = r"'lm_head' names the layer lm_head, whose weight is also that of transformer\.wte"
    with pytest.raises(BadSetting, match=why) as error:
        adapted(tmp_path, targets=("lm_head",))
    assert "lm_head" not in str(error.value).rpartition("this model are")[2]


def test_an_output_layer_of_its_own_takes_an_adapter_and_merges(tmp_path):
    pretrained.save(tiny("llama"), tmp_path / "base")
    module = stirred(adapted(tmp_path, targets=("lm_head",)).module)
    before, learned = module.get_input_embeddings().weight.clone(), logits(module)
    merged = lora.merge(module)
    assert torch.equal(merged.get_input_embeddings().weight, before)
    assert torch.allclose(logits(merged), learned, atol=1e-12)
    with pytest.raises(
        BadSetting, match="are down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj;"
    ):
        adapted(tmp_path, targets=("nothing",))


def test_what_would_learn_beside_the_adapters_is_refused():
    import peft

    from loquent.pretrained.lora.injecting import inject

    config = peft.LoraConfig(r=2, target_modules=["c_attn"], bias="all", fan_in_fan_out=True)
    with pytest.raises(BadModel, match="bias would learn and is no adapter's weight"):
        inject(tiny().module, config, "targets", BadSetting)


def test_another_base_is_refused(folder):
    pretrained.save(adapted(folder), folder / "adapter")
    for dtype in ("float64", "float32", "bfloat16"):
        pretrained.load(folder / "adapter", dtype=dtype, device="cpu")
    changed = pretrained.load(folder / "base", dtype="float64", device="cpu")
    with torch.no_grad():
        next(changed.module.parameters())[0, 0] += 1
    pretrained.save(LanguageModel(changed.module, changed.tokenizer), folder / "base")
    for dtype in ("float64", "float32", "bfloat16"):
        with pytest.raises(BadModel, match="other weights than those that the adapter learned with"):
            pretrained.load(folder / "adapter", dtype=dtype, device="cpu")


def test_saved_buffers_are_part_of_the_base(tmp_path):
    language = tiny("bart")
    pretrained.save(language, tmp_path / "base")
    pretrained.save(adapted(tmp_path), tmp_path / "adapter")
    pretrained.load(tmp_path / "adapter", dtype="float64", device="cpu")
    language.module.final_logits_bias[0, 3] = 1.0
    pretrained.save(language, tmp_path / "base")
    with pytest.raises(BadModel, match="other weights than those that the adapter learned with"):
        pretrained.load(tmp_path / "adapter", dtype="float64", device="cpu")


@pytest.mark.parametrize("value", ["torch.int8", "float32", 7, None])
def test_a_damaged_dtype_of_the_base_names_the_file(tmp_path, value):
    pretrained.save(tiny(), tmp_path / "base")
    pretrained.save(adapted(tmp_path), tmp_path / "adapter")
    file = tmp_path / "adapter" / "base.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "dtype": value}))
    with pytest.raises(BadModel, match=r"base\.json: dtype = .* must be one of torch\.float32"):
        pretrained.load(tmp_path / "adapter", dtype="float64", device="cpu")


WRONG = {
    "dora": ({"use_dora": True}, "only plain LoRA is"),
    "other kind": ({"peft_type": "IA3"}, "must be 'LORA'"),
    "rank": ({"r": 10**9}, r"r must be in \[1, 16384\], got 1000000000"),
    "a rank of text": ({"r": "8"}, r"r must be an integer, in \[1, 16384\], got '8'"),
    "expression": ({"target_modules": "(a+)+$"}, "target_modules"),
    "no base": ({"base_model_name_or_path": None}, "base_model_name_or_path"),
    "dropout": ({"lora_dropout": 1.5}, "lora_dropout"),
    "other rank": ({"r": 4}, "another shape"),
    "an embedding": ({"target_modules": ["wte"]}, r"transformer\.wte, which is no linear layer"),
    "a tied layer": ({"target_modules": ["lm_head"]}, "is also that of transformer.wte"),
    "other layers": ({"target_modules": ["c_attn"]}, "is missing, unknown"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_foreign_and_damaged_settings_are_named(tmp_path, kind):
    change, why = WRONG[kind]
    pretrained.save(tiny(), tmp_path / "base")
    pretrained.save(adapted(tmp_path), tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(BadModel, match=why):
        pretrained.load(tmp_path / "adapter", dtype="float64", device="cpu")


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"{}"])
def test_damaged_weights_are_named(tmp_path, content):
    pretrained.save(tiny(), tmp_path / "base")
    pretrained.save(adapted(tmp_path), tmp_path / "adapter")
    (tmp_path / "adapter" / "adapter_model.safetensors").write_bytes(content)
    with pytest.raises(BadModel, match=r"adapter_model\.safetensors"):
        pretrained.load(tmp_path / "adapter", dtype="float64", device="cpu")


def test_an_adapter_without_tensors_or_with_fewer_than_saved_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    pretrained.save(tiny(), tmp_path / "base")
    pretrained.save(adapted(tmp_path), place := tmp_path / "adapter")
    settings, weights = place / "adapter_config.json", place / "adapter_model.safetensors"
    part = {name: tensor for name, tensor in load_file(weights).items() if ".c_attn." in name}
    save_file(part, weights)  # the settings name the remaining layers alone, so only the number is wrong
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "target_modules": ["c_attn"]}))
    with pytest.raises(BadModel, match=r"has 4 tensors; the adapter was saved with 16"):
        pretrained.load(place, dtype="float64", device="cpu")
    save_file({}, weights)
    (place / "base.json").unlink()
    with pytest.raises(BadModel, match=r"adapter_model\.safetensors has 0 tensors"):
        pretrained.load(place, dtype="float64", device="cpu")


def test_without_peft_the_error_names_the_extra(tmp_path, monkeypatch):
    pretrained.save(tiny(), tmp_path / "base")
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtra, match=r"LoRA needs the libraries of loquent\[lora\]"):
        adapted(tmp_path)
