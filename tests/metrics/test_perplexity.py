import math

import pytest

from loquent.errors import BadModel, BadSetting
from loquent.metric import Context
from loquent.metrics.perplexity import exponential, perplexity, text_perplexity

REFERENCES = [(" sat on the mat .",), (" ran away .", " slept ."), (), ("",)]
PROMPTS = ["the cat", "the dog", "the bird", "the cow"]


@pytest.fixture(scope="module")
def language():
    from loquent import pretrained
    from loquent.seeding import Key

    texts = ["the cat sat on the mat .", "the dog ran away .", "the dog slept ."]
    return pretrained.build(texts, vocabulary=300, layers=1, width=16, heads=2, context=24, key=Key(3), device="cpu", dtype="float64")


def by_hand(language, prompt, text):
    """The negative log-likelihoods of the tokens of a text and its end, one token at a time, from the whole softmax."""
    import torch

    tokenizer = language.tokenizer
    before = [tokenizer.bos_token_id, *tokenizer(prompt)["input_ids"]]
    losses = []
    for token in [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]:
        with torch.no_grad():
            logits = language.module(torch.tensor([before])).logits[0, -1]
        losses.append(-logits.log_softmax(0)[token].item())
        before.append(token)
    return losses


def test_m10_the_policys_perplexity_is_exp_of_the_mean_token_loss(language):
    measured = perplexity(Context(model=language))(["unused"] * 4, REFERENCES, PROMPTS, [])
    first = by_hand(language, "the cat", " sat on the mat .")
    second = by_hand(language, "the dog", " ran away .") + by_hand(language, "the dog", " slept .")
    samples = measured.samples["perplexity"]
    assert samples[:2] == pytest.approx([math.exp(sum(first) / len(first)), math.exp(sum(second) / len(second))], rel=1e-9)
    assert samples[2:] == [None, None]
    # the corpus weighs tokens, not samples: RL4LMs' exp(sum of nll / tokens)
    assert measured.corpus["perplexity"] == pytest.approx(math.exp((sum(first) + sum(second)) / (len(first) + len(second))), rel=1e-9)
    assert measured.corpus["perplexity"] != pytest.approx(sum(samples[:2]) / 2, rel=1e-4)  # the twin: the mean of perplexities


def test_a_text_beyond_the_context_is_scored_in_windows(language):
    long = " ".join(["the cat sat on the mat ."] * 12)
    assert len(language.tokenizer(long)["input_ids"]) > 24
    measured = perplexity(Context(model=language))([""], [(long,)], [""], [])
    assert 1 < measured.corpus["perplexity"] < 1000


def test_it_follows_the_policy_as_that_learns(language):
    import torch

    metric = perplexity(Context(model=language))
    before = metric([""], [(" sat",)], ["the cat"], []).corpus["perplexity"]
    with torch.no_grad():
        language.module.lm_head.weight.mul_(2)
        after = metric([""], [(" sat",)], ["the cat"], []).corpus["perplexity"]
        language.module.lm_head.weight.mul_(0.5)
    assert after != before == metric([""], [(" sat",)], ["the cat"], []).corpus["perplexity"]


def test_generations_under_a_fixed_model(language, tmp_path):
    from loquent import pretrained

    pretrained.save(language, tmp_path)
    metric = text_perplexity(Context(), path=str(tmp_path), device="cpu")
    measured = metric([" sat", ""], [(), ()], ["the cat", "the dog"], [])
    losses = by_hand(language, "the cat", " sat")
    assert measured.samples["text_perplexity"] == [pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4), None]  # kept as float32
    assert measured.corpus["text_perplexity"] == measured.samples["text_perplexity"][0]
    assert metric.keys == ("text_perplexity",)


def test_nothing_to_score_is_no_score(language):
    measured = perplexity(Context(model=language))(["a"], [()], ["b"], [])
    assert measured.samples == {"perplexity": [None]}
    assert measured.corpus == {}


def test_a_hopeless_model_is_finite():
    assert math.isfinite(exponential(1e9))
    assert exponential(2.0) == math.exp(2.0)


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(BadSetting, match="no model plays here; text_perplexity takes one by path"):
        perplexity(Context())
    with pytest.raises(BadSetting, match="text_perplexity needs path: the fixed language model"):
        text_perplexity(Context())
    lazy = text_perplexity(Context(), path=str(tmp_path / "none"))
    with pytest.raises(BadModel):
        lazy(["a"], [()], [""], [])
