import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Context, Samples
from loquent.errors import BadRow, BadSetting
from loquent.metrics.sentiment.lexicon import balance, lexicon, read
from loquent.metrics.sentiment.opinion_words import NEGATIVE, NEGATORS, POSITIVE
from loquent.metrics.text import words


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("a superb film", 1.0),
        ("a dull film", -1.0),
        ("superb and dull", 0.0),
        ("superb , witty and dull", 1 / 3),  # two of praise, one of blame: (2 - 1) / 3
        ("never dull", 1.0),
        ("not a very good film", -1.0),  # three words on
        ("not one of these was good", 1.0),  # five words on: out of reach
        ("not this one , good", 1.0),  # the clause has ended
        ("it isn't good", -1.0),
        ("it isn’t good", -1.0),
        ("the film is blue", None),
        ("", None),
    ],
)
def test_balance_by_hand(text, score):
    assert balance(text) == (None if score is None else pytest.approx(score, abs=1e-15))


def test_the_lists_are_sound():
    assert len(POSITIVE) >= 150 <= len(NEGATIVE)
    assert not POSITIVE & NEGATIVE
    assert not NEGATORS & (POSITIVE | NEGATIVE)
    assert all(words(word) == [word] for word in POSITIVE | NEGATIVE | NEGATORS)


def test_samples_and_corpus():
    metric = lexicon(Context(), include_prompt=False)
    measured = metric(Samples(["good", "bad", "blue"], [()] * 3, ["bad"] * 3, []))
    assert measured.samples == {"lexicon/balance": [1.0, -1.0, None]}
    assert measured.corpus == {"lexicon/balance": 0.0}
    # with its prompt
    assert lexicon(Context())(Samples(["good"], [()], ["bad"], [])).samples == {"lexicon/balance": [0.0]}
    assert metric(Samples(["blue"])).corpus == {}
    assert metric(Samples([])).corpus == {}


@given(
    st.lists(st.sampled_from(["good film", "never bad", "dull , good", "blue"]), min_size=1, max_size=6),
    st.randoms(),
)
def test_a_text_is_scored_alone(texts, rng):
    metric = lexicon(Context())
    order = list(range(len(texts)))
    rng.shuffle(order)

    def scores(chosen):
        return metric(Samples(chosen)).samples["lexicon/balance"]

    assert scores([texts[i] for i in order]) == [scores(texts)[i] for i in order]
    assert scores(texts) == [scores([text])[0] for text in texts]


def test_a_list_of_ones_own(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# word and weight\nblue 3\n\ngrey\t-1\t0.5\tmore columns\n")
    assert read(path) == {"blue": 3.0, "grey": -1.0}
    metric = lexicon(Context(), path=str(path))
    assert metric(Samples(["blue grey good"])).samples["lexicon/balance"] == [(3 - 1) / 4]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("blue\n", 1),
        ("a 1\nblue two\n", 2),
        ("blue nan\n", 1),
        ("blue inf\n", 1),
        ("a 1\na -1\n", 2),
        ("", None),
        ("# only\n", None),
    ],
)
def test_a_bad_list_names_file_and_line(tmp_path, text, place):
    path = tmp_path / "words.txt"
    path.write_text(text)
    with pytest.raises(BadRow, match=rf"words\.txt:{place}: " if place else r"words\.txt: "):
        lexicon(Context(), path=str(path))


def test_no_such_list():
    with pytest.raises(BadSetting, match=r"lexicon.path = '/nowhere/words.txt' cannot be read"):
        lexicon(Context(), path="/nowhere/words.txt")
