"""Beam search: the answers of transformers' own search for one prompt at a time, supports, and refusals."""

import numpy as np
import pytest
import torch
import transformers

from helpers.models.architectures import NOT_BUILT, VOCABULARY, built, enlarge
from helpers.models.pair_architectures import START
from helpers.models.pair_architectures import built as built_pair
from helpers.models.small_models import END, batch_of, drawn, gpt2, prompts_of
from loquent.errors import BadModel
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.trie import Trie
from loquent.pretrained.encoder_decoders import sides

IN_CI = [
    *((kind, "eager", "float64") for kind in ("bloom", "mpt", "gemma", "gemma2")),
    ("bart", "sdpa", "float32"),
]
NEW, BEAMS = 5, 3
SEARCH = {"method": "beam", "beams": BEAMS, "max_new_tokens": NEW, "live": 12}
WORDS = [[5, 6, END], [7, END], [9, 8, 4]]


def kinds():
    return sorted(
        set(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - NOT_BUILT.keys()
    )


def alone(module, prompts, end=END, **options):
    """The answers of `generate` with beams, to one prompt at a time."""
    module.generation_config = transformers.GenerationConfig(
        **{
            "num_beams": BEAMS,
            "max_new_tokens": NEW,
            "eos_token_id": end,
            "pad_token_id": END,
            "decoder_start_token_id": START,
            **options,
        }
    )
    answers = []
    for prompt in prompts:
        source, target = sides(prompt)
        inputs, width = {"input_ids": torch.tensor([target])}, len(target)
        if source:
            inputs = {"input_ids": torch.tensor([source]), "decoder_input_ids": torch.tensor([target])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        row = module.generate(**inputs)[0, width:].tolist()
        answers.append(row[: row.index(end) + 1] if end in row else row)
    return answers


def ids_of(answers):
    return [answer.tokens.ids.tolist() for answer in answers]


def compare(kind, attention, dtype):
    module = built(kind, dtype)
    module.set_attn_implementation(attention)
    enlarge(module)
    prompts = [[2 + token for token in prompt] for prompt in prompts_of(5, vocabulary=VOCABULARY - 2)]
    wanted = alone(module, prompts)
    assert len({len(prompt) for prompt in prompts}) > 2
    assert ids_of(drawn(module, prompts, SEARCH)) == wanted
    return module, prompts


@pytest.mark.parametrize(("kind", "attention", "dtype"), IN_CI)
def test_prompts_of_other_lengths_change_no_answer(kind, attention, dtype):
    module, prompts = compare(kind, attention, dtype)
    greedy = ids_of(drawn(module, prompts, {**SEARCH, "method": "greedy"}))
    assert greedy == alone(module, prompts, num_beams=1)


def test_sources_of_other_lengths_change_no_answer():
    module = built_pair("t5")
    enlarge(module)
    rng = np.random.default_rng(0)
    prompts = [[*(~rng.integers(4, VOCABULARY, n)).tolist(), START] for n in (3, 7, 1, 5, 3)]
    assert ids_of(drawn(module, prompts, SEARCH)) == alone(module, prompts)


@pytest.mark.parametrize("minimum", [0, 3])
@pytest.mark.parametrize("vocabulary", [None, 12])
def test_a_token_has_the_support_that_it_was_chosen_from(minimum, vocabulary):
    """Legal words, a limit of the vocabulary, and a minimum length, which legal words need not keep."""
    module, prompts = gpt2(), prompts_of(6)
    allowed = [Trie(WORDS), None] * 3
    answers = drawn(
        module, prompts, {**SEARCH, "min_new_tokens": minimum}, {"allowed": allowed, "vocabulary": vocabulary}
    )
    scores = action_scores(module, batch_of(prompts, answers, VOCABULARY))
    recorded = np.concatenate([answer.tokens.drawn_logprob for answer in answers])
    assert np.abs(scores.drawn.detach().numpy() - recorded).max() < 1e-9
    for answer, trie in zip(answers, allowed, strict=True):
        ids = answer.tokens.ids.tolist()
        if trie is not None:
            assert ids in WORDS
            assert answer.stopped == "end"
            first = {0: 3, 1: 1}  # the ids that may follow: at the start, and after a whole first id
            kept = answer.tokens.support.dense_mask().sum(1).tolist()
            assert kept == [first.get(n, 1) for n in range(len(ids))]
        else:
            assert len(ids) >= minimum
            support = answer.tokens.support
            if minimum == 0 and vocabulary is None:
                assert support is None
                continue
            kept = support.dense_mask()
            assert kept[:, END].tolist() == [n >= minimum for n in range(len(ids))]
            assert kept[:, 1:].sum(1).tolist() == [(vocabulary or VOCABULARY) - 1] * len(ids)
    assert any(answer.tokens.support is not None for answer in answers)


@pytest.mark.parametrize("beams", [1, 3])
def test_logits_that_are_not_finite_are_refused(beams):
    module = gpt2()
    with torch.no_grad():
        module.transformer.ln_f.weight[3] = torch.nan
    with pytest.raises(BadModel, match="not finite"):
        drawn(module, prompts_of(3), {**SEARCH, "beams": beams})


def test_a_model_that_cannot_search_is_refused():
    with pytest.raises(BadModel, match=r"does not run with rwkv in float32.*greedy or sample"):
        drawn(built("rwkv", "float32"), prompts_of(3), SEARCH)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (NotImplementedError(), BadModel, "does not run with gpt2.*: NotImplementedError; decoding.method"),
        (RuntimeError("DefaultCPUAllocator: not enough memory"), RuntimeError, "not enough memory"),
    ],
)
def test_an_error_of_a_search_is_named_unless_memory_ran_out(error, kind, says):
    module = gpt2()

    def broken(*inputs):
        raise error

    module.transformer.ln_f.register_forward_hook(broken)
    with pytest.raises(kind, match=says):
        drawn(module, prompts_of(3), SEARCH)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", kinds())
def test_every_architecture_searches_as_transformers_or_is_refused(kind, dtype):
    for attention in ("eager", "sdpa"):
        module = built(kind, dtype)
        try:
            module.set_attn_implementation(attention)
            alone(module, [[5, 6], [7]])
        except Exception:  # transformers has no such search; ours says so
            with pytest.raises(BadModel, match="does not run with"):
                drawn(module, [[5, 6], [7]], SEARCH)
            continue
        compare(kind, attention, dtype)
