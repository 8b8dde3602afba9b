"""Vectors from files: every format gives the same, and a bad line is told with its number."""

import gzip
import struct

import numpy as np
import pytest

import loquent
from loquent.core.seeding import Key
from loquent.data.features import WordVectors, view
from loquent.errors import BadRow, BadSetting

ROWS = {"the": [1, 0, -2], "cat": [0, 0.5, 4], "b##": [3, 3, 3], "c00": [7, 0, 0], ". . .": [0, 0, 1]}
TEXT = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in ROWS.items())


@pytest.fixture
def written(tmp_path):
    """A function from a kind to a file of that kind with the rows above."""

    def write(kind):
        path = tmp_path / f"vectors{kind}"
        if kind == ".txt":
            path.write_text(TEXT)
        elif kind == ".vec":
            # fastText ends lines with a space
            path.write_text(f"{len(ROWS)} 3\n{TEXT.replace(chr(10), ' ' + chr(10))}")
        elif kind == ".txt.gz":
            path.write_bytes(gzip.compress(TEXT.encode()))
        elif kind == ".bin":
            words = ROWS | {". . .": ROWS["the"]}  # word2vec's words hold no space
            rows = [
                word.replace(" ", "_").encode() + b" " + struct.pack("<3f", *row) + b"\n"
                for word, row in words.items()
            ]
            path.write_bytes(b"5 3\n" + b"".join(rows))
        else:
            np.save(path, np.array(list(ROWS.values()), dtype=np.float64))
            (tmp_path / "vectors.words.txt").write_text("\n".join(ROWS))
        return str(path)

    return write


@pytest.mark.parametrize("kind", [".txt", ".vec", ".txt.gz", ".bin", ".npy"])
def test_every_format(written, kind):
    vectors = WordVectors(path=written(kind))
    assert vectors.dimension == 3
    assert vectors.bound == 7
    assert vectors(["the", "cat", "dog"]).tolist() == [[1, 0, -2], [0, 0.5, 4], [0, 0, 0]]
    assert vectors(["the"]).dtype == np.float32


def test_the_order_of_look_ups_and_the_mean(written):
    vectors = WordVectors(path=written(".txt"))
    assert vectors(["THE"]).tolist() == [[1, 0, -2]]  # small letters
    assert vectors(["B42"]).tolist() == [[3, 3, 3]]  # digits as #
    assert vectors(["C42"]).tolist() == [[7, 0, 0]]  # digits as 0
    assert vectors(["the cat"]).tolist() == [[0.5, 0.25, 1]]
    assert vectors(["the zebra cat"]).tolist() == [[0.5, 0.25, 1]]  # what has no vector does not count
    # cut at its punctuation
    assert vectors(["(the)", "the-cat", ""]).tolist() == [[1, 0, -2], [0.5, 0.25, 1], [0, 0, 0]]
    assert vectors.knows("Cat")
    assert not vectors.knows("the-cat")


def test_limits_and_scales(written):
    path = written(".txt")
    assert not WordVectors(path=path, limit=1)(["cat"]).any()
    assert WordVectors(path=path, scale=0.5)(["the"]).tolist() == [[0.5, 0, -1]]
    assert WordVectors(path=path, scale=0.5).bound == 3.5


def test_identity_follows_the_file(written, tmp_path):
    path = written(".txt")
    before = WordVectors(path=path).identity
    assert WordVectors(path=path).identity == before
    (tmp_path / "vectors.txt").write_text(TEXT.replace("0.5", "0.6"))
    assert WordVectors(path=path).identity != before


def test_a_word_that_stands_twice_has_its_first_vector(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2\na 3 4\n")
    assert WordVectors(path=str(tmp_path / "v.txt"))(["a"]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a 1 2\nb 1\n", 2, "2 numbers"),
        ("a 1 2\nb 1 x\n", 2, "2 numbers"),
        ("a 1 2\n 3 4\n", 2, "2 numbers"),
        ("a 1 2\nb nan 2\n", 2, "not finite"),
        ("lonely\n", 1, "numbers"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, line, why):
    path = tmp_path / "v.txt"
    path.write_text(text)
    with pytest.raises(BadRow, match=rf"v\.txt:{line}: .*{why}"):
        WordVectors(path=str(path))(["a"])


def test_other_bad_files_are_named(tmp_path):
    (tmp_path / "v.pkl").write_text("a 1 2\n")
    (tmp_path / "v.txt").write_text("")
    (tmp_path / "v.bin").write_bytes(b"2 2\na " + b"\0" * 8 + b"b " + b"\0" * 3)
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "v.words.txt").write_text("a\n")
    np.save(tmp_path / "w.npy", np.zeros((2, 3)))
    for name, error, why in (
        ("none.txt", BadSetting, "no file"),
        ("v.pkl", BadSetting, r"\.bin or \.npy"),
        ("v.txt", BadRow, "no vector"),
        ("v.bin", BadRow, "ends within word 2"),
        ("v.npy", BadRow, "without pickles"),
        ("w.npy", BadSetting, r"w\.words\.txt"),
    ):
        with pytest.raises(error, match=why):
            WordVectors(path=str(tmp_path / name))(["a"])
    with pytest.raises(BadRow, match=r"2, 3\] does not fit the 1 words"):
        WordVectors(path=str(tmp_path / "w.npy"), words=str(tmp_path / "v.words.txt"))(["a"])


@pytest.mark.data
def test_glove(beside):
    vectors = WordVectors(path=str(beside / "models/glove/glove.840B.300d.9910w.txt.gz"))
    assert vectors.dimension == 300
    king, man, woman, queen, table = vectors(["king", "man", "woman", "queen", "table"])
    made = king - man + woman
    assert made @ queen / np.linalg.norm(queen) > made @ table / np.linalg.norm(table)
    assert vectors(["the"])[0, :3].tolist() == pytest.approx([0.273, -0.058, -0.182])


@pytest.mark.parametrize("scale", [1.0, 0.1, 3.3])
def test_means_and_multiples_stay_within_the_bound(tmp_path, scale):
    """In float32 the mean of equal numbers is not always that number."""
    rows = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    words = [f"ha{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(40)]
    (tmp_path / "v.txt").write_text(
        "".join(f"{word} {' '.join(map(str, row.tolist()))}\n" for word, row in zip(words, rows, strict=True))
    )
    for word, row in zip(words, rows, strict=True):
        (tmp_path / "one.txt").write_text(f"{word} {' '.join(map(str, row.tolist()))}\n")
        vectors = WordVectors(path=str(tmp_path / "one.txt"), scale=scale)
        many = vectors([" ".join([word] * n) for n in range(1, 30)])
        assert (np.abs(many) <= np.float32(vectors.bound)).all()
        np.testing.assert_allclose(many, np.tile(row * scale, (29, 1)), rtol=1e-5)


def test_the_mean_of_what_is_ahead_stays_within_the_space(tmp_path):
    for value in (0.1, 0.73, 0.3, 1.7, 2.9):
        (tmp_path / "v.txt").write_text(f"ha {value} -{value}\n")
        task = loquent.task("tagging", source="samples", labels=["O"], lookahead=-1, context="all")
        space, see = view(task, WordVectors(path=str(tmp_path / "v.txt")))
        for n in range(2, 40):
            step = task.start(task.row_from({"tokens": ["ha"] * n, "labels": ["O"] * n}), Key(0))
            assert see(step.observation) in space
            while step.ended is None:
                step = task.act(step, "O")
                assert see(step.observation) in space
            assert see(step.observation)[-1] == 1  # all labels so far are O


def test_the_identity_is_of_the_content_that_was_read(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a 1 2\n")
    featurizer, same = WordVectors(path=str(file)), WordVectors(path=str(file))
    assert featurizer(["a"]).tolist() == [[1.0, 2.0]]
    before = same.identity
    file.write_text("a 3 4\n")
    assert featurizer.identity == before != WordVectors(path=str(file)).identity
