"""Acceptance checks A17 to A19 of ILQL: the perturbed policy, its filters, its greedy and beam search, its
divergence.
"""

import math

import numpy as np
import pytest
import torch

from helpers.models.small_models import (
    DEVICES,
    END,
    VOCABULARY,
    batch_of,
    drawn,
    gemma,
    gpt2,
    keys_of,
    prompts_of,
)
from helpers.models.small_values import counted, formula, ids_of, plainly, values_of
from loquent.errors import BadModel, BadSetting
from loquent.models.caches import rows
from loquent.models.decode.sampling import choose
from loquent.models.score.action_scores import acting_scores
from loquent.models.tokens.support import filter_top_k, filter_top_p
from loquent.models.values.perturb import Perturbation, Shift, best_of_kl, kl, logit_shift, perturbed_logprob
from loquent.pretrained.forward import choice

MODELS = {"gpt2": gpt2, "gemma": gemma}
KINDS = {
    "exponential": {"adv_beta": 2.0},
    "clipped": {"adv_beta": 4.0, "adv_clip": 0.0},
    "sign": {"adv_beta": 0.9, "mode": "sign"},
    "values alone": {"adv_beta": 3.0, "logits": False},
}
BACKBONES = ("separate", "shared", "lora")


def plain_options(kind):
    """The options of `formula` for one of `KINDS`."""
    options = dict(KINDS[kind])
    options["with_logits"] = options.pop("logits", True)
    return options


# ---- the formula (A17)


def test_the_perturbed_policy_by_hand():
    # pi_beta = (1/2, 1/4, 1/4), adv_beta = 1, T - V = (0, log 2, log 4): masses (1/2, 1/2, 1), so pi = (1/4,
    # 1/4, 1/2)
    logits, v = torch.tensor([[0.5, 0.25, 0.25]]).log(), torch.tensor([3.0])
    q = torch.tensor([[0.0, math.log(2), math.log(4)]]) + v[:, None]
    pi = perturbed_logprob(logits, Shift(logit_shift(q, v, adv_beta=1.0))).exp()
    assert torch.allclose(pi, torch.tensor([[0.25, 0.25, 0.5]]))
    # KL to pi_beta: 1/4 log 1/2 + 1/4 log 1 + 1/2 log 2 = 1/4 log 2
    assert float(kl(pi.log(), logits)) == pytest.approx(math.log(2) / 4)
    # clipped at log 2: masses (1/2, 1/2, 1/2)
    clipped = perturbed_logprob(logits, Shift(logit_shift(q, v, adv_beta=1.0, adv_clip=math.log(2)))).exp()
    assert torch.allclose(clipped, torch.full((1, 3), 1 / 3))
    # sign, 3/4: the first is not better than V: masses (1/8, 3/16, 3/16)
    signed = perturbed_logprob(logits, Shift(logit_shift(q, v, adv_beta=0.75, mode="sign"))).exp()
    assert torch.allclose(signed, torch.tensor([[0.25, 0.375, 0.375]]))
    # the values alone, and only two tokens kept: (1, 4) / 5
    alone = perturbed_logprob(
        logits, Shift(logit_shift(q, None, adv_beta=1.0), logits=False), torch.tensor([[True, False, True]])
    ).exp()
    assert torch.allclose(alone, torch.tensor([[0.2, 0.0, 0.8]]))
    assert not torch.allclose(pi, perturbed_logprob(logits, Shift(logit_shift(q, v, adv_beta=2.0))).exp()), (
        "it can fail"
    )


def test_temperature_and_filters_before_and_after_by_hand():
    # temperature 2 before: logits / 2 + A; after: (logits + A) / 2
    logits, more = torch.tensor([[4.0, 2.0, 0.0]]), torch.tensor([[0.0, 1.0, 8.0]])
    before, after = (
        perturbed_logprob(logits, Shift(more, after=late), temperature=2.0) for late in (False, True)
    )
    assert torch.allclose(before, torch.tensor([[2.0, 2.0, 8.0]]).log_softmax(-1))
    assert torch.allclose(after, torch.tensor([[2.0, 1.5, 4.0]]).log_softmax(-1))
    # top-2 of the logits are the tokens 0 and 1, of the perturbed scores (4, 3, 8) the tokens 0 and 2
    kept = [
        choose(logits, torch.zeros(1).double(), top_k=2, shift=Shift(more, after=late))
        .support.dense_mask()
        .tolist()[0]
        for late in (False, True)
    ]
    assert kept == [[True, True, False], [True, False, True]]
    # top-p 0.9: the policy's masses are (.867, .117, .016), those of the perturbed (.018, .007, .976)
    kept = [
        choose(logits, torch.zeros(1).double(), top_p=0.9, shift=Shift(more, after=late))
        .support.dense_mask()
        .tolist()[0]
        for late in (False, True)
    ]
    assert kept == [[True, True, False], [False, False, True]]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 5},
        {"top_p": 0.7},
        {"top_k": 9, "top_p": 0.8, "temperature": 1.7},
        {"limit": 30},
        {"top_k": 35},
    ],
)
def test_what_is_chosen_has_the_probability_it_is_recorded_with(options, late, alone):
    random = torch.Generator().manual_seed(0)
    logits, more = (
        torch.randn(64, VOCABULARY, generator=random).double(),
        3 * torch.randn(64, VOCABULARY, generator=random).double(),
    )
    banned = torch.rand(64, VOCABULARY, generator=random) < 0.2
    shift, uniform = Shift(more, not alone, late), torch.rand(64, generator=random, dtype=torch.float64)
    choice = choose(logits, uniform, banned=banned, shift=shift, **options)
    kept = ~banned
    kept[:, options.get("limit", VOCABULARY) :] = False
    work = logits.masked_fill(~kept, -torch.inf)
    work = (shift.to(work) if late else work) / options.get("temperature", 1.0)
    kept &= filter_top_k(work, options.get("top_k", 0))
    kept &= filter_top_p(work.masked_fill(~kept, -torch.inf), options.get("top_p", 1.0))
    assert torch.equal(choice.support.dense_mask(), kept)
    wanted = perturbed_logprob(logits, shift, kept, options.get("temperature", 1.0))
    at = choice.ids[:, None]
    assert torch.allclose(choice.drawn_logprob, wanted.gather(1, at)[:, 0], atol=1e-12)
    assert torch.allclose(choice.policy_logprob, logits.log_softmax(-1).gather(1, at)[:, 0], atol=1e-12)
    mass = wanted.exp().cumsum(1)
    # the inverse of the cumulative distribution
    assert torch.equal(choice.ids, (mass <= uniform[:, None] * mass[:, -1:]).sum(1))
    greedy = choose(logits, None, banned=banned, shift=shift, limit=options.get("limit"))
    allowed = perturbed_logprob(logits, shift, ~banned)[:, : options.get("limit", VOCABULARY)]
    assert torch.equal(greedy.ids, allowed.argmax(1))


# ---- decoding with values is the formula, token by token (A17), cached, for ragged prompts (A18)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("backbones", BACKBONES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_every_drawn_token_has_the_formulas_probability(name, kind, backbones):
    module = MODELS[name]()
    values, prompts = values_of(module, backbones), prompts_of(12)
    answers = drawn(
        module, prompts, {"live": 5, "max_new_tokens": 8}, perturbation=Perturbation(values, **KINDS[kind])
    )
    apart, apart_from_plain = [], []
    for prompt, answer in zip(prompts, answers, strict=True):
        said = answer.tokens.ids.tolist()
        for i, token in enumerate(said):
            logits, q, v = plainly(module, values, [*prompt, *said[:i]])
            wanted = float(formula(logits, q, v, **plain_options(kind))[token])
            apart.append(abs(wanted - answer.tokens.drawn_logprob[i]))
            apart_from_plain.append(
                abs(float(logits.log_softmax(-1)[token]) - answer.tokens.drawn_logprob[i])
            )
            assert answer.tokens.policy_logprob[i] == pytest.approx(
                float(logits.log_softmax(-1)[token]), abs=1e-9
            )
    assert max(apart) < 1e-6
    assert max(apart_from_plain) > 0.1  # the unperturbed number is another


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("filters", ["before", "after"])
def test_recorded_tokens_are_scored_again(name, filters, device):
    module = MODELS[name](device=device)
    prompts = prompts_of(16)
    for kind, settings in (
        ("exponential", {"top_k": 7, "temperature": 0.8}),
        ("clipped", {"top_p": 0.8}),
        ("sign", {"min_new_tokens": 4}),
    ):
        perturbation = Perturbation(values_of(module), filters=filters, **KINDS[kind])
        answers = drawn(module, prompts, settings, perturbation=perturbation)
        batch = batch_of(prompts, answers, VOCABULARY, device, extra=3)
        where = batch.is_action.cpu().numpy()
        for budget in (8192, 20):
            scores = acting_scores(module, batch, perturbation, token_budget=budget)
            for name_ in ("drawn", "policy"):
                recorded = np.concatenate([getattr(answer.tokens, f"{name_}_logprob") for answer in answers])
                assert np.abs(recorded - getattr(scores, name_).numpy()[where]).max() < 1e-9
        unperturbed = acting_scores(module, batch)
        recorded = np.concatenate([answer.tokens.drawn_logprob for answer in answers])
        assert np.abs(recorded - unperturbed.drawn.numpy()[where]).max() > 0.1


@pytest.mark.sweep("gpt2-lora", "gemma-shared")
@pytest.mark.parametrize("backbones", BACKBONES)
@pytest.mark.parametrize("name", MODELS)
def test_cached_generation_is_that_of_full_recomputation(name, backbones, monkeypatch):
    module, prompts = MODELS[name](), prompts_of(20)
    perturbation = Perturbation(values_of(module, backbones), adv_beta=2.0, adv_clip=0.5)
    # rows finish at different times
    stop = [(lambda ids, n=1 + 7 * i % 12: len(ids) >= n) for i in range(20)]
    wanted = drawn(module, prompts, {"live": 64}, perturbation=perturbation, stop=stop)
    assert ids_of(wanted) != ids_of(drawn(module, prompts, {"live": 64}, stop=stop))
    for live in (1, 3, 8):
        assert ids_of(drawn(module, prompts, {"live": live}, perturbation=perturbation, stop=stop)) == ids_of(
            wanted
        )
    monkeypatch.setattr(choice, "PASSES", ())
    monkeypatch.setattr(rows, "serves", lambda module, gives: False)
    plain = drawn(module, prompts, {"live": 4}, perturbation=perturbation, stop=stop)
    assert ids_of(plain) == ids_of(wanted)
    assert (
        max(
            np.abs(a.tokens.drawn_logprob - b.tokens.drawn_logprob).max()
            for a, b in zip(plain, wanted, strict=True)
        )
        < 1e-9
    )


def test_models_whose_logits_are_not_one_layer_of_their_states_are_perturbed_too():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(0)
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
    }
    config = Gemma2Config(
        **sizes, intermediate_size=16, num_hidden_layers=2, final_logit_softcapping=2.0, initializer_range=0.5
    )
    module = Gemma2ForCausalLM(config).double().eval()
    prompts = prompts_of(6)
    for backbones in ("shared", "separate"):
        values = values_of(module, backbones)
        answers = drawn(
            module, prompts, {"live": 3, "max_new_tokens": 5}, perturbation=Perturbation(values, adv_beta=2.0)
        )
        for prompt, answer in zip(prompts, answers, strict=True):
            for i, token in enumerate(answer.tokens.ids.tolist()):
                read = plainly(module, values, [*prompt, *answer.tokens.ids[:i].tolist()])
                assert answer.tokens.drawn_logprob[i] == pytest.approx(
                    float(formula(*read, adv_beta=2.0)[token]), abs=1e-6
                )


# ---- what cancels is not run


@pytest.mark.parametrize("name", MODELS)
def test_a_neutral_perturbation_changes_no_bit_and_runs_no_network(name):
    for dtype in ("float32", "float64"):
        module, prompts = MODELS[name](dtype), prompts_of(16)
        values = values_of(module)
        counts = counted(values.value_trunk, values.target_trunk)
        plain = drawn(module, prompts, {})
        for neutral in (
            {"adv_beta": 0.0},
            {"adv_beta": 0.0, "adv_clip": -1.0, "filters": "after"},
            {"adv_beta": 0.5, "mode": "sign"},
        ):
            same = drawn(module, prompts, {}, perturbation=Perturbation(values, **neutral))
            assert ids_of(same) == ids_of(plain)
            for one, other in zip(same, plain, strict=True):
                assert one.tokens.drawn_logprob.tobytes() == other.tokens.drawn_logprob.tobytes()
                assert one.tokens.policy_logprob.tobytes() == other.tokens.policy_logprob.tobytes()
                assert (one.tokens.support is None) == (other.tokens.support is None)
        assert counts == [0, 0]
        assert ids_of(drawn(module, prompts, {}, perturbation=Perturbation(values, adv_beta=1.0))) != ids_of(
            plain
        )
        assert counts[0] == 0
        assert counts[1] > 0


def test_v_cancels_and_its_trunk_is_not_read():
    module, prompts = gpt2(), prompts_of(16)
    values = values_of(module)
    counts = counted(values.value_trunk, values.target_trunk)
    # models are probed once
    drawn(module, prompts, {}, perturbation=Perturbation(values, adv_beta=2.0, adv_clip=0.0))
    counts[:] = [0, 0]
    before = drawn(module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_beta=2.0))
    assert counts == [0, 12]
    clipped = drawn(
        module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_beta=2.0, adv_clip=0.0)
    )
    assert counts == [12, 24]
    with torch.no_grad():
        values.v_head.outer.bias.add_(0.7)
    assert ids_of(
        drawn(module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_beta=2.0))
    ) == ids_of(before)
    assert ids_of(
        drawn(module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_beta=2.0, adv_clip=0.0))
    ) != ids_of(clipped)


def test_a_network_that_several_read_is_read_once():
    module, prompts = gpt2(), prompts_of(4)
    values = values_of(module)
    values.target_trunk = None  # target heads on the value trunk
    counts = counted(values.value_trunk, module.transformer)
    drawn(module, prompts, {}, perturbation=Perturbation(values, adv_clip=0.0))
    counts[:] = [0, 0]
    drawn(module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_clip=0.0))
    assert counts == [12, 12]
    values.value_trunk = None  # all heads on the policy's
    counts[:] = [0, 0]
    drawn(module, prompts, {}, {"end": ()}, perturbation=Perturbation(values, adv_clip=0.0))
    assert counts == [0, 12]


def test_a_clip_at_0_punishes_and_never_favours():
    random = torch.Generator().manual_seed(0)
    q, v = torch.randn(32, VOCABULARY, generator=random), torch.randn(32, generator=random)
    more, better = logit_shift(q, v, adv_beta=16.0, adv_clip=0.0), q >= v[:, None]
    assert (more[better] == 0).all()
    assert torch.equal(more[~better], (16.0 * (q - v[:, None]))[~better])
    assert not (logit_shift(q, v, adv_beta=16.0)[better] == 0).all()


def test_greedy_without_the_policys_logits_is_the_best_value():
    module, prompts = gpt2(), prompts_of(12)
    values = values_of(module)
    for options in ({"logits": False}, {"adv_beta": 1e7}):  # the limit of large adv_beta
        answers = drawn(
            module,
            prompts,
            {"method": "greedy", "max_new_tokens": 1},
            {"end": ()},
            perturbation=Perturbation(values, **options),
        )
        assert [answer.tokens.ids[0] for answer in answers] == [
            int(plainly(module, values, prompt)[1].argmax()) for prompt in prompts
        ]
    plain = drawn(module, prompts, {"method": "greedy", "max_new_tokens": 1}, {"end": ()})
    assert ids_of(plain) != ids_of(answers)


def test_a_filter_holds_where_values_speak_alone():
    module, prompts = gpt2(), prompts_of(12)
    values = values_of(module)
    for filters, side in (("before", 0), ("after", 1)):
        answers = drawn(
            module,
            prompts,
            {"top_k": 3, "max_new_tokens": 1},
            {"end": ()},
            perturbation=Perturbation(values, logits=False, filters=filters),
        )
        for prompt, answer in zip(prompts, answers, strict=True):
            best = plainly(module, values, prompt)[side].topk(3).indices.sort().values
            assert torch.equal(answer.tokens.support.dense_mask(0)[0].nonzero()[:, 0], best)


# ---- greedy and beams (A18)


@pytest.mark.sweep("gpt2-exponential", "gemma-sign")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_one_beam_is_greedy_and_more_beams_find_more(name, kind):
    module, prompts = MODELS[name](), prompts_of(10)
    perturbation = Perturbation(values_of(module, "shared" if kind == "sign" else "separate"), **KINDS[kind])
    greedy = drawn(module, prompts, {"method": "greedy"}, perturbation=perturbation)
    one, four = (
        drawn(module, prompts, {"method": "beam", "beams": n, "live": 8}, perturbation=perturbation)
        for n in (1, 4)
    )
    assert ids_of(one) == ids_of(greedy)
    assert ids_of(greedy) != ids_of(drawn(module, prompts, {"method": "greedy"}))
    scores = [
        np.array([answer.tokens.drawn_logprob.sum() for answer in answers]) for answers in (greedy, one, four)
    ]
    assert np.abs(scores[0] - scores[1]).max() < 1e-9
    assert (scores[2] >= scores[0] - 1e-9).all()
    assert (scores[2] > scores[0] + 1e-3).any()  # and somewhere it does find more


def test_beams_find_the_best_sequence_there_is():
    module, prompts = gpt2(vocabulary=5), [[1], [2, 3], [4]]
    values = values_of(module)
    perturbation = Perturbation(values, adv_beta=2.0)
    found = drawn(
        module,
        prompts,
        {"method": "beam", "beams": 64, "max_new_tokens": 3, "live": 64},
        perturbation=perturbation,
    )
    for prompt, answer in zip(prompts, found, strict=True):
        best = max(_sequences(module, values, prompt, 3), key=lambda pair: pair[0])
        assert answer.tokens.ids.tolist() == best[1]
        assert answer.tokens.drawn_logprob.sum() == pytest.approx(best[0], abs=1e-9)


def _sequences(module, values, prompt, left):
    """Every answer of at most `left` tokens with its log-probability."""
    logprob = formula(*plainly(module, values, prompt), adv_beta=2.0)
    for token in range(5):
        own = float(logprob[token])
        if token == END or left == 1:
            yield own, [token]
        else:
            yield from (
                (own + more, [token, *rest])
                for more, rest in _sequences(module, values, [*prompt, token], left - 1)
            )


# ---- divergence (A19)


def test_the_best_of_n():
    assert best_of_kl(1) == 0
    assert best_of_kl(4) == pytest.approx(1.3862943611198906 - 0.75)
    with pytest.raises(BadSetting, match="at least 1"):
        best_of_kl(0)


def test_monte_carlo_divergence_and_entropy_are_the_exact_ones():
    module = gpt2(vocabulary=10)
    values, n = values_of(module), 4000
    perturbation = Perturbation(values, adv_beta=1.5)
    prompts = [[3, 1, 4]] * n
    answers = drawn(
        module, prompts, {"max_new_tokens": 1}, {"end": ()}, keys_of(n), perturbation=perturbation
    )
    read = plainly(module, values, prompts[0])
    p, beta = formula(*read, adv_beta=1.5), read[0].log_softmax(-1)
    exact = {"kl": float((p.exp() * (p - beta)).sum()), "entropy": float(-(p.exp() * p).sum())}
    sampled = {
        "kl": np.array([float(a.tokens.drawn_logprob[0] - a.tokens.policy_logprob[0]) for a in answers]),
        "entropy": np.array([-float(a.tokens.drawn_logprob[0]) for a in answers]),
    }
    scores = acting_scores(module, batch_of(prompts[:2], answers[:2], 10), perturbation)
    for name, column in (("kl", scores.kl), ("entropy", scores.entropy)):
        assert float(column[0].sum()) == pytest.approx(exact[name], abs=1e-9)
        within = 3 * sampled[name].std(ddof=1) / math.sqrt(n)
        assert abs(sampled[name].mean() - exact[name]) < within
        assert abs(sampled[name].mean() - 1.2 * exact[name]) > within  # it can fail
    assert exact["kl"] > 0.05


def test_the_divergence_of_whole_answers():
    # over answers, the sum of exact KLs at the states met and the sum of log-ratios have one expectation
    module = gpt2(vocabulary=10)
    perturbation, n = Perturbation(values_of(module), adv_beta=1.0), 1500
    prompts = [[3, 1, 4]] * n
    answers = drawn(
        module,
        prompts,
        {"max_new_tokens": 6, "top_k": 6},
        {"end": (0, 5)},
        keys_of(n),
        perturbation=perturbation,
    )
    scores = acting_scores(module, batch_of(prompts, answers, 10), perturbation)
    apart = (scores.kl.sum(1) - (scores.drawn - scores.policy).sum(1)).numpy()
    assert abs(apart.mean()) < 3 * apart.std(ddof=1) / math.sqrt(n)
    assert len({len(answer.tokens.ids) for answer in answers}) > 2
    assert (scores.kl >= 0).all()
    assert float(scores.kl.sum()) > 100
    plain = drawn(module, prompts[:50], {"max_new_tokens": 6}, {"end": (0, 5)})
    # equal policies: exactly 0
    assert float(acting_scores(module, batch_of(prompts[:50], plain, 10)).kl.abs().max()) == 0.0


# ---- the module, errors


def test_modes_are_given_back_and_no_gradient_is_kept():
    module = gpt2()
    values = values_of(module)
    values.train()
    drawn(module, prompts_of(4), {}, perturbation=Perturbation(values, adv_clip=0.0))
    assert values.training
    assert values.value_trunk.training
    assert not values.target_trunk.training
    values.v(torch.ones(1, 32, dtype=torch.float64)).sum().backward()
    assert values.v_head.outer.weight.grad is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "soft"}, "mode = 'soft'"),
        ({"filters": "both"}, "filters = 'both'"),
        ({"adv_beta": -1.0}, "adv_beta = -1.0"),
        ({"adv_beta": math.inf}, "adv_beta = inf"),
        ({"adv_beta": math.nan}, "adv_beta = nan"),
        ({"adv_beta": 1.0, "mode": "sign"}, "between 0 and 1"),
        ({"adv_beta": 0.0, "mode": "sign"}, "between 0 and 1"),
        ({"adv_clip": math.inf}, "adv_clip = inf"),
        ({"adv_beta": 0.0, "logits": False}, "nothing to draw by"),
        ({"adv_beta": 0.5, "mode": "sign", "logits": False}, "nothing to draw by"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(BadSetting, match=words):
        Perturbation(None, **options)


def test_v_is_asked_for_where_it_matters():
    with pytest.raises(BadSetting, match="needs V"):
        logit_shift(torch.zeros(1, 3), None, adv_beta=1.0, adv_clip=0.0)
    with pytest.raises(BadSetting, match="needs V"):
        logit_shift(torch.zeros(1, 3), None, adv_beta=0.7, mode="sign")


def test_values_of_another_vocabulary_are_refused():
    with pytest.raises(BadModel, match="the values have 30 tokens and the model 40"):
        drawn(gpt2(), prompts_of(2), {}, perturbation=Perturbation(values_of(gpt2(vocabulary=30))))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_named(wrong):
    module = gpt2()
    values = values_of(module)
    torch.nn.init.constant_(values.target_heads[0].outer.bias, wrong)
    torch.nn.init.constant_(values.target_heads[1].outer.bias, wrong)
    with pytest.raises(BadModel, match="values it is perturbed by"):
        drawn(module, prompts_of(2), {}, perturbation=Perturbation(values))
