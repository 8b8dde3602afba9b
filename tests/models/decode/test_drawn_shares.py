"""Spec A6 through the whole decoding loop: a token is drawn with the probability recorded for it."""

import math

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from loquent.core.seeding import Key, borrow_generators
from loquent.models.decode.loop import Decoding, decode

WORDS, END = 10, 9
SETTINGS = {"top_k": 4, "temperature": 0.7, "min_new_tokens": 1}


def model():
    config = GPT2Config(
        vocab_size=WORDS, n_positions=8, n_embd=16, n_layer=1, n_head=2, initializer_range=0.5,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=END,
    )  # fmt: skip
    with borrow_generators(Key(4, ("shares",))):
        return GPT2LMHeadModel(config).double().eval()


@pytest.mark.parametrize("draws", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a6_draws_have_the_recorded_probabilities(draws):
    module, decoding = model(), Decoding(max_new_tokens=1, live=10_000, **SETTINGS)
    prompts, keys = [[3, 1, 2]] * draws, Key(7, ("a6",))
    answers = decode(module, prompts, [keys.child(i) for i in range(draws)], decoding, end=[END], pad=0)
    seen = np.bincount([answer.tokens.ids[0] for answer in answers], minlength=WORDS)
    with torch.no_grad():
        logits = module(input_ids=torch.tensor([[3, 1, 2]])).logits[0, -1] / 0.7
    logits[END] = -torch.inf  # an answer of one token may not end here
    logits[logits < logits.sort().values[-4]] = -torch.inf
    share = logits.softmax(-1).numpy()
    recorded = {int(answer.tokens.ids[0]): float(answer.tokens.drawn_logprob[0]) for answer in answers}
    assert all(math.exp(value) == pytest.approx(share[i], abs=1e-12) for i, value in recorded.items())
    assert statistic(seen, share) < bound(share)
    moved = np.where(share > 0, seen, 0)
    first, second = np.flatnonzero(share)[:2]
    moved[first], moved[second] = moved[first] + draws // 50, moved[second] - draws // 50
    assert statistic(moved, share) > bound(share)  # it can fail


def statistic(seen, share):
    """The chi-square of the counts; words without probability must not be drawn."""
    assert not seen[share == 0].any()
    wanted = seen.sum() * share[share > 0]
    return float(((seen[share > 0] - wanted) ** 2 / wanted).sum())


def bound(share):
    """The 99% point of chi-square with n - 1 degrees of freedom, by Wilson and Hilferty (1931)."""
    n = int((share > 0).sum()) - 1
    return n * (1 - 2 / (9 * n) + 2.326 * math.sqrt(2 / (9 * n))) ** 3
