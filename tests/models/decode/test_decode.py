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
    kinds,
    llama,
    prompts_of,
)
from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel, BadSetting
from loquent.models.caches import attention, cache, rows
from loquent.models.decode.loop import Decoding, decode
from loquent.models.decode.sampling import choose
from loquent.models.engine import Nucleus
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.support import Trie, restricted_logprob

KINDS = list(kinds(gpt2()))
MODELS = {"gpt2": gpt2, "gemma": gemma}


@pytest.fixture(scope="module")
def models():
    return {(name, dtype): make(dtype) for name, make in MODELS.items() for dtype in ("float64", "float32")}


def differences(module, prompts, answers):
    """|drawn - recomputed| of all tokens, in the support and in the full softmax."""
    scores = action_scores(module, batch_of(prompts, answers, module.config.vocab_size, module.device))
    recorded = [
        np.concatenate([getattr(answer.tokens, name) for answer in answers])
        for name in ("drawn_logprob", "policy_logprob")
    ]
    return [
        np.abs(old - new.detach().double().cpu().numpy())
        for old, new in zip(recorded, (scores.drawn, scores.policy))
    ]


# ---- what was drawn is what is scored (spec A5, A6, N6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_drawn_logprob_is_recomputed(models, name, kind):
    prompts = prompts_of(24)
    for dtype, most, middle in (("float64", 1e-9, 1e-9), ("float32", 1e-4, 1e-5)):
        module = models[name, dtype]
        answers = drawn(module, prompts, *kinds(module)[kind])
        for error in differences(module, prompts, answers):
            assert error.max() < most
            assert np.median(error) < middle
    assert sum(len(answer.tokens.ids) for answer in answers) > 24


def test_drawn_logprob_without_its_support_is_another_number(models):
    module, prompts = models["gpt2", "float64"], prompts_of(24)
    answers = drawn(module, prompts, {"top_k": 5})
    scores = action_scores(module, batch_of(prompts, answers, VOCABULARY), support=False)
    recorded = np.concatenate([answer.tokens.drawn_logprob for answer in answers])
    assert np.abs(recorded - scores.drawn.detach().numpy()).max() > 0.1


@pytest.mark.data
@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", KINDS)
def test_drawn_logprob_is_recomputed_on_real_weights(beside, kind):
    for dtype, most, middle in (("float64", 1e-9, 1e-9), ("float32", 1e-4, 1e-5)):
        stories = pretrained.load(beside / "models" / "stories260K", device="cpu", dtype=dtype)
        texts = ["Once upon a time", "The dog", "Lily saw a big red ball. She"]
        prompts = [[1, *pretrained.plain_ids(stories.tokenizer, text)] for text in texts for _ in range(3)]
        settings, further = kinds(stories.module)[kind]
        answers = drawn(
            stories.module,
            prompts,
            {"max_new_tokens": 14, **settings},
            {**further, "end": sorted(stories.end)},
        )
        for error in differences(stories.module, prompts, answers):
            assert error.max() < most
            assert np.median(error) < middle


# ---- greedy, against the library


def library(module, prompts, n, **options):
    ids, real = pretrained.pad_rows(prompts, END, module.device, left=True)
    marks = {"eos_token_id": END, "pad_token_id": END, "bos_token_id": END}
    out = module.generate(
        ids, attention_mask=real.long(), max_new_tokens=n, do_sample=False, **marks, **options
    )[:, ids.shape[1] :].tolist()
    return [row[: row.index(END) + 1] if END in row else row for row in out]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("live", [3, 64])
def test_greedy_is_what_the_library_generates(name, device, live):
    module, prompts = MODELS[name](device=device), prompts_of(20)
    ours = drawn(module, prompts, {"method": "greedy", "live": live, "max_new_tokens": 30})
    assert [answer.tokens.ids.tolist() for answer in ours] == library(module, prompts, 30)
    assert {answer.stopped for answer in ours} <= {"end", "length"}


def test_beam_search_is_the_librarys():
    module, prompts = gpt2(), prompts_of(9)
    ours = drawn(module, prompts, {"method": "beam", "beams": 3, "live": 12})
    assert [answer.tokens.ids.tolist() for answer in ours] == library(module, prompts, 12, num_beams=3)
    assert max(error.max() for error in differences(module, prompts, ours)) < 1e-9
    assert [a.tokens.ids.tolist() for a in ours] != [
        a.tokens.ids.tolist() for a in drawn(module, prompts, {"method": "greedy"})
    ]


def test_beam_search_keeps_to_words_limits_and_stops():
    module, prompts = gpt2(), prompts_of(6)
    said = drawn(module, prompts, {"method": "beam"}, {"allowed": [Trie([[5, 6, END], [7, END]])] * 6})
    assert {tuple(answer.tokens.ids) for answer in said} <= {(5, 6, END), (7, END)}
    said = drawn(module, prompts, {"method": "beam"}, {"vocabulary": 10})
    assert all((answer.tokens.ids < 10).all() for answer in said)
    said = drawn(module, prompts, {"method": "beam"}, {"stop": [lambda ids: len(ids) == 2] * 6, "end": ()})
    assert [(len(answer.tokens.ids), answer.stopped) for answer in said] == [(2, "stop")] * 6
    module.generation_config.repetition_penalty = 5.0  # a model's own defaults do not leak in
    plain = drawn(gpt2(), prompts, {"method": "beam"}, {"end": ()})
    said = drawn(module, prompts, {"method": "beam"}, {"end": ()})
    assert [answer.tokens.ids.tolist() for answer in said] == [answer.tokens.ids.tolist() for answer in plain]
    assert {answer.stopped for answer in said} == {"length"}
    assert module.generation_config.repetition_penalty == 5.0
    with pytest.raises(BadSetting, match="no masking policy"):
        drawn(module, prompts, {"method": "beam"}, {"nucleus": Nucleus(None, top_p=0.5)})


# ---- draws belong to their row


@pytest.mark.sweep("gpt2-nucleus-cpu", "gemma-legal words-cpu")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["none", "top-k and top-p", "nucleus", "legal words", "minimum length"])
@pytest.mark.parametrize("name", MODELS)
def test_draws_do_not_depend_on_live_rows_or_order(name, kind, device):
    module, prompts, keys = MODELS[name](device=device), prompts_of(20), keys_of(20)
    settings, further = kinds(module)[kind]
    further = {**further, "end": (END, 5, 17)}
    wanted = [
        answer.tokens.ids.tolist() for answer in drawn(module, prompts, {**settings, "live": 64}, further)
    ]
    assert len({len(ids) for ids in wanted}) > 2  # rows finish at different times
    for live in (1, 4, 16):
        assert [
            answer.tokens.ids.tolist()
            for answer in drawn(module, prompts, {**settings, "live": live}, further)
        ] == wanted
    order = np.random.default_rng(1).permutation(20)
    shuffled = drawn(
        module, [prompts[i] for i in order], {**settings, "live": 4}, further, [keys[i] for i in order]
    )
    assert [answer.tokens.ids.tolist() for answer in shuffled] == [wanted[i] for i in order]
    other = drawn(module, prompts, settings, further, keys_of(20, seed=1))
    assert [answer.tokens.ids.tolist() for answer in other] != wanted


def test_a_row_uses_its_keys_stream_one_uniform_a_token():
    module, prompts = gpt2(), prompts_of(1)
    (answer,) = drawn(module, prompts, {"top_k": 6, "temperature": 0.9})
    uniform, ids = keys_of(1)[0].child("decode").generator().random(12), list(prompts[0])
    for u, token in zip(uniform, answer.tokens.ids):
        logits = module(torch.tensor([ids])).logits[0, -1].detach().numpy() / 0.9
        kept = np.sort(np.argsort(-logits)[:6])
        mass = np.exp(logits[kept])
        assert token == kept[np.searchsorted(mass.cumsum() / mass.sum(), u, side="right")]
        ids.append(int(token))


def test_uncached_rows_say_the_same(monkeypatch):
    module, prompts = gemma(), prompts_of(12)
    assert isinstance(rows.rows_of(module, END, 4, 60), cache.Cached)
    wanted = drawn(module, prompts, {"live": 5})
    monkeypatch.setattr(rows, "serves", lambda module, gives: False)
    assert isinstance(rows.rows_of(module, END, 4, 60), cache.Uncached)
    got = drawn(module, prompts, {"live": 5})
    assert [answer.tokens.ids.tolist() for answer in got] == [answer.tokens.ids.tolist() for answer in wanted]
    assert (
        max(np.abs(a.tokens.drawn_logprob - b.tokens.drawn_logprob).max() for a, b in zip(got, wanted)) < 1e-9
    )


def test_models_whose_cache_is_of_another_kind_go_without():
    from transformers import BloomConfig, BloomForCausalLM, MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    sizes = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_attention_heads": 2}
    layers = {"intermediate_size": 16, "num_hidden_layers": 1, "num_key_value_heads": 2}
    sliding = MistralForCausalLM(MistralConfig(**sizes, **layers, sliding_window=4, initializer_range=0.5))
    # takes no position_ids
    unplaced = BloomForCausalLM(BloomConfig(**sizes, n_layer=1, initializer_range=0.5))
    for module, within in (
        (sliding.double().eval(), 1e-9),
        (unplaced.double().eval(), 1e-5),
    ):  # Bloom's attention is float32 inside
        assert isinstance(rows.rows_of(module, END, 4, 60), cache.Uncached)
        answers = drawn(module, prompts_of(6), {"live": 2})
        assert max(error.max() for error in differences(module, prompts_of(6), answers)) < within


def test_a_model_that_ignores_positions_is_found_out(monkeypatch):
    module = llama()
    forward = module.forward

    def careless(
        input_ids=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        use_cache=None,
        logits_to_keep=0,
    ):
        inputs = {
            "attention_mask": attention_mask,
            "past_key_values": past_key_values,
            "use_cache": use_cache,
        }
        return forward(input_ids=input_ids, logits_to_keep=logits_to_keep, **inputs)

    monkeypatch.setattr(module, "forward", careless)
    assert isinstance(rows.rows_of(module, END, 4, 60), cache.Uncached)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(0.05)  # a fresh model hardly looks at positions, so its error is small
        plain, found = (rows._probe(kind(module, END)) for kind in (cache.Uncached, cache.Cached))
    assert rows._distance(found, plain) < 1e-3
    assert isinstance(rows.rows_of(module, END, 4, 60), cache.Uncached)


def test_what_a_comparison_finds_is_kept_only_where_it_would_have_found_otherwise():
    module = llama()
    for layer in module.model.layers:
        # attention that adds nothing sees no positions and no padding
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
    assert rows.serves(module)
    assert module not in rows._passed
    torch.nn.init.normal_(
        module.model.layers[0].self_attn.o_proj.weight, generator=torch.Generator().manual_seed(0)
    )
    assert rows.serves(module)
    assert module in rows._passed
    module.config.layer_types = ["sliding_attention"] * 2
    module.config.sliding_window = 4
    assert not rows.serves(module), "another configuration"


def test_a_refusal_is_not_kept():
    module = llama()
    handle = module.register_forward_hook(
        lambda part, given, found: setattr(found, "logits", found.logits.clone() * torch.rand(1))
    )
    with torch.random.fork_rng():
        assert not rows.serves(module)
    handle.remove()
    assert rows.serves(module)


# ---- the distribution


@pytest.mark.parametrize(
    ("settings", "kept"),
    [({}, 10), ({"temperature": 0.5}, 10), ({"top_k": 4, "temperature": 2.0}, 4), ({"top_p": 0.8}, None)],
)
def test_sampling_distribution_by_chi_square(settings, kept):
    # spec A6: 1e5 draws over 10 words; the 99% point of chi-square with n - 1 degrees of freedom by Wilson
    # and Hilferty (1931)
    logits = torch.linspace(-1.5, 1.5, 10, dtype=torch.float64).roll(3)[None]
    n = 100_000
    uniform = torch.from_numpy(Key(1, ("chi",)).generator().random(n))
    choice = choose(logits.expand(n, -1), uniform, **settings)
    probability = (
        choice.support.dense_mask(0)[0].double() * (logits[0] / settings.get("temperature", 1.0)).exp()
    )
    probability /= probability.sum()
    seen = choice.ids.bincount(minlength=10)
    possible = probability > 0
    assert kept in (None, int(possible.sum()))
    assert (seen[~possible] == 0).all()
    degrees = int(possible.sum()) - 1
    bound = degrees * (1 - 2 / (9 * degrees) + 2.326 * math.sqrt(2 / (9 * degrees))) ** 3

    def chi_square(counts):
        return float((((counts - n * probability) ** 2) / (n * probability))[possible].sum())

    assert chi_square(seen) < bound
    worse = seen.clone()
    first, second = possible.nonzero()[:2, 0].tolist()
    worse[first] += 1000
    worse[second] -= 1000
    assert chi_square(worse) > bound
    assert torch.allclose(choice.drawn_logprob.exp(), probability[choice.ids], atol=1e-12)


def test_inverse_cdf_by_hand():
    logits = torch.tensor([[0.25, 0.0, 0.5, 0.25]]).log()  # sums .25, .25, .75, 1

    def at(u, **options):
        return choose(logits, torch.tensor([u], dtype=torch.float64), **options).ids.item()

    assert [at(u) for u in (0.0, 0.2499, 0.25, 0.7499, 0.7501, 1 - 2**-53)] == [0, 0, 2, 2, 3, 3]
    banned = torch.tensor([[True, False, False, True]])
    # the last kept id takes the remainder
    assert [at(u, banned=banned) for u in (0.0, 0.5, 1 - 2**-53)] == [2, 2, 2]
    assert [at(u, limit=3) for u in (0.0, 0.3334, 1 - 2**-53)] == [0, 2, 2]
    with pytest.raises(BadModel, match="every token is banned"):
        at(0.5, banned=torch.ones(1, 4, dtype=torch.bool))
    with pytest.raises(BadModel, match="not finite"):
        choose(torch.full((1, 4), torch.nan), torch.zeros(1, dtype=torch.float64))


# ---- supports


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_is_inside_its_support(models, kind):
    module, prompts = models["gpt2", "float32"], prompts_of(24)
    settings, further = kinds(module)[kind]
    answers = drawn(module, prompts, settings, further)
    limited = [answer.tokens for answer in answers if answer.tokens.support is not None]
    # everything kept at temperature 1 is not recorded
    assert bool(limited) == (kind not in ("none", "greedy"))
    for tokens in limited:
        assert (
            len(tokens.support) == len(tokens.ids) == len(tokens.drawn_logprob) == len(tokens.policy_logprob)
        )
        assert tokens.support.dense_mask()[torch.arange(len(tokens.ids)), torch.from_numpy(tokens.ids)].all()
        assert tokens.support.vocabulary == VOCABULARY
        assert (tokens.support.temperature == settings.get("temperature", 1.0)).all()
        assert (tokens.drawn_logprob <= 0).all()


def test_supports_say_what_was_forbidden():
    module, prompts = gpt2(), prompts_of(24)
    for answer in drawn(module, prompts, {"top_k": 5}):
        assert (answer.tokens.support.dense_mask().sum(1) == 5).all()
    ends = {"end": (END, 5, 17)}
    for answer in drawn(module, prompts, {"min_new_tokens": 3}, ends):
        assert (~answer.tokens.support.dense_mask()[:3, [END, 5, 17]]).all()
        assert answer.tokens.support.dense_mask()[:3].sum(1).tolist() == [VOCABULARY - 3] * 3
        assert answer.tokens.support.dense_mask()[3:].all()
        assert len(answer.tokens.ids) >= 4
    assert min(len(answer.tokens.ids) for answer in drawn(module, prompts, {}, ends)) < 3
    for answer in drawn(module, prompts, {}, {"vocabulary": 33}):
        assert (answer.tokens.ids < 33).all()
        assert answer.tokens.support.dense_mask().sum(1).tolist() == [33] * len(answer.tokens.ids)
        assert answer.tokens.support.nbytes < 40 * (len(answer.tokens.ids) + 1)


def test_nucleus_of_a_second_model():
    module, other, prompts = gpt2(), gpt2(seed=5), prompts_of(8)
    answers = drawn(
        module, prompts, {"live": 3}, {"nucleus": Nucleus(other, top_p=0.6, min_keep=2, always=(END, 7))}
    )
    for prompt, answer in zip(prompts, answers):
        ids = answer.tokens.ids.tolist()
        mass = other(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].softmax(1)
        ordered, rank = mass.sort(1, descending=True)
        before = torch.zeros_like(ordered).scatter(1, rank, ordered.cumsum(1) - ordered)
        wanted = (before <= 0.6 + 1e-6).scatter(1, rank[:, :2], True)
        wanted[:, [END, 7]] = True
        assert torch.equal(answer.tokens.support.dense_mask(), wanted)


def test_nucleus_of_everything_is_no_nucleus():
    class Untouchable(torch.nn.Module):
        def forward(self, *given, **named):
            raise AssertionError("the masking policy was run")

    module, prompts = gpt2("float32"), prompts_of(16)
    plain = drawn(module, prompts, {})
    for nothing in (Nucleus(Untouchable(), top_p=1.0), Nucleus(Untouchable(), top_p=1.0, top_k=VOCABULARY)):
        masked = drawn(module, prompts, {}, {"nucleus": nothing})
        for a, b in zip(plain, masked):
            assert a.tokens.ids.tolist() == b.tokens.ids.tolist()
            assert a.tokens.drawn_logprob.tolist() == b.tokens.drawn_logprob.tolist()
            assert b.tokens.support is None


def test_nucleus_is_never_empty_and_bans_win():
    module, prompts = gpt2(), prompts_of(16)
    narrow = Nucleus(None, top_p=0.0, always=(END,))
    for answer in drawn(module, prompts, {"min_new_tokens": 4}, {"nucleus": narrow}):
        sets = answer.tokens.support.dense_mask()
        assert sets[:4].sum(1).tolist() == [1] * 4  # the end is always in the nucleus, but too early
        assert not sets[:4, END].any()
        assert sets[4:, END].all()


def test_legal_words_are_said_word_for_word():
    module = gpt2()
    trie = Trie([[3, 4, END], [3, END], [9, 9, 9, END], [8, 2]])
    answers = drawn(module, prompts_of(60), {"min_new_tokens": 3}, {"allowed": [trie, None] * 30})
    said = {tuple(answer.tokens.ids) for answer in answers[::2]}
    assert said <= {(3, 4, END), (3, END), (9, 9, 9, END), (8, 2)}
    assert len(said) >= 3
    assert {answer.stopped for answer in answers[::2]} == {"end"}  # (8, 2) too: nothing may follow it
    assert all(len(answer.tokens.ids) >= 3 for answer in answers[1::2])


# ---- why an answer stops


def test_stopped():
    module, prompts = gpt2(), prompts_of(30)
    for answer in drawn(module, prompts, {"max_new_tokens": 6}):
        ids = answer.tokens.ids.tolist()
        assert (answer.stopped == "end") == (ids[-1] == END)
        assert END not in ids[:-1]
        assert answer.stopped == "end" or (answer.stopped == "length" and len(ids) == 6)
    assert all(
        answer.stopped == "length" and len(answer.tokens.ids) == 6
        for answer in drawn(module, prompts, {"max_new_tokens": 6}, {"end": ()})
    )
    seen = []

    def stop(ids):
        seen.append(list(ids))
        return len(ids) == 3

    answers = drawn(module, prompts, {"max_new_tokens": 6}, {"stop": [stop, None] * 15})
    assert {answer.stopped for answer in answers[::2]} <= {"stop", "end"}
    assert "stop" in {answer.stopped for answer in answers[::2]}
    assert all(len(answer.tokens.ids) == 3 for answer in answers if answer.stopped == "stop")
    assert "stop" not in {answer.stopped for answer in answers[1::2]}
    assert all(1 <= len(ids) <= 3 for ids in seen)


def test_several_ends():
    answers = drawn(gpt2(), prompts_of(40), {}, {"end": (END, 5, 17)})
    ends = {int(answer.tokens.ids[-1]) for answer in answers if answer.stopped == "end"}
    assert len(ends) > 1
    assert ends <= {END, 5, 17}


# ---- the module, errors


def test_modes_are_given_back_and_dropout_is_off():
    module, prompts = gpt2(dropout=0.5), prompts_of(8)
    quiet = [answer.tokens.ids.tolist() for answer in drawn(module, prompts, {})]
    module.train()
    module.transformer.h[0].eval()
    state = torch.get_rng_state()
    assert [answer.tokens.ids.tolist() for answer in drawn(module, prompts, {})] == quiet
    assert torch.equal(torch.get_rng_state(), state)
    assert module.training
    assert not module.transformer.h[0].attn.training
    assert module.transformer.h[1].attn.training
    assert module(torch.tensor([[1, 2]])).logits.requires_grad


def test_the_models_attention_is_given_back():
    module = gpt2("float32")
    assert module.config._attn_implementation == "sdpa"
    with attention.fast_single_queries(module):
        assert module.config._attn_implementation == attention.ATTENTION
    torch.nn.init.constant_(module.lm_head.weight, torch.nan)
    with pytest.raises(BadModel, match="not finite"):
        drawn(module, prompts_of(2), {})
    assert module.config._attn_implementation == "sdpa"
    eager = gpt2()
    eager.set_attn_implementation("eager")
    wanted = drawn(gpt2(), prompts_of(8), {})
    assert [a.tokens.ids.tolist() for a in drawn(eager, prompts_of(8), {})] == [
        a.tokens.ids.tolist() for a in wanted
    ]
    assert eager.config._attn_implementation == "eager"


def test_learning_after_decoding():
    module = llama()
    drawn(module, prompts_of(4), {})
    module(torch.tensor([[1, 2, 3]])).logits.sum().backward()  # nothing of inference mode is left in it
    assert all(p.grad is not None for p in module.parameters())


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ([[]], "prompt 0 is empty"),
        ([[1], [1] * 60], "prompt 1 has 60 tokens.*at most 53"),
        ([[VOCABULARY]], "outside 0..39"),
        ([[-1]], "outside"),
    ],
)
def test_bad_prompts(prompts, words):
    with pytest.raises(BadModel, match=words):
        drawn(gpt2(), prompts, {})


def test_the_context_can_be_filled():
    (answer,) = drawn(gpt2(), [[1] * 53], {"max_new_tokens": 12}, {"end": ()})
    assert len(answer.tokens.ids) == 12
    longer = drawn(gpt2(), [[1] * 53, [1], [2], [3]], {"max_new_tokens": 12, "live": 2}, {"end": ()})
    assert [len(answer.tokens.ids) for answer in longer] == [12] * 4


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.0},
        {"top_p": 1.1},
        {"top_k": -1},
        {"method": "magic"},
        {"min_new_tokens": 13},
        {"live": 0},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(BadSetting):
        Decoding(**{"max_new_tokens": 12, **settings})


def test_keys_and_prompts_must_match():
    with pytest.raises(BadSetting, match="one key for each prompt"):
        decode(gpt2(), [[1]], [], Decoding(), end=(END,), pad=END)
    assert decode(gpt2(), [], [], Decoding(), end=(END,), pad=END) == []


def test_restricted_sampling_matches_restricted_logprob():
    logits = torch.randn(50, VOCABULARY, generator=torch.Generator().manual_seed(0))
    uniform = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for options in ({"top_k": 7}, {"top_p": 0.5}, {"top_k": 20, "top_p": 0.5, "temperature": 1.7}):
        choice = choose(logits, uniform, **options)
        logprob = restricted_logprob(logits, choice.support.dense_mask(), options.get("temperature", 1.0))
        assert torch.allclose(
            logprob.gather(1, choice.ids[:, None])[:, 0].double(), choice.drawn_logprob, atol=1e-6
        )
