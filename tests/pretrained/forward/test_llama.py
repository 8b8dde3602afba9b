"""Our forward pass for Llama-shaped networks: the library's function, and what it leaves alone."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.models.small_models import END, VOCABULARY, drawn, keys_of, prompts_of
from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.models.caches import cache, slots
from loquent.models.caches import rows as choice_of_rows
from loquent.pretrained import dropping
from loquent.pretrained.footprint import mix, products
from loquent.pretrained.forward import choice, dropout
from loquent.pretrained.forward import llama as ours

SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "initializer_range": 0.3, "bos_token_id": END, "eos_token_id": END, "pad_token_id": None,
}  # fmt: skip


def rotation(kind, **settings):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 1e4, "factor": 4.0, **settings}}


LLAMA_3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
SERVED = {
    "llama": ("Llama", {}),
    "a key for each head": ("Llama", {"num_key_value_heads": 4}),
    "biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "wide heads": ("Llama", {"head_dim": 16}),
    "tied": ("Llama", {"tie_word_embeddings": True}),
    "another activation": ("Llama", {"hidden_act": "gelu"}),
    "linear rotation": ("Llama", rotation("linear")),
    "llama 3": ("Llama", rotation("llama3", **LLAMA_3)),
    "yarn": ("Llama", rotation("yarn", original_max_position_embeddings=16)),
    "qwen 2": ("Qwen2", {}),
    "qwen 3": ("Qwen3", {"head_dim": 16}),
    "mistral": ("Mistral", {"sliding_window": None}),
}
WINDOWS = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
REFUSED = {
    "dynamic rotation": ("Llama", rotation("dynamic")),
    "mistral's window": ("Mistral", {"sliding_window": 4}),
    "windows of some layers": ("Qwen2", WINDOWS),
    "windows of qwen 3": ("Qwen3", WINDOWS),
    "another family": ("Gemma", {"head_dim": 8}),
}  # fmt: skip
MODELS = pytest.mark.parametrize("name", SERVED)


def made(name, dtype="float64", **more):
    import transformers

    family, options = {**SERVED, **REFUSED}[name]
    with borrow_generators(Key(0, (family,))):
        config = getattr(transformers, f"{family}Config")(**{**SIZES, **options, **more})
        module = getattr(transformers, f"{family}ForCausalLM")._from_config(
            config, attn_implementation="sdpa"
        )
        for part_name, parameter in module.named_parameters():  # biases and norms are no constants
            if "bias" in part_name or "norm" in part_name:
                torch.nn.init.normal_(parameter, mean=float("norm" in part_name), std=0.3)
    return module.to(getattr(torch, dtype)).eval()


def tokens_of(rows=3, wide=11):
    return torch.from_numpy(Key(0, ("tokens",)).generator().integers(0, VOCABULARY, (rows, wide)))


def whole(module, tokens):
    return module.model(input_ids=tokens, use_cache=False).last_hidden_state


def gradients(module, states):
    weights = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view_as(states)
    return torch.autograd.grad((weights * states).sum(), list(module.model.parameters()))


def near(a, b, within):
    return float((a - b).detach().abs().max()) <= within * max(1.0, float(b.detach().abs().max()))


# ---- one pass over whole rows


@MODELS
@pytest.mark.parametrize(("dtype", "within"), [("float64", 1e-12), ("float32", 2e-6), ("bfloat16", 0.0)])
def test_hidden_states_and_gradients_are_the_librarys(name, dtype, within):
    module, tokens = made(name, dtype), tokens_of()
    assert choice.pass_of(module) is ours
    assert choice.pass_of(module.model) is ours
    theirs, mine = whole(module, tokens), ours.last_hidden(module.model, tokens)
    assert near(mine, theirs, min(within, 1e-6))
    if dtype != "bfloat16":  # its gradients are sums of a different order
        pairs = zip(gradients(module, mine), gradients(module, theirs), strict=True)
        assert all(near(*pair, within) for pair in pairs)
    with torch.no_grad():
        assert near(ours.last_hidden(module.model, tokens), theirs, min(within, 1e-6))
        module.model.layers[1].self_attn.v_proj.weight.mul_(1.1)
        assert not near(ours.last_hidden(module.model, tokens), theirs, 1e-3)


@pytest.mark.parametrize("name", ["llama", "qwen 3"])
@pytest.mark.parametrize("many", [0.1, 0.5, 1.0])
def test_states_where_they_are_wanted(name, many):
    module, tokens = made(name), tokens_of()
    wanted = torch.from_numpy(Key(1, ("wanted",)).generator().random(tokens.shape) < many)
    theirs, mine = whole(module, tokens), pretrained.hidden(module, tokens, wanted)
    assert near(mine[wanted], theirs[wanted], 1e-12)
    parameters = list(module.model.parameters())
    found, expected = (
        torch.autograd.grad(states[wanted].square().sum(), parameters) for states in (mine, theirs)
    )
    assert all(near(*pair, 1e-12) for pair in zip(found, expected, strict=True))
    assert bool((mine[~wanted] == 0).any()) == (many < 0.7)  # so something was saved


def test_second_derivatives_are_the_librarys():
    """Products with the Fisher information differentiate the gradient once more."""
    module, tokens, found = made("qwen 3", "float32"), tokens_of(), []
    parameters = list(module.model.parameters())
    with sdpa_kernel(SDPBackend.MATH):  # the other kernels have no second derivative
        both = whole(module, tokens), ours.last_hidden(module.model, tokens)
    for states in both:
        weights = torch.linspace(-1, 1, states.numel()).view_as(states)
        first = torch.autograd.grad((weights * states).sum(), parameters, create_graph=True)
        along = sum((gradient * gradient.detach().sign()).sum() for gradient in first)
        found.append(torch.cat([part.flatten() for part in torch.autograd.grad(along, parameters)]))
    assert float((found[0] - found[1]).norm()) < 1e-4 * float(found[0].norm())


@pytest.mark.parametrize("name", REFUSED)
def test_other_networks_are_left_alone(name):
    assert choice.pass_of(made(name)) is None


def test_changed_networks_are_left_alone():
    class Adapted(torch.nn.Linear):
        pass

    def patched(module):
        module.model.layers[0].mlp.forward = lambda inputs: inputs

    def adapted(module):
        module.model.layers[0].mlp.up_proj = Adapted(32, 48, bias=False, dtype=torch.float64)

    changes = [
        patched,
        adapted,
        lambda module: module.train(),
        lambda module: module.model.layers[1].self_attn.train(),
        lambda module: module.model.layers[1].register_forward_hook(lambda *given: None),
        lambda module: module.model.norm.register_forward_pre_hook(lambda *given: None),
        lambda module: torch.nn.utils.parametrizations.weight_norm(module.model.layers[0].mlp.gate_proj),
    ]
    for change in changes:
        module = made("llama", attention_dropout=0.1)
        assert ours.serves(module)
        change(module)
        assert not ours.serves(module)
    assert ours.serves(made("llama").train()), "nothing is dropped at a rate of 0"


# ---- dropout


@pytest.mark.parametrize("name", ["llama", "qwen 3"])
def test_dropout_is_the_eager_models_under_the_same_masks(name, monkeypatch):
    module, masks, own = made(name, attention_dropout=0.3).train(), [], dropout.dropout_mask
    module.set_attn_implementation("eager")
    tokens = tokens_of()

    def kept(*given):
        masks.append(own(*given))
        return masks[-1]

    monkeypatch.setattr(dropout, "dropout_mask", kept)
    with dropping(Key(1)):
        states = pretrained.hidden(module, tokens)
    with dropping(Key(1)):
        assert torch.equal(states, pretrained.hidden(module, tokens)), "masks depend on the key alone"
    with dropping(Key(2)):
        assert not torch.equal(states, pretrained.hidden(module, tokens))
    queue = iter(masks[:3])

    def multiplied(states, p=0.5, training=True, inplace=False):
        mask, factor = next(queue)
        return states * mask * factor

    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "dropout", multiplied)
        theirs = whole(module, tokens)
    assert near(states, theirs, 1e-6)  # the library's eager softmax is in float32
    assert all(
        near(*pair, 1e-5) for pair in zip(gradients(module, states), gradients(module, theirs), strict=True)
    )


# ---- rows under way


@MODELS
@torch.inference_mode()
def test_slots_give_the_logits_of_other_rows(name):
    module, prompts = made(name), prompts_of(9)
    ways = [
        choice_of_rows.rows_of(module, END, 6, 40),
        cache.Cached(module, END),
        cache.Uncached(module, END),
    ]
    assert isinstance(ways[0], slots.Slots)

    def same(found):
        return all(torch.allclose(found[0], other, atol=1e-9) for other in found[1:])

    def ids(n, salt):
        return torch.from_numpy(Key(salt, ("ids",)).generator().integers(0, VOCABULARY, n))

    assert same([rows.join(prompts[:4]).logits for rows in ways])
    assert same([rows.step(ids(4, 0)).logits for rows in ways])
    for rows in ways:
        rows.keep(torch.tensor([0, 3, 2]))
    assert same([rows.step(ids(3, 1)).logits for rows in ways])
    assert same([rows.join(prompts[4:7]).logits for rows in ways])
    for salt in range(2, 12):
        assert same([rows.step(ids(6, salt)).logits for rows in ways])


@MODELS
def test_greedy_tokens_are_those_of_generate(name):
    module, prompts = made(name, "float32"), prompts_of(6)
    answers = drawn(module, prompts, {"method": "greedy", "max_new_tokens": 12}, {"end": ()})
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = torch.tensor([prompt])
        said = module.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False, eos_token_id=None,
            pad_token_id=0,
        )  # fmt: skip
        assert answer.tokens.ids.tolist() == said[0, len(prompt) :].tolist()


@pytest.mark.parametrize("name", ["llama", "qwen 3"])
@pytest.mark.parametrize("live", [3, 64])
def test_ragged_answers_are_the_same_without_a_cache(name, live, monkeypatch):
    module, prompts = made(name), prompts_of(12)
    stop = [(lambda ids, n=1 + 7 * i % 12: len(ids) >= n) for i in range(12)]
    found = drawn(module, prompts, {"live": live}, {"stop": stop})
    monkeypatch.setattr(choice, "PASSES", ())
    monkeypatch.setattr(choice_of_rows, "serves", lambda module, gives: False)
    plain = drawn(module, prompts, {"live": live}, {"stop": stop})
    assert [a.tokens.ids.tolist() for a in found] == [a.tokens.ids.tolist() for a in plain]
    for ours_, theirs in zip(found, plain, strict=True):
        assert abs(ours_.tokens.drawn_logprob - theirs.tokens.drawn_logprob).max() < 1e-9


@pytest.mark.parametrize("name", ["llama", "qwen 3"])
def test_products_in_bfloat16(name):
    module, prompts, tokens = made(name, "float32"), prompts_of(6), tokens_of()
    mix(module, "bfloat16")
    with products(module):
        theirs, mine = whole(module, tokens), pretrained.hidden(module, tokens)
    assert mine.dtype == theirs.dtype == torch.float32
    assert near(mine, theirs, 0.03)
    pairs = zip(gradients(module, mine), gradients(module, theirs), strict=True)
    assert all(float((a - b).norm()) < 0.05 * float(b.norm()) for a, b in pairs)
    answers = drawn(module, prompts, {"max_new_tokens": 6}, {"end": ()}, keys_of(6))
    exact = made(name, "float32")
    same = drawn(exact, prompts, {"max_new_tokens": 6}, {"end": ()}, keys_of(6))
    pairs = [(a.tokens, b.tokens) for a, b in zip(answers, same, strict=True)]
    first = [(a.drawn_logprob[0], b.drawn_logprob[0]) for a, b in pairs if a.ids[0] == b.ids[0]]
    assert first
    assert all(abs(a - b) < 0.3 for a, b in first)
