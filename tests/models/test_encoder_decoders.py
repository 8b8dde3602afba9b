"""Encoder-decoders: the rows of two sides, their hidden states, decoding and scoring."""

import re

import numpy as np
import pytest
import torch
import transformers

from helpers.models.small_models import batch_of, drawn, keys_of
from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel
from loquent.models.caches import encoder_decoder, twins
from loquent.models.caches import rows as rows_module
from loquent.models.decode.loop import Decoding, decode
from loquent.models.engine import Nucleus
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.trie import Trie
from loquent.pretrained import encoder_decoders, head, hidden, logits, pad_rows

END, START, VOCABULARY = 1, 3, 40
MARKS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": END, "decoder_start_token_id": START}


def t5(dtype=torch.float64, **more):
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(
        vocab_size=VOCABULARY, dropout_rate=0.0, **{"initializer_factor": 0.6, **sizes, **MARKS, **more}
    )
    with borrow_generators(Key(0, ("t5",))):
        return transformers.T5ForConditionalGeneration(config).to(dtype).eval()


def bart(dtype=torch.float64, **more):
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))
    }
    more = {"max_position_embeddings": 48, "init_std": 0.15, **more}
    config = transformers.BartConfig(vocab_size=VOCABULARY, d_model=32, **sides, **MARKS, **more)
    with borrow_generators(Key(0, ("bart",))):
        return transformers.BartForConditionalGeneration(config).to(dtype).eval()


MODELS = {
    "t5": t5,
    "t5 v1.1": lambda **more: t5(
        tie_word_embeddings=False, feed_forward_proj="gated-gelu", initializer_factor=0.3, **more
    ),
    "bart": bart,
}
EVERY = pytest.mark.parametrize("kind", MODELS)


def prompts_of(n, seed=0, longest=9):
    rng = np.random.default_rng(seed)
    return [[*(~rng.integers(4, VOCABULARY, rng.integers(1, longest))).tolist(), START] for _ in range(n)]


def test_the_sides_of_rows_by_hand():
    tokens = torch.tensor([[~5, ~6, 3, 8, 9, 0, 0], [~7, 3, 4, ~5, ~6, ~7, 3]])
    sides = encoder_decoders.split(tokens)
    assert sides.source.tolist() == [[5, 6, 0], [7, 0, 0], [5, 6, 7]]
    assert sides.real.sum(1).tolist() == [2, 1, 3]
    assert sides.target.tolist() == [[3, 8, 9, 0, 0], [3, 4, 0, 0, 0], [3, 0, 0, 0, 0]]
    assert sides.row.tolist() == [0, 1, 1]
    wanted = torch.zeros_like(tokens, dtype=torch.bool)
    wanted[:, 3] = True
    assert encoder_decoders.split(tokens, wanted).target.tolist() == [[3, 8], [3, 4], [3, 0]], (
        "no place after the last"
    )
    with pytest.raises(BadModel, match="begins with an id that the decoder reads"):
        encoder_decoders.split(torch.tensor([[3, ~4]]))


@EVERY
def test_states_and_logits_are_those_of_the_model_on_each_pair_alone(kind):
    module = MODELS[kind]()
    rows = [[~5, ~6, ~7, START, 8, 9], [~5, START, 3, ~4, ~9, ~9, START, 7], [~5, ~6, ~7, START, 1]]
    tokens = pad_rows(rows, 0, "cpu")[0]
    layer = head(module)
    assert layer is not None
    assert layer.product is not None
    ours = [layer(hidden(module, tokens)), logits(module, tokens)]
    for row, first, source, target in (
        (0, 3, [5, 6, 7], [START, 8, 9]),
        (1, 1, [5], [START, 3]),
        (1, 6, [4, 9, 9], [START, 7]),
    ):
        alone = module(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
        for result in ours:
            torch.testing.assert_close(result[row, first : first + len(target)], alone, rtol=0, atol=1e-10)
    wanted = torch.zeros_like(tokens, dtype=torch.bool)
    wanted[:, 4] = True
    torch.testing.assert_close(hidden(module, tokens, wanted)[0, 4], hidden(module, tokens)[0, 4])


@EVERY
def test_the_encoder_reads_each_different_prompt_once(kind):
    module = MODELS[kind]()
    read, decoded = [], []
    module.get_encoder().register_forward_pre_hook(
        lambda _, args, kwargs: read.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    module.get_decoder().register_forward_pre_hook(
        lambda _, args, kwargs: decoded.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    rows_module.pair_serves(module)  # the comparison of the cache, once for a model
    read.clear(), decoded.clear()
    prompts = [prompt for prompt in prompts_of(3) for _ in range(4)]
    answers = drawn(module, prompts, {"max_new_tokens": 6}, {"vocabulary": VOCABULARY}, end=(), pad=0)
    assert read == [3], "once a prompt, not once a token or an answer"
    assert decoded[0] == (12, 1)
    assert all(shape[1] == 1 for shape in decoded), "the cache holds what came before"
    read.clear()
    action_scores(module, batch_of(prompts, answers, VOCABULARY))
    assert read == [3], "and once a pass of scoring"


@EVERY
@pytest.mark.parametrize("budget", [1, 9, 24, 10_000])
def test_answers_to_prompts_read_in_passes_are_the_same(kind, budget, monkeypatch):
    """Prompts with up to eight ids for the encoder, among them equal ones; their order is mixed."""
    module, different = MODELS[kind](), prompts_of(9)
    prompts = [different[i] for i in (0, 1, 1, 2, 8, 3, 4, 5, 6, 5, 7, 0)]
    settings, more = {"max_new_tokens": 6, "live": 12}, {"vocabulary": VOCABULARY}
    expected = drawn(module, prompts, settings, more, end=(), pad=0)
    shapes = []
    module.get_encoder().register_forward_pre_hook(
        lambda _, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    monkeypatch.setattr(encoder_decoder, "PREFILL", budget)
    found = drawn(module, prompts, settings, more, end=(), pad=0)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.tokens.ids.tolist() == theirs.tokens.ids.tolist()
        assert np.abs(ours.tokens.drawn_logprob - theirs.tokens.drawn_logprob).max() < 1e-9
    assert all(rows == 1 or rows * width <= budget for rows, width in shapes)
    assert len(shapes) == {1: 9, 9: 9, 24: 3, 10_000: 1}[budget], shapes


UNSEEN = {
    twins.DisplacedPair: "decoder.*relative_attention_bias",
    twins.UnwrittenPair: "decoder.*SelfAttention.o.weight",
    twins.PaddedSourcePair: "EncDecAttention.o.weight",
    twins.OtherSourcePair: "EncDecAttention.o.weight",
}


@pytest.mark.parametrize("wrong", UNSEEN)
def test_a_wrong_cache_that_a_fresh_model_does_not_see_is_found_later(wrong, monkeypatch):
    module = t5(dtype=torch.float32)
    trained = {key: tensor.clone() for key, tensor in module.state_dict().items()}
    for name, parameter in module.named_parameters():
        if re.search(UNSEEN[wrong], name):
            torch.nn.init.zeros_(parameter)
    monkeypatch.setattr(rows_module, "Paired", wrong)
    assert rows_module.pair_serves(module), "nobody can see the difference yet"
    assert module not in rows_module._passed
    module.load_state_dict(trained)
    assert not rows_module.pair_serves(module)
    monkeypatch.undo()
    assert rows_module.pair_serves(module)
    assert module in rows_module._passed


KINDS = {
    "none": ({}, {}),
    "top-k": ({"top_k": 5, "temperature": 1.3}, {}),
    "top-p": ({"top_p": 0.7, "min_new_tokens": 4}, {}),
    "nucleus": ({}, {"nucleus": Nucleus(None, top_p=0.6)}),
    "greedy": ({"method": "greedy"}, {}),
    "legal words": ({}, {"allowed": True}),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("support", KINDS)
@EVERY
def test_log_probabilities_agree_with_sampling(kind, support):
    module = MODELS[kind](dtype=torch.float32)
    settings, further = KINDS[support]
    prompts = prompts_of(12)
    if further.get("allowed"):
        further = {"allowed": [Trie([[5, 6, END], [7, END], [7, 8, 9, END]])] * len(prompts)}
    answers = drawn(module, prompts, settings, further, end=(END,), pad=0)
    assert len({len(prompt) for prompt in prompts}) > 1
    scores = action_scores(module, batch_of(prompts, answers, VOCABULARY, extra=2))
    sampled = [torch.from_numpy(np.concatenate(column)) for column in zip(*(
        (answer.tokens.drawn_logprob, answer.tokens.policy_logprob) for answer in answers
    ))]  # fmt: skip
    if support != "greedy":
        torch.testing.assert_close(scores.drawn.double(), sampled[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(scores.policy.double(), sampled[1], rtol=0, atol=1e-5)


@EVERY
def test_answers_depend_neither_on_the_cache_nor_on_other_rows(kind, monkeypatch):
    module, prompts = MODELS[kind](), prompts_of(20)
    together = decode(module, prompts, keys_of(20), Decoding(max_new_tokens=30), end=(END,), pad=0)
    few = decode(module, prompts, keys_of(20), Decoding(max_new_tokens=30, live=5), end=(END,), pad=0)
    monkeypatch.setattr(rows_module, "pair_serves", lambda *_: False)
    plain = decode(module, prompts, keys_of(20), Decoding(max_new_tokens=30), end=(END,), pad=0)
    for other in (few, plain):
        assert [a.tokens.ids.tolist() for a in other] == [a.tokens.ids.tolist() for a in together]
        for a, b in zip(other, together, strict=True):
            np.testing.assert_allclose(a.tokens.policy_logprob, b.tokens.policy_logprob, rtol=0, atol=1e-10)


@EVERY
def test_beams_are_those_of_transformers(kind):
    module, prompts = MODELS[kind](), prompts_of(6)
    settings = {"method": "beam", "beams": 3, "max_new_tokens": 7}
    ours = decode(module, prompts, keys_of(6), Decoding(**settings), end=(END,), pad=0)
    for prompt, answer in zip(prompts, ours, strict=True):
        source, first = encoder_decoders.sides(prompt)
        theirs = module.generate(
            input_ids=torch.tensor([source]), num_beams=3, max_new_tokens=7, do_sample=False,
            forced_eos_token_id=None, forced_bos_token_id=None, no_repeat_ngram_size=0,
        )[0].tolist()[len(first) :]  # fmt: skip
        theirs = theirs[: theirs.index(END) + 1] if END in theirs else theirs
        assert answer.tokens.ids.tolist() == theirs
    alone = [decode(module, [p], keys_of(1), Decoding(**settings), end=(END,), pad=0)[0] for p in prompts]
    assert [a.tokens.ids.tolist() for a in alone] == [a.tokens.ids.tolist() for a in ours]


@EVERY
def test_a_prompt_needs_both_sides(kind):
    module = MODELS[kind]()
    for prompt in ([START], [~5], [~5, START, ~6]):
        with pytest.raises(BadModel, match="each side needs at least one"):
            decode(module, [prompt], keys_of(1), Decoding(max_new_tokens=2), end=(END,), pad=0)


def test_absolute_positions_bound_each_side():
    module = bart()
    with pytest.raises(BadModel, match="takes at most 48"):
        decode(module, [[*[~5] * 49, START]], keys_of(1), Decoding(max_new_tokens=2), end=(END,), pad=0)
    decode(module, [[*[~5] * 48, START]], keys_of(1), Decoding(max_new_tokens=46), end=(END,), pad=0)
    with pytest.raises(BadModel, match="takes at most 0"):
        decode(module, [[~5, START]], keys_of(1), Decoding(max_new_tokens=49), end=(END,), pad=0)


@pytest.mark.parametrize("shape", ["t5", "bart"])
@pytest.mark.parametrize("gives", ["logits", "states"])
def test_a_cache_serves_with_products_in_half_precision(shape, gives):
    """Rounding of products decides the tolerance: BART's logits are float32 also under autocast."""
    made = pretrained.build(
        ["a b c d e f"], shape=shape, layers=2, width=64, heads=2, context=64, key=Key(0), device="cpu"
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert rows_module.pair_serves(made.module.eval(), gives)
    assert rows_module.pair_serves(made.module, gives)
