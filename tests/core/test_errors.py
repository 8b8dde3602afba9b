"""Errors say what, with which value, and what would be right."""

import pickle

import pytest

from loquent import errors
from loquent.errors import BadRow, LoquentError, MissingExtra, UnknownName, kind_of, nearest


def test_all_errors_have_one_root():
    kinds = [
        thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, Exception)
    ]
    assert len(kinds) > 10
    assert all(issubclass(kind, LoquentError) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)


def test_an_unknown_name_reads_like_a_colleague():
    error = UnknownName("task", "wordel", ["wordle", "generation"])
    assert str(error) == "no task is named 'wordel'. Did you mean 'wordle'? Known: generation, wordle"
    assert str(UnknownName("task", "zzz", ["wordle"])) == "no task is named 'zzz'. Known: wordle"
    assert str(UnknownName("task", "zzz", [])) == "no task is named 'zzz'. Known: none"
    assert "Did you mean" not in str(UnknownName("task", "nothing", ["tagging"]))  # 8/14 of the letters
    with pytest.raises(KeyError):
        raise error


def test_of_many_names_the_nearest_few_are_listed():
    names = [f"setting_{i}" for i in range(300)]
    assert (
        str(UnknownName("setting", "clipp", [*names, "clip"]))
        == "no setting is named 'clipp'. Did you mean 'clip'? Known: clip, and 300 more"
    )
    assert str(UnknownName("setting", "0", names)).count("setting_") == errors.FEW
    cut = UnknownName("row", "x", ["a", "b"], more=28, advice="Look elsewhere")
    assert str(cut) == "no row is named 'x'. Known: a, b, and 28 more. Look elsewhere"


def test_a_bad_row_names_file_and_line():
    assert str(BadRow("no text", file="a.csv", line=3)) == "a.csv:3: no text"
    assert str(BadRow("no text", file="a.csv")) == "a.csv: no text"
    assert str(BadRow("no text")) == "no text"


def test_a_missing_extra_says_how_to_get_it():
    error = MissingExtra("the token form", "train")
    assert (
        str(error)
        == "the token form needs the libraries of loquent[train]; in the clone: pip install -e '.[train]'; "
        "with a wheel: pip install 'WHEEL[train]'"
    )
    assert isinstance(error, ImportError)


def test_nearest():
    assert nearest("top_q", ["top_p", "clip"]) == "top_p"
    assert nearest("xyz", ["top_p", "clip"]) is None
    assert nearest("x", []) is None


ERRORS = [
    BadRow("why", file="f", line=1),
    LoquentError("why"),
    UnknownName("task", "a", ["b"]),
    MissingExtra("x", "train"),
    errors.EpisodeOver("x"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_a_pipe(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (3, "an int"),
        ([], "a list"),
        ({}, "a dict"),
        (None, "None"),
        (OSError(), "an OSError"),
        ("", "a str"),
        (1.5, "a float"),
        (object(), "an object"),
    ],
)
def test_a_kind_has_its_article(thing, said):
    assert kind_of(thing) == said
