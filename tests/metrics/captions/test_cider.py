import json
import math
import random

import pytest

from helpers.metrics import real_pairs
from helpers.metrics.golden_scores import agree, stored
from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Samples
from loquent.errors import BadRow, BadSetting
from loquent.metrics.captions.cider import caption_words, cider

SPACES = {"tokenizer": "whitespace"}
BOY = ["the dog is the boy 's cat .", "the dog eats the cat of the boy ."]
APPLES = "a boy is picking apples from trees"


def run(metric, predictions, references):
    return metric(Samples(predictions, references))


def test_m4():
    found = run(
        cider(Context(), **SPACES), [BOY[0], APPLES + " and put them into bags ."], [BOY, [APPLES + " ."]]
    )
    assert found.samples["cider"] == [pytest.approx(6.363295, abs=5e-7), pytest.approx(4.492346, abs=5e-7)]
    assert found.corpus["cider"] == pytest.approx(5.427820, abs=5e-7)
    same = ["a b c d", "e f g h"]
    assert run(cider(Context(), **SPACES), same, [[text] for text in same]).samples["cider"] == [
        pytest.approx(10.0),
        pytest.approx(10.0),
    ]
    # one sample: every idf is log 1
    assert run(cider(Context(), **SPACES), same[:1], [same[:1]]).samples["cider"] == [0.0]


def test_by_hand_with_a_fixed_corpus(tmp_path):
    # four samples; "a b" has idf log 4 - log 2 for a (in two of them) and log 4 for b and for a-b
    file = tmp_path / "corpus.txt"
    file.write_text("a b\na c\nd\n\ne\n")
    a, b = math.log(2), math.log(4)
    # "a b" against "a": 2 of 4 orders have n-grams in both? only the first
    unigrams = a * a / (math.hypot(a, b) * a)
    penalty = math.exp(-1 / 72)  # one bigram against none
    [score] = run(cider(Context(), corpus=str(file), **SPACES), ["a b"], [["a"]]).samples["cider"]
    assert score == pytest.approx(10 / 4 * unigrams * penalty, abs=1e-12)
    assert run(cider(Context(), corpus=str(file), **SPACES), ["a b"], [["a b"]]).samples["cider"] == [
        pytest.approx(5.0)
    ]  # orders 1 and 2 of 4


def test_a_corpus_of_json_lines(tmp_path):
    file, plain = tmp_path / "corpus.jsonl", tmp_path / "corpus.txt"
    file.write_text("".join(json.dumps({"references": own}) + "\n" for own in (BOY, APPLES, ["x y"])))
    plain.write_text("\n".join([*BOY, APPLES, "x y"]))
    together, apart = (
        run(cider(Context(), corpus=str(path), **SPACES), [BOY[0]], [BOY]).corpus["cider"]
        for path in (file, plain)
    )
    assert 0 < together != pytest.approx(apart)  # three samples, one with two references, are not four
    for line, why in (
        ("{", "not JSON"),
        ("[]", "one text or a non-empty list of texts"),
        ('{"references": [1]}', "is allowed"),
        ('{"references": []}', "is allowed"),
    ):
        file.write_text('{"references": "a"}\n' + line)
        with pytest.raises(BadRow, match=rf"corpus.jsonl:2: .*{why}"):
            cider(Context(), corpus=str(file), **SPACES)
    for path, why in ((tmp_path / "no.txt", "cannot be read"), (tmp_path / "empty.txt", "has no references")):
        (tmp_path / "empty.txt").write_text("\n\n")
        with pytest.raises(BadSetting, match=why):
            cider(Context(), corpus=str(path), **SPACES)


@pytest.mark.data
def test_cider_is_the_official_scorers(beside):
    predictions, references = real_pairs.captions(beside / "data")
    lower = [text.lower() for text in predictions], [[text.lower() for text in own] for own in references]
    golden = stored("cider")
    assert agree(run(cider(Context(), **SPACES), *lower).samples["cider"], golden["whitespace"])
    assert agree(run(cider(Context()), predictions, references).samples["cider"], golden["official"])
    assert not agree(run(cider(Context()), predictions, references).samples["cider"], golden["whitespace"])


def test_caption_words():
    assert caption_words()("The boy's dog, (it) can't: sit -- ever.") == [
        "the",
        "boy",
        "'s",
        "dog",
        "it",
        "ca",
        "n't",
        "sit",
        "ever",
    ]
    assert caption_words()("It’s Mr. Fox. He sat.  ok") == ["it", "'s", "mr.", "fox", "he", "sat", "ok"]


def test_five_thousand_words(tmp_path):
    rng = random.Random(3)
    long = " ".join(rng.choice("abcdefghij") for _ in range(5000))
    assert run(cider(Context(), **SPACES), [long, "x"], [[long], ["y"]]).samples["cider"] == [
        pytest.approx(10.0),
        0.0,
    ]


def test_laws(tmp_path):
    check_laws(cider(Context()), 0, 10, together=True)
    file = tmp_path / "corpus.txt"
    file.write_text("the cat sat\nsitting cats\n42 .\n")
    check_laws(cider(Context(), corpus=str(file)), 0, 10)
    with pytest.raises(
        AssertionError
    ):  # with the idf of the evaluated references a sample's score depends on the others: the law sees it
        check_laws(cider(Context(), **SPACES), 0, 10, examples=100)
