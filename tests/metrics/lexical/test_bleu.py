import itertools
import math

import pytest
import sacrebleu as library

from helpers.metrics import real_pairs
from helpers.metrics.laws import check_laws, samples_of, texts_of
from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting, MissingExtra
from loquent.metrics.lexical.bleu import bleu
from loquent.metrics.lexical.sacre import chrf, sacrebleu, ter, ter_reward

SAT, SITTING = "the cat sat on the mat", "the cat is sitting on the mat"


def run(metric, predictions, references):
    return metric(Samples(predictions, references))


def test_bleu_by_hand():
    # 6 words against 7: p = 5/6, 3/5, 1/4, 0/3 (the, cat, on, the, mat; the-cat, on-the, the-mat;
    # on-the-mat), e^(1 - 7/6)
    brevity = math.exp(1 - 7 / 6)
    found = run(bleu(Context()), [SAT], [[SITTING]]).corpus
    assert found["bleu"] == found["bleu/bleu4"] == 0.0
    assert found["bleu/bleu1"] == pytest.approx(brevity * 5 / 6, abs=1e-12)
    assert found["bleu/bleu2"] == pytest.approx(brevity * (5 / 6 * 3 / 5) ** (1 / 2), abs=1e-12)
    assert found["bleu/bleu3"] == pytest.approx(brevity * (5 / 6 * 3 / 5 * 1 / 4) ** (1 / 3), abs=1e-12)
    smooth = run(bleu(Context(), smoothing="add-one"), [SAT], [[SITTING]]).corpus["bleu"]
    assert smooth == pytest.approx(brevity * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** (1 / 4), abs=1e-12)


def test_bleu_as_hugging_faces_page_has_it():
    # "hello there general kenobi", "foo bar foobar": BLEU 1.0, length ratio 7/6, for the shortest references
    # have 3 + 3 tokens
    predictions, references = (
        ["hello there general kenobi", "foo bar foobar"],
        [["hello there general kenobi", "hello there!"], ["foo bar foobar"]],
    )
    found = run(bleu(Context()), predictions, references)
    assert found.corpus["bleu"] == 1.0
    assert found.samples["bleu"] == [1.0, 0.0]  # three words have no 4-gram
    assert found.samples["bleu/bleu3"] == [1.0, 1.0]


def test_the_shortest_reference_counts():
    # said 4 words, references of 3 and 5: r = 3, no penalty; sacrebleu's closest would be either
    assert run(bleu(Context()), ["a b c d"], [["a b c d x", "y y y"]]).corpus["bleu"] == 1.0
    assert run(bleu(Context()), ["a b c d"], [["a b c d x"]]).corpus["bleu"] == pytest.approx(
        math.exp(1 - 5 / 4)
    )


def test_clipping_takes_the_largest_count_of_any_reference():
    found = run(bleu(Context()), ["the the the the"], [["the cat the", "the"]]).corpus
    assert found["bleu/bleu1"] == pytest.approx(2 / 4)


@pytest.mark.data
def test_bleu_is_sacrebleus_with_one_reference_and_no_smoothing(beside):
    predictions, references = real_pairs.captions(beside / "data")
    one = [own[:1] for own in references]
    found = run(bleu(Context()), predictions, one)
    oracle = library.BLEU(smooth_method="none", force=True)
    assert found.corpus["bleu"] == pytest.approx(
        oracle.corpus_score(predictions, [[own[0] for own in one]]).score / 100, abs=1e-9
    )
    assert found.corpus["bleu"] > 0.03
    for score, said, own in zip(found.samples["bleu"], predictions, one, strict=True):
        assert score == pytest.approx(oracle.sentence_score(said, own).score / 100, abs=1e-9)
    spaces = run(bleu(Context(), tokenizer="whitespace"), predictions, one).corpus["bleu"]
    assert spaces == pytest.approx(
        library.BLEU(smooth_method="none", tokenize="none")
        .corpus_score(predictions, [[own[0] for own in one]])
        .score
        / 100
    )
    assert spaces != pytest.approx(found.corpus["bleu"])


def test_m3():
    wanted = {sacrebleu: 0.32159351, chrf: 0.46950097, ter: 0.28571429, ter_reward: 0.7142857}
    for make, value in wanted.items():
        metric = make(Context())
        found = run(metric, [SAT], [[SITTING]])
        assert found.corpus[metric.name] == found.samples[metric.name][0] == pytest.approx(value, abs=5e-8)
    assert run(sacrebleu(Context(), tokenize="intl"), [SAT], [[SITTING]]).corpus[
        "sacrebleu"
    ] == pytest.approx(0.32159351, abs=5e-9)
    assert (ter(Context()).higher_is_better, ter_reward(Context()).higher_is_better) == (False, True)
    assert run(chrf(Context(), word_order=2), [SAT], [[SITTING]]).corpus["chrf"] != pytest.approx(
        0.46950097, abs=1e-3
    )


@pytest.mark.parametrize("make", [sacrebleu, chrf, ter])
def test_unequal_numbers_of_references_and_empty_texts(make):
    """Each sample as if alone, the corpus as the package has it for padded streams."""
    predictions = [SAT, "A dog barks.", "", "cat", "nothing here"]
    references = [[SITTING, SAT + " today", "x"], ["a dog barks"], ["something"], ["", "cat"], []]
    metric = make(Context())
    found = run(metric, predictions, references)
    single = {sacrebleu: library.BLEU(effective_order=True), chrf: library.CHRF(), ter: library.TER()}[make]
    for i, own in enumerate(references[:4]):
        assert found.samples[metric.name][i] == pytest.approx(
            single.sentence_score(predictions[i], own).score / 100, abs=1e-12
        )
    assert found.samples[metric.name][4] is None
    oracle = {sacrebleu: library.BLEU(force=True), chrf: library.CHRF(), ter: library.TER()}[make]
    streams = [[own[k] if k < len(own) else None for own in references[:4]] for k in range(3)]
    assert found.corpus[metric.name] == pytest.approx(
        oracle.corpus_score(predictions[:4], streams).score / 100, abs=1e-12
    )
    cut = [[own[0] for own in references[:4]]]  # what zip would leave of them
    assert oracle.corpus_score(predictions[:4], cut).score / 100 != pytest.approx(found.corpus[metric.name])


@pytest.mark.parametrize("word_order", [0, 2])
def test_chrf_of_empty_texts_is_the_packages(word_order):
    texts = ["", " ", "\n", "a", "abc", "a b."]
    metric, oracle = chrf(Context(), word_order=word_order), library.CHRF(word_order=word_order)
    for prediction, first, second in itertools.product(texts, repeat=3):
        wanted = oracle.sentence_score(prediction, [first, second]).score / 100
        found = run(metric, [prediction], [[first, second]])
        assert found.samples["chrf"] == [pytest.approx(wanted, abs=1e-12)]
        both = [prediction, "abc"], [[first], [second]]
        wanted = oracle.corpus_score(both[0], [[first, second]]).score / 100
        assert run(metric, *both).corpus["chrf"] == pytest.approx(wanted, abs=1e-12)
    assert run(metric, [""], [[""]]).corpus == {"chrf": 0.0}, "also of two empty texts"


def test_of_equally_good_references_chrf_takes_the_shortest():
    import sacrebleu

    said, told = ["", "the cat sat"], [["a", "the cat sat on the mat with a dog"], ["the cat sat"]]
    found = [
        chrf(Context())(Samples(said, [own[::turn], told[1]])).corpus["chrf"]
        for own in told[:1]
        for turn in (1, -1)
    ]
    right = (
        sacrebleu.CHRF()
        .corpus_score(said, [["a", "the cat sat"], ["the cat sat on the mat with a dog", None]])
        .score
        / 100
    )
    assert found == [pytest.approx(right, abs=1e-12)] * 2
    assert right > 0.9  # the longest would give 0.26


def test_an_identical_text_scores_no_more_than_1():
    text = "the cat sat on the mat"
    found = sacrebleu(Context())(Samples([text], [[text]]))
    assert (found.samples["sacrebleu"], found.corpus["sacrebleu"]) == ([1.0], 1.0)


def test_casing():
    assert run(sacrebleu(Context()), ["A B C D"], [["a b c d"]]).corpus["sacrebleu"] < 0.5
    assert run(sacrebleu(Context(), lowercase=True), ["A B C D"], [["a b c d"]]).corpus[
        "sacrebleu"
    ] == pytest.approx(1.0)
    assert run(ter(Context()), ["A B"], [["a b"]]).corpus["ter"] == 0.0
    assert run(ter(Context(), case_sensitive=True), ["A B"], [["a b"]]).corpus["ter"] == 1.0
    assert run(ter(Context(), punctuation=False, normalized=True), ["a b !"], [["a b"]]).corpus["ter"] == 0.0
    assert run(chrf(Context(), lowercase=True), ["A B"], [["a b"]]).corpus["chrf"] == pytest.approx(1.0)


def test_short_samples_have_their_own_orders():
    """Three words have no 4-gram: a sample counts the orders it has, the corpus all four."""
    found = run(sacrebleu(Context()), ["a b c"], [["a b c"]])
    assert found.samples["sacrebleu"] == [pytest.approx(1.0)]
    assert found.corpus["sacrebleu"] == 0.0


def test_a_tokenizer_that_cannot_be_used_is_named():
    with pytest.raises(BadSetting, match=r"tokenize must be one of .*, got 'klingon'"):
        sacrebleu(Context(), tokenize="klingon")
    try:
        import MeCab  # noqa: F401
    except ImportError:
        with pytest.raises(BadSetting, match="tokenize = 'ja-mecab' cannot be used here"):
            sacrebleu(Context(), tokenize="ja-mecab")


@pytest.mark.parametrize("make", [sacrebleu, chrf, ter, bleu])
def test_a_missing_extra_is_named(make, monkeypatch):
    for name in ("sacrebleu", "sacrebleu.metrics", "sacrebleu.tokenizers.tokenizer_13a"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtra, match=r"loquent\[metrics\]"):
        run(make(Context()), ["a"], [["a"]])


@pytest.mark.parametrize("options", [{}, {"tokenizer": "whitespace", "smoothing": "add-one"}])
def test_laws_of_bleu(options):
    check_laws(bleu(Context(), **options), 0, 1)


def test_laws_of_sacrebleu():
    check_laws(sacrebleu(Context()), 0, 1)


def test_laws_of_chrf():
    check_laws(chrf(Context()), 0, 1, examples=15)


def test_laws_of_ter():
    """The library's edits take the product of both lengths, so texts of thousands of words are two alone."""
    check_laws(ter(Context()), 0, math.inf, best=0.0, samples=samples_of(texts_of(200)))
    assert run(ter(Context()), ["cat " * 5000, "cat"], [["cat"], ["cat " * 5000]]).samples["ter"] == [
        4999.0,
        4999 / 5000,
    ]


def test_identity_is_the_best():
    for metric in (bleu(Context()), sacrebleu(Context()), chrf(Context()), ter_reward(Context())):
        assert run(metric, [SAT], [["x", SAT]]).samples[metric.name] == [pytest.approx(1.0)], metric.name
