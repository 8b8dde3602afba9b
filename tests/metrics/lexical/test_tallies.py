"""Metrics that keep a tally: what is said of a sum of tallies is the score of the corpus, and n-grams are
counted as sacrebleu counts them.
"""

import random

import numpy as np
import pytest
import sacrebleu as library
from hypothesis import given
from hypothesis import strategies as st

from helpers.metrics.laws import SAMPLES, TEXTS
from loquent.core import registry
from loquent.core.metric import Context, Samples, Tallied
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.metrics.lexical.sacre_counts import count_characters, count_words

CASES = [
    ("bleu", {}),
    ("bleu", {"smoothing": "add-one", "tokenizer": "whitespace"}),
    ("sacrebleu", {}),
    ("sacrebleu", {"smoothing": "add-k"}),
    ("chrf", {"word_order": 2}),
    ("ter", {}),
    ("bleu_totto", {}),
    ("bleu_totto", {"pad": False}),
    ("span_f1", {}),
    ("span_f1", {"scheme": "io"}),
]
WORDS = ["the", "cat", "cat/B-PER", "sat/I-PER", "on/O", "a", "mat/B-LOC", ",", ".", "naïve", "猫", "x"]


def corpus(n, seed):
    """Samples with none to three references, in both halves of the overlap and in none."""
    made = random.Random(seed)

    def text():
        return " ".join(made.choices(WORDS, k=made.randrange(9)))

    told = [Row(f"r{i}", Record(overlap_subset=made.choice([True, False, None]))) for i in range(n)]
    said = [text() for _ in told]
    return Samples(said, [[text() for _ in range(made.randrange(4))] for _ in told], rows=told)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_sum_of_tallies_is_the_corpus(name, options):
    metric = registry.find("metric", name)(Context(), **options)
    assert isinstance(metric, Tallied)
    whole = corpus(40, name)
    tally = metric.tally(whole)
    assert tally.shape[0] == 40
    drawn = [3, 3, 3, *range(10, 39), 11]
    for chosen in (list(range(40)), drawn, [i for i, own in enumerate(whole.references) if not own]):
        found = metric.of_tally(tally[chosen].sum(0))
        wanted = metric(whole.take(chosen)).corpus
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert found.keys() == wanted.keys()
    others = metric(whole).leave_out([0, 7])
    assert others == pytest.approx(metric(whole.take([*range(1, 7), *range(8, 40)])).corpus, rel=1e-12)
    some = metric.of_tally(tally[drawn].sum(0))
    assert some
    assert some != pytest.approx(metric.of_tally(tally.sum(0)), rel=1e-6)  # another corpus, another score


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.integers(0, 2), st.booleans())
def test_characters_are_counted_as_sacrebleu_does(said, references, word_order, lowercase):
    chrf = library.CHRF(word_order=word_order, lowercase=lowercase)
    ordered = sorted(references, key=lambda text: (len(text), text))
    [wanted] = chrf._extract_corpus_statistics([said], [[text] for text in ordered])
    assert count_characters(chrf, said, references) == wanted
    assert chrf._compute_f_score(wanted) == chrf.sentence_score(said, references).score


@given(SAMPLES, st.sampled_from(["13a", "intl", "none"]))
def test_words_are_counted_as_sacrebleu_does(samples, tokenize):
    bleu = library.BLEU(tokenize=tokenize, force=True)
    counts = [count_words(bleu, said, references) for said, references, _ in samples]
    wanted = [
        bleu._extract_corpus_statistics([said], [[text] for text in references])[0]
        for said, references, _ in samples
    ]
    assert counts == wanted
    assert np.array(counts).shape == (len(samples), 10)


def test_repeated_and_best_references():
    """aab against ab: a twice, b; of one character two in both.

    Of the closest lengths 2 and 4 to 3 the shorter.
    """
    assert count_characters(library.CHRF(char_order=2), "aab", ["ab"]) == [3, 2, 2, 2, 1, 1]
    assert count_characters(library.CHRF(char_order=2), "aab", ["ab", "aab", "zz"]) == [3, 3, 3, 2, 2, 2]
    assert count_words(library.BLEU(), "a b b", ["b b x x", "a c"]) == [3, 2, 3, 1, 0, 0, 3, 2, 1, 0]
