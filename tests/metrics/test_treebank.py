"""Treebank tokens are NLTK's, whose rules are compiled otherwise."""

import random

from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from helpers.metrics.laws import TEXTS
from loquent.metrics.shared_parts import treebank

MARKS = [*"ab .,'\"`()[]{}<>!?:;-*@#$%&“”‘’«»–—\n\t12é猫…ſı", " ", " ", " ", "''", "``", "--", "..."]
PIECES = [
    *MARKS,
    "n't",
    "'ll",
    "'s",
    "cannot",
    "CanNot",
    "gonna ",
    " 'tis ",
    " 'twas",
    "d'ye",
    "more'n",
    " wanna ",
    "gimme",
    "lemme",
    " 'tıſ ",
]


@given(st.one_of(TEXTS, st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
@example('"He cannot say \'tis so," she said (twice).')
def test_texts_are_cut_as_nltk_cuts_them(text):
    assert treebank()(text) == NLTKWordTokenizer().tokenize(text)


def test_many_texts():
    made, theirs = random.Random(0), NLTKWordTokenizer().tokenize
    texts = ["".join(made.choices(PIECES, k=made.randrange(40))) for _ in range(2000)]
    assert [treebank()(text) for text in texts] == [theirs(text) for text in texts]
    assert [treebank()(text) for text in texts] != [text.split() for text in texts]
