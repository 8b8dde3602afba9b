"""The perturbation as a logits processor for the `generate` of transformers: the distribution of our own
decoding.
"""

import math

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList

from helpers.models.small_models import END, VOCABULARY, drawn, gemma, gpt2, keys_of, prompts_of
from helpers.models.small_values import counted, ids_of, values_of
from loquent.core.seeding import Key, borrow_generators
from loquent.models.decode.processor import PerturbedLogits
from loquent.models.decoding_settings import Decoding
from loquent.models.values.perturb import Perturbation
from loquent.pretrained import pad_rows

MODELS = {"gpt2": gpt2, "gemma": gemma}
SAMPLING = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
WITHIN = 1e-5  # `generate` gives its scores in float32, whatever the model is in
MARKS = {"eos_token_id": END, "pad_token_id": END, "bos_token_id": END}


def generated(module, prompts, perturbation, decoding=None, new=6, **options):
    """What plain `generate` says, and the log-probabilities it drew from, [rows, steps, V]."""
    ids, real = pad_rows(prompts, END, module.device, left=True)
    processor = PerturbedLogits(module, perturbation, decoding, attention_mask=real)
    options = {"do_sample": False, **options, **MARKS, "return_dict_in_generate": True, "output_scores": True}
    with borrow_generators(Key(0)):
        found = module.generate(
            ids,
            attention_mask=real.long(),
            max_new_tokens=new,
            logits_processor=LogitsProcessorList([processor]),
            **options,
        )
    said = [
        row[: row.index(END) + 1] if END in row else row
        for row in found.sequences[:, ids.shape[1] :].tolist()
    ]
    return said, torch.stack(found.scores, 1)


@pytest.mark.parametrize("backbones", ["separate", "shared", "lora"])
@pytest.mark.parametrize("name", MODELS)
def test_greedy_generate_says_what_we_say(name, backbones):
    module, prompts = MODELS[name](), prompts_of(10)
    perturbation = Perturbation(values_of(module, backbones), adv_beta=2.0, adv_clip=0.3)
    ours = drawn(module, prompts, {"method": "greedy", "max_new_tokens": 6}, perturbation=perturbation)
    said, scores = generated(module, prompts, perturbation, Decoding(method="greedy"))
    assert said == ids_of(ours)
    for row, answer in zip(scores, ours, strict=True):  # and with our probabilities
        for step, (token, logprob) in enumerate(
            zip(answer.tokens.ids, answer.tokens.drawn_logprob, strict=True)
        ):
            assert float(row[step, token]) == pytest.approx(float(logprob), abs=WITHIN)
    assert said != ids_of(drawn(module, prompts, {"method": "greedy", "max_new_tokens": 6}))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("filters", ["before", "after"])
@pytest.mark.parametrize(
    "options", [{}, {"top_k": 4}, {"top_p": 0.7}, {"top_k": 9, "top_p": 0.8, "temperature": 1.7}]
)
@pytest.mark.parametrize("name", MODELS)
def test_sampling_generate_draws_from_our_distribution(name, options, filters):
    module, prompts = MODELS[name](), prompts_of(6)
    perturbation = Perturbation(values_of(module), adv_beta=2.0, filters=filters)
    said, scores = generated(module, prompts, perturbation, Decoding(**options), **SAMPLING)
    assert torch.allclose(scores.exp().sum(-1), torch.ones(scores.shape[:2], dtype=scores.dtype))
    for prompt, answer, row in zip(
        prompts, said, scores, strict=True
    ):  # the very distribution of our own loop after these ids
        for step in range(len(answer)):
            (one,) = drawn(
                module,
                [[*prompt, *answer[:step]]],
                {"max_new_tokens": 1, **options},
                {"end": ()},
                perturbation=perturbation,
            )
            kept = (row[step] > -torch.inf).numpy()
            support = (
                one.tokens.support.dense_mask(0)[0].numpy()
                if one.tokens.support is not None
                else np.ones(VOCABULARY, dtype=bool)
            )
            assert (kept == support).all()
            assert float(row[step, one.tokens.ids[0]]) == pytest.approx(
                float(one.tokens.drawn_logprob[0]), abs=WITHIN
            )
            assert kept[answer[step]]


def test_the_draws_of_generate_are_ours_by_chi_square():
    # the 99% point of chi-square with n - 1 degrees of freedom by Wilson and Hilferty (1931)
    module, n = gpt2(vocabulary=10), 4000
    perturbation = Perturbation(values_of(module), adv_beta=1.0)
    said, scores = generated(module, [[3, 1, 4]] * n, perturbation, new=1, **SAMPLING)
    ours = drawn(
        module, [[3, 1, 4]] * n, {"max_new_tokens": 1}, {"end": ()}, keys_of(n), perturbation=perturbation
    )
    p = scores[0, 0].exp().numpy()
    limit = 9 * (1 - 2 / 81 + 2.3263 * math.sqrt(2 / 81)) ** 3
    for tokens in ([row[0] for row in said], [answer.tokens.ids[0] for answer in ours]):
        counts = np.bincount(tokens, minlength=10)
        assert ((counts - n * p) ** 2 / (n * p)).sum() < limit
        assert ((counts - n / 10) ** 2 / (n / 10)).sum() > limit  # it can fail


def test_beams_move_and_the_caches_with_them():
    module, prompts = gpt2(), prompts_of(8)
    values = values_of(module)
    perturbation = Perturbation(values, adv_beta=2.0)
    beams = {"num_beams": 4, "length_penalty": 0.0}
    said, _ = generated(module, prompts, perturbation, Decoding(method="beam"), **beams)
    counts = counted(values.target_trunk)
    whole = PerturbedLogits._origin
    try:
        PerturbedLogits._origin = lambda self, ids: None  # every step reads all again
        assert generated(module, prompts, perturbation, Decoding(method="beam"), **beams)[0] == said
        # beams that do not move
        PerturbedLogits._origin = lambda self, ids: None if self.ids is None else torch.arange(len(ids))
        assert generated(module, prompts, perturbation, Decoding(method="beam"), **beams)[0] != said
    finally:
        PerturbedLogits._origin = whole
    assert counts[0] > 0


def test_what_generate_has_forbidden_stays_forbidden():
    module, prompts = gpt2(), prompts_of(8)
    for options in ({}, {"logits": False}):
        perturbation = Perturbation(values_of(module), adv_beta=8.0, **options)
        said, scores = generated(module, prompts, perturbation, min_new_tokens=4, **SAMPLING)
        assert all(END not in row[:4] for row in said)
        assert (scores[:, :4, END] == -torch.inf).all()
        assert (scores[:, 4:, END] > -torch.inf).all()


def test_a_neutral_processor_leaves_the_policy():
    module, prompts = gpt2(), prompts_of(6)
    values = values_of(module)
    counts = counted(values.target_trunk, values.value_trunk)
    said, scores = generated(module, prompts, Perturbation(values, adv_beta=0.0))
    assert said == ids_of(drawn(module, prompts, {"method": "greedy", "max_new_tokens": 6}))
    assert counts == [0, 0]
    with torch.no_grad():
        first = module(torch.tensor([prompts[0]])).logits[0, -1].log_softmax(-1).float()
    assert torch.allclose(scores[0, 0], first, atol=WITHIN)
