from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.models.architectures import built
from helpers.models.small_models import (
    DEVICES,
    VOCABULARY,
    batch_of,
    chunks_of,
    drawn,
    gpt2,
    llama,
    prompts_of,
)
from helpers.output_products import OutputProducts
from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.score import tokens as score_module
from loquent.models.score.one_pass import Scores, Tokens, losses
from loquent.models.score.tokens import (
    action_losses,
    action_scores,
    deciding,
    micro_batches,
    score,
    weighted_nll,
)
from loquent.models.tokens.support import entropy, restricted_logprob
from loquent.pretrained import build
from loquent.pretrained.output import Product

MODELS = {"gpt2": gpt2, "llama": llama, "gemma2": partial(built, "gemma2"), "bert": partial(built, "bert")}

TEMPERED = {"top_k": 6, "temperature": 0.6, "tempered": True}


def scored(module, settings=None, n=12, extra=0, device="cpu"):
    prompts = prompts_of(n)
    settings = {"top_k": 6, "temperature": 0.8} if settings is None else dict(settings)
    tempered = settings.pop("tempered", False)
    batch = batch_of(prompts, drawn(module, prompts, settings), VOCABULARY, device, extra)
    return replace(batch, tempered=tempered)


def weighted(scores, n):
    """A mean over tokens that depends on everything differently for each."""
    w = torch.linspace(0.5, 2.0, n, dtype=torch.float64, device=scores.drawn.device)
    return ((w * scores.drawn).sum() + (w.flip(0) * scores.policy).sum() + (w**2 * scores.entropy).sum()) / n


def gradients(module, loss):
    return torch.cat([g.flatten().double() for g in torch.autograd.grad(loss, list(module.parameters()))])


def naive(module, batch):
    """The same from whole logits [B, T, V]."""
    logits = module(batch.tokens, attention_mask=batch.real.long()).logits[:, :-1][batch.is_action[:, 1:]]
    chosen = batch.tokens[batch.is_action][:, None]
    kept = None if batch.support is None else batch.support.dense_mask(device=logits.device)
    temperature = (
        1.0 if batch.support is None else torch.from_numpy(batch.support.temperature).to(logits)[:, None]
    )
    logprob = restricted_logprob(logits, kept, temperature)
    full = logits / temperature if batch.tempered else logits
    return Scores(
        logprob.gather(1, chosen)[:, 0], full.log_softmax(1).gather(1, chosen)[:, 0], entropy(logprob)
    )


# ---- scores and gradients


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("settings", [{}, {"top_k": 6, "temperature": 0.8}, TEMPERED])
@pytest.mark.parametrize("name", MODELS)
def test_scores_and_gradients_are_those_of_whole_logits(name, settings, dtype, device, monkeypatch):
    module = MODELS[name](dtype, device=device)
    batch = scored(module, settings, device=device)
    n = int(batch.is_action.sum())
    wanted = naive(module, batch)
    slope = gradients(module, weighted(wanted, n))
    within = 1e-10 if dtype == "float64" else 1e-6
    if batch.tempered:  # gradients of the full softmax are larger by 1 / temperature
        within /= settings["temperature"]
    for chunk, whole in (
        (1 << 22, 1 << 24),
        (VOCABULARY * 7, 0),
        (1, 0),
    ):  # one chunk; checkpointed chunks of 7 tokens, of 1
        chunks_of(monkeypatch, chunk)
        monkeypatch.setattr(score_module, "WHOLE", whole)
        found = action_scores(module, batch)
        for ours, theirs in zip(found, wanted):
            assert torch.allclose(ours.double(), theirs.double(), atol=within * 10, rtol=0)
        error = (gradients(module, weighted(found, n)) - slope).abs().max()
        assert error <= within
    assert slope.abs().max() > 0.1


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("settings", [{}, {"top_k": 6, "temperature": 0.8}, TEMPERED])
@pytest.mark.parametrize("name", MODELS)
def test_losses_in_one_pass_are_those_of_whole_logits(name, settings, dtype, monkeypatch):
    """With equal weights in one pass, with other weights by computing the logits again."""
    module = MODELS[name](dtype)
    batch = scored(module, settings)
    n = int(batch.is_action.sum())
    advantage = torch.linspace(-1.0, 2.0, n, dtype=getattr(torch, dtype))
    within = 1e-11 if dtype == "float64" else 2e-6
    used = {}

    def surrogate(scores, here):
        used[here.start] = here.stop
        return -advantage[here] * (scores.drawn + 1).exp() + 0.3 * scores.policy.square()

    wanted = naive(module, batch)
    loss = surrogate(wanted, slice(0, n))
    weights = torch.linspace(0.5, 2.0, n, dtype=loss.dtype)
    slopes = [
        torch.autograd.grad(total, list(module.parameters()), retain_graph=True)
        for total in (loss.sum() / n, (weights * loss).sum() / n)
    ]
    slopes = [torch.cat([part.flatten().double() for part in parts]) for parts in slopes]
    for chunk in (1 << 22, VOCABULARY * 7, 1):
        chunks_of(monkeypatch, chunk)
        for slope, weight in zip(slopes, (1.0, weights)):
            found, scores = action_losses(module, batch, surrogate)
            assert not any(column.requires_grad for column in scores)
            for ours, theirs in zip((found, *scores), (loss, *wanted)):
                assert torch.allclose(ours.double(), theirs.double(), atol=within * 10, rtol=within)
            error = (gradients(module, (weight * found).sum() / n) - slope).abs().max()
            assert error <= within * slope.abs().max()
        with torch.no_grad():
            found, _ = action_losses(module, batch, surrogate)
            assert torch.allclose(found.double(), loss.double(), atol=within * 10, rtol=within)
    assert (used[0], len(used)) == (1, n)  # the chunks of a layer that is a product


def test_a_second_derivative_of_losses_in_one_pass_is_refused():
    draw = torch.Generator().manual_seed(0)
    weight, states = (torch.randn(5, 3, generator=draw, requires_grad=True) for _ in range(2))
    tokens = Tokens(Product(weight, None, (), ()), torch.tensor([0, 1, 2, 3, 4]), None)
    found, _ = losses(tokens, states, lambda scores, here: scores.policy.square())
    with pytest.raises(LoquentError, match="no second derivatives"):
        torch.autograd.grad(found.sum(), states, create_graph=True)
    assert torch.autograd.grad(found.sum(), states)[0].shape == (5, 3)


def test_equal_weights_need_one_pass_over_the_logits(monkeypatch):
    """Per chunk the logits and the gradient by the states; with other weights both once more."""
    module = gpt2()
    batch = scored(module)
    n = int(batch.is_action.sum())
    chunks_of(monkeypatch, VOCABULARY * 7)
    chunks, weights = -(-n // 7), torch.linspace(0.5, 2.0, n, dtype=torch.float64)
    for weight, products in ((torch.tensor(1.0), 2), (weights, 4)):
        with OutputProducts(module.lm_head.weight) as counted:
            found, _ = action_losses(module, batch, lambda scores, here: -scores.drawn)
            (weight * found).sum().backward()
        assert counted.count == products * chunks
    with torch.no_grad(), OutputProducts(module.lm_head.weight) as counted:
        action_losses(module, batch, lambda scores, here: -scores.drawn)
    assert counted.count == chunks


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("extra", [0, 9])
@pytest.mark.parametrize("name", MODELS)
def test_a_weighted_sum_of_likelihoods_has_the_gradient_of_its_parts(name, extra, dtype, monkeypatch):
    """Every parameter's, tied ones too, whatever the padding and however many rows a chunk has."""
    module = MODELS[name](dtype)
    batch = scored(module, extra=extra)
    n = int(batch.is_action.sum())
    weights = torch.linspace(0.5, 2.0, n, dtype=torch.float64).to(getattr(torch, dtype)) / n
    nll = -naive(module, replace(batch, support=None)).policy
    slope = gradients(module, (weights * nll).sum())
    within = 1e-12 if dtype == "float64" else 1e-6
    for chunk in (1 << 22, VOCABULARY * 7, 1):
        chunks_of(monkeypatch, chunk)
        total, each = weighted_nll(module, batch, weights)
        assert not each.requires_grad
        assert float((each - nll.detach()).abs().max()) <= within * 10
        assert float(total.detach()) == pytest.approx(float((weights * nll.detach()).sum()), rel=within)
        assert float((gradients(module, total) - slope).abs().max()) <= within * float(slope.abs().max())
    other = gradients(module, weighted_nll(module, batch)[0] / n)
    assert float((other - slope).abs().max()) > 1e-2 * float(slope.abs().max())


def test_gradients_can_differ():
    module = gpt2()
    batch = scored(module)
    n = int(batch.is_action.sum())
    right = gradients(module, weighted(action_scores(module, batch), n))
    wrong = gradients(module, weighted(action_scores(module, batch, support=False), n))
    assert (right - wrong).abs().max() > 1e-3 * right.abs().max()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_padding_changes_nothing(name):
    module = MODELS[name]()
    short, long = scored(module), scored(module, extra=9)
    n = int(short.is_action.sum())
    a, b = action_scores(module, short), action_scores(module, long)
    assert all(torch.allclose(x, y, atol=1e-10, rtol=0) for x, y in zip(a, b))
    difference = gradients(module, weighted(a, n)) - gradients(module, weighted(b, n))
    assert difference.abs().max() <= 1e-10
    garbage = replace(long, tokens=torch.where(long.real, long.tokens, 7))
    assert torch.equal(action_scores(module, garbage).drawn, b.drawn)


def test_micro_batches_accumulate_exactly():
    module = gpt2()
    batch = scored(module, n=20)
    n = int(batch.is_action.sum())
    whole = gradients(module, action_scores(module, batch).drawn.sum() / n)
    for budget in (1, 40, 100, 10_000):
        rows = micro_batches(batch, budget)
        assert sorted(row for group in rows for row in group) == list(range(20))
        widths = [int(batch.real[group].sum(1).max()) for group in rows]
        assert all(len(group) * width <= budget or len(group) == 1 for group, width in zip(rows, widths))
        parts = sum(
            gradients(module, action_scores(module, batch.take(group)).drawn.sum() / n) for group in rows
        )
        assert (parts - whole).abs().max() <= 1e-10
    assert len(micro_batches(batch, 10_000)) == 1


def test_a_model_with_caps_after_its_head_is_asked_itself():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(0)
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = Gemma2Config(
        **sizes,
        num_key_value_heads=2,
        head_dim=8,
        final_logit_softcapping=0.5,
        initializer_range=0.5,
        pad_token_id=None,
    )
    module = Gemma2ForCausalLM(config).double().eval()
    batch = scored(gpt2())
    found, wanted = action_scores(module, batch), naive(module, batch)
    assert torch.allclose(found.drawn, wanted.drawn, atol=1e-6)
    uncapped = module.lm_head(module.model(batch.tokens).last_hidden_state)[:, :-1][
        batch.is_action[:, 1:]
    ].log_softmax(1)
    assert (uncapped.gather(1, batch.tokens[batch.is_action][:, None])[:, 0] - found.policy).abs().max() > 0.1


def test_entropy_may_be_left_out_and_empty_batches_are_fine():
    module = gpt2()
    batch = scored(module)
    assert action_scores(module, batch, entropy=False).entropy.isnan().all()
    nothing = replace(batch, is_action=torch.zeros_like(batch.is_action), support=None)
    assert [len(part) for part in action_scores(module, nothing)] == [0, 0, 0]
    first = replace(batch, is_action=torch.ones_like(batch.is_action), support=None)
    with pytest.raises(LoquentError, match="begins with an action"):
        action_scores(module, first)


def test_without_a_support_both_logprobs_are_one():
    module = gpt2()
    found = action_scores(module, scored(module, {}))
    assert torch.equal(found.drawn, found.policy)
    found = action_scores(module, scored(module))
    assert (found.drawn >= found.policy - 1).all()
    assert not torch.equal(found.drawn, found.policy)


def test_logits_are_made_for_action_tokens_only(monkeypatch):
    module = gpt2("float32", vocabulary=4000)
    prompts = prompts_of(8, longest=40)
    batch = batch_of(prompts, drawn(module, prompts, {"max_new_tokens": 3}), 4000)
    layer = score_module.head(module)
    # it is not recognised while the counter hooks all layers
    monkeypatch.setattr(score_module, "head", lambda module: layer)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        action_scores(module, batch)
    head = 2 * int(batch.is_action.sum()) * 32 * 4000
    whole = 2 * batch.tokens.numel() * 32 * 4000
    assert head < counter.get_total_flops() < whole


# ---- score


def actor(critic="network", reference="copy", dtype="float64", dropout=0.0):
    texts = ["the film was good, the cast was better", "the film was bad and the end was worse"] * 20
    sizes = {"vocabulary": 300, "layers": 2, "width": 32, "heads": 2, "context": 64}
    language = build(texts, **sizes, key=Key(0, ("actor",)), device="cpu", dtype=dtype, dropout=dropout)
    return Actor.build(language, critic=critic, reference=reference, key=Key(1))


def played(model, n=10, extra=0, settings=None):
    prompts = [[0, *prompt] for prompt in prompts_of(n, vocabulary=250)]
    return batch_of(
        prompts, drawn(model.policy, prompts, settings or {}), model.policy.config.vocab_size, extra=extra
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("budget", [1, 60, 8192])
def test_kl_of_equal_models_is_exactly_zero(dtype, budget):
    model = actor(dtype=dtype)
    batch = score(model, played(model, settings={"top_k": 5}), token_budget=budget)
    assert torch.equal(batch.policy_logprob, batch.reference_logprob)
    assert (batch.policy_logprob[batch.is_action] < 0).all()
    with torch.no_grad():
        next(model.reference.parameters()).mul_(1.5)
    assert not torch.equal(score(model, batch).policy_logprob, score(model, batch).reference_logprob)


@pytest.mark.parametrize("critic", ["network", "head"])
def test_score_puts_everything_at_its_place(critic):
    model = actor(critic)
    batch = played(model)
    found = score(model, batch, token_budget=50)
    value, scores = model.state_values(batch).detach(), action_scores(model.policy, batch)
    for b, t in batch.is_action.nonzero().tolist():
        # the state of an action is the hidden before it
        assert found.value[b, t].item() == pytest.approx(value[b, t - 1].item(), abs=1e-9)
    assert torch.allclose(found.policy_logprob[batch.is_action], scores.policy.detach(), atol=1e-9)
    last = batch.real.sum(1) - 1
    assert torch.allclose(found.bootstrap, value[torch.arange(len(batch)), last], atol=1e-9)
    for field in (found.value, found.policy_logprob, found.reference_logprob):
        assert field.shape == batch.tokens.shape
        assert (field[~batch.is_action] == 0).all()
    assert found.value[batch.is_action].std() > 0
    assert not found.policy_logprob.requires_grad
    padded = score(model, played(model, extra=5), token_budget=1)
    width = batch.tokens.shape[1]
    assert torch.allclose(padded.value[:, :width], found.value, atol=1e-9)
    assert torch.allclose(padded.bootstrap, found.bootstrap, atol=1e-9)


def test_score_without_critic_or_reference():
    found = score(model := actor("none", "none"), played(model))
    assert found.value is found.bootstrap is found.reference_logprob is None
    assert found.policy_logprob is not None


@pytest.mark.parametrize(
    ("critic", "passes"),
    [("network", {"policy": 1, "critic": 1, "reference": 1}), ("head", {"policy": 1, "reference": 1})],
)
def test_score_makes_one_pass_for_each_network(critic, passes):
    model = actor(critic)
    batch = played(model)
    counted = dict.fromkeys(model.networks(), 0)

    def count(name):
        def hook(module, inputs, output):
            counted[name] += 1

        return hook

    hooks = [network.register_forward_hook(count(name)) for name, network in model.networks().items()]
    score(model, batch)
    for hook in hooks:
        hook.remove()
    assert counted == passes


def test_hidden_states_save_the_pass():
    model = actor("head")
    batch = played(model, settings={"top_k": 4})
    hidden, value = model(batch, wanted=deciding(batch))
    found = action_scores(model.policy, batch, hidden=hidden)
    assert torch.equal(found.drawn, action_scores(model.policy, batch).drawn)
    everywhere, value = model(batch)
    assert (action_scores(model.policy, batch, hidden=everywhere).drawn - found.drawn).abs().max() < 1e-5
    assert torch.equal(value, model.state_values(batch))


def test_dropout_is_off_in_score_and_modes_are_given_back():
    # spec A10: two scorings are identical although the actor is in training mode; a training pass is not
    model = actor(dropout=0.5).train()
    batch = played(model)
    state = torch.get_rng_state()
    one, two = score(model, batch), score(model, batch)
    assert torch.equal(one.policy_logprob, two.policy_logprob)
    assert torch.equal(one.value, two.value)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.policy.training
    assert not model.reference.training
    assert not torch.equal(
        action_scores(model.policy, batch).policy, action_scores(model.policy, batch).policy
    )


@pytest.mark.parametrize("name", MODELS)
def test_ratio_is_one_before_the_first_step(name):
    # spec A5, float32, prompts of unequal length; bfloat16 within 2e-2
    for dtype, within in (("float32", 1e-4), ("bfloat16", 2e-2)):
        module = MODELS[name](dtype)
        prompts = prompts_of(24)
        answers = drawn(module, prompts, {"top_k": 8, "temperature": 0.7})
        new = action_scores(module, batch_of(prompts, answers, VOCABULARY)).drawn.detach().double().numpy()
        ratio = np.exp(new - np.concatenate([answer.tokens.drawn_logprob for answer in answers]))
        assert (
            np.abs(ratio - 1).max() < within if dtype == "float32" else np.median(np.abs(ratio - 1)) < within
        )
