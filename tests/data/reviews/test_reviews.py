"""The built-in corpus: its size, its words, its splits, and how much of its sentiment a bag of words can
see.
"""

import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from loquent.bench.ngram import NGram
from loquent.data.reviews import LABELS, SIZES, reviews
from loquent.data.reviews.grammar import (
    CONTRAST,
    DETAIL,
    DIRECT,
    NEGATED,
    OPENING,
    PREMISE,
    VERDICT_AGAINST,
    VERDICT_FOR,
)
from loquent.data.reviews.lexicon import ASPECTS, BAD, GOOD, NEUTRAL
from loquent.data.sources import Source, fingerprint, load

TEXTS = {split: [row["text"] for row in rows] for split, rows in reviews().items()}
EVERY = [text for texts in TEXTS.values() for text in texts]


def test_counts_lengths_and_types():
    assert (
        {split: len(texts) for split, texts in TEXTS.items()}
        == SIZES
        == {"train": 20_000, "validation": 2_000, "test": 2_000}
    )
    for text in EVERY:
        assert sum(word.isalpha() for word in text.split()) >= 40  # counted without punctuation ...
        assert len(text.split()) <= 120  # ... and with it
    assert 700 <= len({word for text in EVERY for word in text.split()}) <= 1000


def test_reviews_and_prompts_are_distinct_within_and_between_splits():
    assert len(set(EVERY)) == len(EVERY)
    assert len({" ".join(text.split()[:12]) for text in EVERY}) == len(EVERY)
    # five words are no prompt of its own: the check can fail
    assert len({" ".join(text.split()[:5]) for text in EVERY}) < len(EVERY)


def test_labels_are_balanced_and_said_twice():
    for split, rows in reviews().items():
        assert all(row["label"] == LABELS[row["label_index"]] for row in rows)
        share = sum(row["label_index"] for row in rows) / len(rows)
        assert abs(share - 0.5) < 0.04, split
        assert [row.id for row in rows[:2]] == [f"{split}-0", f"{split}-1"]
    assert load(Source()) == reviews()


def test_text_is_lower_case_with_spaced_punctuation():
    assert all(text == " ".join(text.lower().split()) and text.endswith(" .") for text in EVERY)
    assert not any(c in text for text in EVERY for c in "{}|+_")
    words = [(a, b) for text in EVERY[:3000] for a, b in zip(text.split(), text.split()[1:], strict=False)]
    assert not any(a == "a" and b[0] in "aeiou" for a, b in words)
    assert any(a == "an" for a, b in words)
    assert not any(a == b for a, b in words)  # "funny and funny" or "the the" never stands side by side


def test_every_slot_can_be_filled_and_every_word_is_used():
    said = {word for text in EVERY for word in text.split()}
    lists = [
        *NEUTRAL.values(),
        *GOOD.values(),
        *BAD.values(),
        *(words for a in ASPECTS.values() for words in (a.nouns, a.good, a.bad)),
    ]
    wanted = {word for words in lists for phrase in words if "{" not in phrase for word in phrase.split()}
    assert wanted <= said
    openings = (*OPENING, *PREMISE, *DETAIL, *VERDICT_FOR, *VERDICT_AGAINST)
    assert not any("+}" in template or "-}" in template for template in openings)
    assert all("+}" in template or "-}" in template for template in (*DIRECT, *NEGATED, *CONTRAST))


def accuracy(ngrams, train=6000):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    from sklearn.linear_model import LogisticRegression

    words = text.CountVectorizer(ngram_range=ngrams, token_pattern=r"\S+", min_df=2)
    labels = {split: [row["label_index"] for row in rows] for split, rows in reviews().items()}
    model = LogisticRegression(solver="liblinear").fit(
        words.fit_transform(TEXTS["train"][:train]), labels["train"][:train]
    )
    return model.score(words.transform(TEXTS["test"]), labels["test"])


def test_sentiment_hangs_on_negation_and_contrast():
    bag = accuracy((1, 1), train=20_000)
    assert 0.7 <= bag <= 0.85  # all training rows: the best a bag of words can do
    assert accuracy((1, 2)) >= bag + 0.05
    assert accuracy((1, 1), train=6000) < bag + 0.05  # the twin: more features are what helps


def test_openings_take_no_side():
    # the first third of a review, seen by the same classifier, says next to nothing about its label
    text = pytest.importorskip("sklearn.feature_extraction.text")
    from sklearn.linear_model import LogisticRegression

    def third(split):
        return [" ".join(t.split()[: len(t.split()) // 3]) for t in TEXTS[split]]

    words = text.CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", min_df=2)
    labels = {split: [row["label_index"] for row in rows] for split, rows in reviews().items()}
    model = LogisticRegression(C=0.1, solver="liblinear").fit(
        words.fit_transform(third("train")[:8000]), labels["train"][:8000]
    )
    assert model.score(words.transform(third("test")), labels["test"]) < 0.58


def test_polarity_words_stand_on_both_sides():
    # no word of praise or blame gives a review away: each stands in reviews of both labels, at least one in
    # ten
    counts = {
        label: Counter(
            word for row in reviews()["train"] if row["label"] == label for word in set(row["text"].split())
        )
        for label in LABELS
    }
    adjectives = {word for a in ASPECTS.values() for word in a.good + a.bad} | {
        *GOOD["adjective"],
        *BAD["adjective"],
        *GOOD["noun"],
        *BAD["noun"],
    }
    shares = [
        counts["positive"][w] / (counts["positive"][w] + counts["negative"][w]) for w in sorted(adjectives)
    ]
    assert all(0.1 < share < 0.9 for share in shares)


def test_the_corpus_is_the_same_in_another_process_and_made_in_seconds():
    script = (
        "import loquent.data.sources as s; print(s.fingerprint(s.Source())); import sys; print('torch' "
        "in sys.modules or 'sklearn' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    ).stdout.split()
    assert found == [fingerprint(Source()), "False"] == ["aa5f6c0163c4b56e", "False"]
    reviews.cache_clear()
    began = time.process_time()
    again = reviews()
    assert time.process_time() - began < 3
    assert [row["text"] for row in again["test"]] == TEXTS["test"]


def test_a_five_gram_finds_it_neither_trivial_nor_hard():
    perplexity = NGram(5).fit(TEXTS["train"][:8000]).perplexity(TEXTS["test"][:300])
    assert 4 < perplexity < 15
