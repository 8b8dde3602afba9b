"""Hashed n-grams: the same in every process, bounded, and alike for like words."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.data.features import Featurizer, Hashed, base
from loquent.errors import BadSetting, LoquentError


def test_a_vector_by_hand():
    # "a" with words alone: one n-gram, so +1 or -1 at one place; a second word stands at a place of its own
    # and both are divided by sqrt 2
    one = Hashed(dimension=1024, characters=(), words=())
    [vector] = one(["a"])
    assert sorted(np.abs(vector).tolist())[-2:] == [0.0, 1.0]
    [two] = one(["a b"])
    assert np.isclose(np.abs(two), 2**-0.5).sum() == 2
    assert np.isclose(np.abs(two[vector != 0]), 2**-0.5).all()  # "a" keeps its place
    assert (np.sign(two[vector != 0]) == np.sign(vector[vector != 0])).all()  # and its sign
    # "a a a a b": a's sum is 4, damped 2; b's 1: lengths 2 / sqrt 5 and 1 / sqrt 5
    [many] = one(["a a a a b"])
    assert sorted(np.abs(many[many != 0]).tolist()) == pytest.approx([5**-0.5, 2 * 5**-0.5])


def test_characters_and_pairs_of_words_count():
    letters, pairs = (
        Hashed(dimension=1 << 16, characters=(2,), words=()),
        Hashed(dimension=1 << 16, characters=(), words=(2,)),
    )
    assert (letters(["ab"]) != 0).sum() == 4  # <a, ab, b> and the word itself
    assert (pairs(["ab cd ef"]) != 0).sum() == 5  # three words and two pairs
    assert (pairs(["abcdef"]) != 0).sum() == 1


def test_like_words_are_alike():
    run, running, blue = Hashed()(["run", "running", "blue"])
    assert run @ running > 0.25 > abs(run @ blue)


def test_capitals_count_unless_told_otherwise():
    assert (Hashed()(["Cat"]) != Hashed()(["cat"])).any()
    assert (Hashed(lower=True)(["Cat"]) == Hashed(lower=True)(["cat"])).all()


@given(st.text(st.characters(), max_size=30))
def test_any_text_has_a_vector_of_length_one_or_none(text):
    [vector] = Hashed(dimension=64)([text])
    assert np.linalg.norm(vector) == pytest.approx(1 if text.split() else 0, abs=1e-5)


def test_odd_texts():
    hashed = Hashed(dimension=64)
    assert not hashed(["", " \n\t "]).any()
    assert np.isfinite(hashed(["\ud800 lone", "\0", "é" * 10_000])).all()
    assert hashed([]).shape == (0, 64)


def test_another_process_with_another_hash_seed_makes_the_same():
    code = (
        "from loquent.data.features import Hashed; h = Hashed(dimension=16); print(h.identity, h(['a film of "
        "ours', 'Ünïcode']).tolist())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    hashed = Hashed(dimension=16)
    assert {line.decode().strip() for line in told} == {
        f"{hashed.identity} {hashed(['a film of ours', 'Ünïcode']).tolist()}"
    }


def test_what_is_given_out_is_not_the_cache():
    hashed = Hashed(dimension=16)
    hashed(["a"])[:] = 7
    assert np.abs(hashed(["a"])).max() <= 1
    with pytest.raises(ValueError, match="read-only"):
        hashed.vector("a")[:] = 7


def test_copies_share_and_pickles_carry_settings_alone():
    hashed = Hashed(dimension=32, characters=(3,))
    hashed(["kept"])
    assert copy.deepcopy(hashed) is hashed
    again = pickle.loads(pickle.dumps(hashed))
    assert again == hashed
    assert again.identity == hashed.identity != Hashed(dimension=32).identity
    assert (again(["kept"]) == hashed(["kept"])).all()
    assert len(pickle.dumps(hashed)) == len(pickle.dumps(Hashed(dimension=32, characters=(3,))))


def test_a_full_cache_forgets_the_oldest_and_changes_no_answer(monkeypatch):
    monkeypatch.setattr(base, "CACHE_BYTES", 10 * 16 * 4)
    hashed, texts = Hashed(dimension=16), [str(i) for i in range(40)]
    before = hashed(texts)
    assert 0 < len(hashed._texts) <= 10
    assert hashed._texts.bytes == 64 * len(hashed._texts)
    assert (hashed(texts[::-1])[::-1] == before).all()
    assert all((hashed.vector(text) == vector).all() for text, vector in zip(texts, before, strict=True))
    assert (hashed.tokens(tuple(texts)) == before).all()


@pytest.mark.parametrize(
    "settings",
    [{"dimension": 4}, {"characters": (0,)}, {"words": (2, 2)}, {"characters": (True,)}, {"words": (11,)}],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(BadSetting, match=next(iter(settings))):
        Hashed(**settings)


def test_a_featurizer_of_ones_own_is_checked():
    class Ragged(Hashed):
        def encode(self, texts):
            return np.ones((len(texts), 3))

    class Wild(Hashed):
        def encode(self, texts):
            return np.full((len(texts), self.dimension), np.nan)

    assert issubclass(Ragged, Featurizer)
    with pytest.raises(LoquentError, match=r"\(1, 3\) for 1 texts; the shape must be \(1, 16\)"):
        Ragged(dimension=16)(["a"])
    with pytest.raises(LoquentError, match="not finite"):
        Wild(dimension=16)(["a"])
