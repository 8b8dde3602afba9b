"""Byte-pair embeddings: pieces by hand, by SentencePiece's rule, and by a tokenizer.json."""

import pytest

from loquent.data.features import BytePair
from loquent.data.features.bytepair import merge_pieces
from loquent.errors import BadModel, BadRow, BadSetting

VOCABULARY = "<unk>\t0\n▁l\t-1\now\t-2\n▁low\t-3\ner\t-4\nl\t-5\n"
VECTORS = "▁low 1 2\ner 3 4\n▁l 5 6\nw -9 0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "en.vocab").write_text(VOCABULARY)
    (tmp_path / "en.txt").write_text(VECTORS)
    return {"pieces": str(tmp_path / "en.vocab"), "vectors": str(tmp_path / "en.txt")}


def test_merges_by_hand():
    # ▁ l o w e r: ▁l (-1) first, then ow (-2), then ▁low (-3), then er (-4)
    scores = {"▁l": -1.0, "ow": -2.0, "▁low": -3.0, "er": -4.0}
    assert merge_pieces("▁lower", scores) == ["▁low", "er"]
    assert merge_pieces("▁slow", scores) == ["▁", "s", "l", "ow"]
    assert merge_pieces("▁lower", scores | {"we": 0.0}) == [
        "▁l",
        "o",
        "we",
        "r",
    ]  # the order of the scores decides
    assert merge_pieces("aaa", {"aa": 0.0}) == ["aa", "a"]  # of equals the leftmost
    assert merge_pieces("", scores) == []


def test_pooling_by_hand(files):
    ends = BytePair(**files)
    assert ends.cut("Lower") == ["▁low", "er"]
    assert ends.dimension == 4
    assert ends.bound == 9
    assert ends(["lower"]).tolist() == [[1, 2, 3, 4]]
    assert ends(["low"]).tolist() == [[1, 2, 1, 2]]  # one piece is the first and the last
    assert ends(["lower low"]).tolist() == [[1, 2, 2, 3]]
    mean = BytePair(**files, pooling="mean")
    assert mean(["lower", ""]).tolist() == [[2, 3], [0, 0]]
    assert mean(["le"]).tolist() == [[2.5, 3]]  # ▁l and e, which has no vector


def test_capitals_and_digits(files, tmp_path):
    (tmp_path / "en.vocab").write_text(VOCABULARY + "▁0\t-6\n")
    assert BytePair(**files).cut("7") == ["▁0"]
    assert BytePair(**files, lower=False).cut("7") == ["▁", "7"]


def test_a_tokenizer_json(files, tmp_path):
    from tokenizers import Tokenizer, models

    path = tmp_path / "tokenizer.json"
    Tokenizer(
        models.BPE(vocab={"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4}, merges=[("l", "o"), ("lo", "w")])
    ).save(str(path))
    (tmp_path / "v.txt").write_text("low 1 1\nw 2 2\n")
    made = BytePair(pieces=str(path), vectors=str(tmp_path / "v.txt"), pooling="mean")
    assert made(["low", "loww"]).tolist() == [[1, 1], [1.5, 1.5]]


def test_bad_files_are_named(files, tmp_path):
    (tmp_path / "bad.vocab").write_text("a\t0\nno score\n")
    with pytest.raises(BadRow, match=r"bad\.vocab:2: "):
        BytePair(**{**files, "pieces": str(tmp_path / "bad.vocab")})(["a"])
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadModel, match="not a tokenizer"):
        BytePair(**{**files, "pieces": str(tmp_path / "bad.json")})(["a"])
    with pytest.raises(BadSetting, match="no file"):
        BytePair(**{**files, "vectors": "gone.txt"})(["a"])


@pytest.mark.parametrize("pooling", ["ends", "mean"])
def test_means_stay_within_the_bound(files, tmp_path, pooling):
    for value in (0.1, 0.73, 0.3, 1.7, 2.9):
        (tmp_path / "en.txt").write_text(f"▁low {value} -{value}\n")
        made = BytePair(**files, pooling=pooling)
        for n in range(1, 40):
            assert made([" ".join(["low"] * n)])[0].tolist() == pytest.approx(
                [value, -value] * (2 if pooling == "ends" else 1)
            )


def test_pieces_vectors_and_identity_are_of_one_time(files, tmp_path):
    featurizer, before, cut = BytePair(**files), BytePair(**files).identity, BytePair(**files).cut("low")
    assert featurizer.dimension
    (tmp_path / "en.vocab").write_text("a\t0\n")
    assert featurizer.identity == before
    assert featurizer.cut("low") == cut
