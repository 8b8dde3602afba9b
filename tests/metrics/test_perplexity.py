import math

import pytest

from helpers.metrics.laws import check_laws, rows
from loquent.core.metric import Context, Samples
from loquent.errors import BadModel, BadRow, BadSetting
from loquent.metrics.perplexity import exponential, perplexity, text_perplexity

REFERENCES = [(" sat on the mat .",), (" ran away .", " slept ."), (), ("",)]
PROMPTS = ["the cat", "the dog", "the bird", "the cow"]


@pytest.fixture(scope="module")
def language():
    from loquent import pretrained
    from loquent.core.seeding import Key

    texts = ["the cat sat on the mat .", "the dog ran away .", "the dog slept ."]
    return pretrained.build(
        texts,
        vocabulary=300,
        layers=1,
        width=16,
        heads=2,
        context=24,
        key=Key(3),
        device="cpu",
        dtype="float64",
    )


def by_hand(language, prompt, text):
    """The negative log-likelihoods of the tokens of a text and its end, one token at a time, from the whole
    softmax.
    """
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
    measured = perplexity(Context(model=language))(Samples(["unused"] * 4, REFERENCES, PROMPTS, []))
    first = by_hand(language, "the cat", " sat on the mat .")
    second = by_hand(language, "the dog", " ran away .") + by_hand(language, "the dog", " slept .")
    samples = measured.samples["perplexity"]
    assert samples[:2] == pytest.approx(
        [math.exp(sum(first) / len(first)), math.exp(sum(second) / len(second))], rel=1e-9
    )
    assert samples[2:] == [None, None]
    # the corpus weighs tokens, not samples: RL4LMs' exp(sum of nll / tokens)
    assert measured.corpus["perplexity"] == pytest.approx(
        math.exp((sum(first) + sum(second)) / (len(first) + len(second))), rel=1e-9
    )
    # the twin: the mean of perplexities
    assert measured.corpus["perplexity"] != pytest.approx(sum(samples[:2]) / 2, rel=1e-4)


def test_a_sum_of_tallies_is_the_corpus(language):
    metric = perplexity(Context(model=language))
    tally = metric.tally(Samples(["unused"] * 4, REFERENCES, PROMPTS, []))
    assert tally[2:].tolist() == [[0, 0], [0, 0]]
    for chosen in ([0, 1, 2, 3], [1, 1, 0], [2, 3]):
        wanted = metric(
            Samples(
                ["unused"] * len(chosen), [REFERENCES[i] for i in chosen], [PROMPTS[i] for i in chosen], []
            )
        ).corpus
        assert metric.of_tally(tally[chosen].sum(0)) == pytest.approx(wanted, rel=1e-9)


def test_a_text_beyond_the_context_is_scored_in_windows(language):
    long = " ".join(["the cat sat on the mat ."] * 12)
    assert len(language.tokenizer(long)["input_ids"]) > 24
    measured = perplexity(Context(model=language))(Samples([""], [(long,)]))
    assert 1 < measured.corpus["perplexity"] < 1000


def test_it_follows_the_policy_as_that_learns(language):
    import torch

    metric = perplexity(Context(model=language))
    before = metric(Samples([""], [(" sat",)], ["the cat"], [])).corpus["perplexity"]
    with torch.no_grad():
        language.module.lm_head.weight.mul_(2)
        after = metric(Samples([""], [(" sat",)], ["the cat"], [])).corpus["perplexity"]
        language.module.lm_head.weight.mul_(0.5)
    assert after != before == metric(Samples([""], [(" sat",)], ["the cat"], [])).corpus["perplexity"]


def test_generations_under_a_fixed_model(language, tmp_path):
    from loquent import pretrained

    pretrained.save(language, tmp_path)
    metric = text_perplexity(Context(), path=str(tmp_path), device="cpu")
    measured = metric(Samples([" sat", ""], [(), ()], ["the cat", "the dog"], []))
    losses = by_hand(language, "the cat", " sat")
    assert measured.samples["text_perplexity"] == [
        pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4),
        None,
    ]  # kept as float32
    assert measured.corpus["text_perplexity"] == measured.samples["text_perplexity"][0]
    assert metric.keys == ("text_perplexity",)


def test_nothing_to_score_is_no_score(language):
    measured = perplexity(Context(model=language))(Samples(["a"], [()], ["b"], []))
    assert measured.samples == {"perplexity": [None]}
    assert measured.corpus == {}


def test_a_hopeless_model_is_finite():
    assert math.isfinite(exponential(1e9))
    assert exponential(2.0) == math.exp(2.0)


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(BadSetting, match=r"there is no model here. Use text_perplexity"):
        perplexity(Context())
    with pytest.raises(BadSetting, match="text_perplexity needs path: the fixed language model"):
        text_perplexity(Context())
    lazy = text_perplexity(Context(), path=str(tmp_path / "none"))
    with pytest.raises(BadModel):
        lazy(Samples(["a"]))


# ---- strided, as RL4LMs reports it


def naive(language, text, stride):
    """A loop over windows with the library's own loss, as RL4LMs runs it: means weighted by targets, by the
    number of ids in the end.
    """
    import torch

    ids = torch.tensor([language.tokenizer(text)["input_ids"]])
    total, size = 0.0, ids.shape[1]
    for i in range(0, size, stride):
        begin, end = max(i + stride - language.context, 0), min(i + stride, size)
        window = ids[:, begin:end]
        labels = window.clone()
        labels[:, : -(end - i)] = -100
        with torch.no_grad():
            total += language.module(window, labels=labels).loss.item() * (end - i)
    return math.exp(total / size)


def test_m10_strided_is_exp_of_the_mean_token_loss_on_a_short_text(language):
    measured = perplexity(Context(model=language), stride=20)(
        Samples(["unused"], [("the cat sat",)], ["unused"], rows(1))
    )
    import torch

    ids = language.tokenizer("the cat sat")["input_ids"]
    assert len(ids) <= 20
    with torch.no_grad():
        logprobs = language.module(torch.tensor([ids])).logits[0].log_softmax(-1)
    losses = [-logprobs[t - 1, ids[t]].item() for t in range(1, len(ids))]
    assert measured.corpus == {
        "perplexity-strided": pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-9)
    }
    assert measured.samples == {}
    with_end = perplexity(Context(model=language))(Samples([""], [("the cat sat",)], [""], rows(1))).corpus[
        "perplexity"
    ]
    assert with_end != pytest.approx(measured.corpus["perplexity-strided"], rel=1e-3), (
        "the other perplexity counts start and end"
    )


@pytest.mark.parametrize("stride", [2, 7, 12, 23])
@pytest.mark.parametrize("budget", [24, 8192])
def test_m10_strided_equals_a_naive_loop_on_a_long_text(language, stride, budget):
    references = [(" the cat sat on the mat .",) * 2, (" the dog ran away .",), ()] * 6
    text = "\n\n".join(one for own in references for one in own)
    assert len(language.tokenizer(text)["input_ids"]) > 5 * 24
    measured = perplexity(Context(model=language), stride=stride, token_budget=budget)(
        Samples([""] * 18, references, [""] * 18, rows(18))
    )
    assert measured.corpus["perplexity-strided"] == pytest.approx(naive(language, text, stride), rel=1e-6)
    assert measured.corpus["perplexity-strided"] != pytest.approx(
        naive(language, text, stride % 7 + 1), rel=1e-6
    ), "the twin: another stride"


def test_strided_reads_a_field_and_says_what_it_cannot(language):
    metric = perplexity(Context(model=language), stride=12, field="text")
    assert metric(Samples([""], [("other",)], [""], rows(1, text="the cat sat"))).corpus == {
        "perplexity-strided": pytest.approx(naive(language, "the cat sat", 12), rel=1e-6)
    }
    with pytest.raises(BadRow, match=r"row r0: the field .text. that perplexity reads is None"):
        metric(Samples([""], [()], [""], rows(1)))
    with pytest.raises(BadSetting, match=r"stride = 24; it must be in \[1, 23\]"):
        perplexity(Context(model=language), stride=24)(Samples([""], [("a b",)], [""], rows(1)))
    with pytest.raises(BadSetting, match="field is read only with a stride"):
        perplexity(Context(model=language), field="text")
    strided = perplexity(Context(model=language), stride=12)
    assert strided(Samples(["a"], [()], ["b"], rows(1))).corpus == strided(Samples([])).corpus == {}
    assert math.isfinite(
        perplexity(Context(model=language), stride=1)(Samples([""], [("the cat",)], [""], rows(1))).corpus[
            "perplexity-strided"
        ]
    )


def test_laws(language, tmp_path):
    check_laws(perplexity(Context(model=language)), 1, math.inf, examples=5)
