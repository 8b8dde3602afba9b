"""The table of patterns against the flags of letters and places that the paper's code keeps
(`perf/references/letter_flags.py`).
"""

import importlib.util
from pathlib import Path

import pytest

from loquent.core.seeding import Key
from loquent.tasks.wordle.lexicon import Lexicon
from loquent.tasks.wordle.marks import marks
from loquent.tasks.wordle.rows import read

FILE = Path(__file__).resolve().parents[3] / "perf" / "references" / "letter_flags.py"


@pytest.fixture(scope="module")
def flags():
    spec = importlib.util.spec_from_file_location("letter_flags", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_flags_by_hand(flags):
    # speed against abide: e is in abide, not at 2 and 3; d is, not at 4; s and p are nowhere
    state = flags.updated(flags.START, "speed", "abide")
    known = {
        letter: "".join("npH"[flag.value - 1] for flag in mine)
        for letter, mine in zip(flags.LETTERS, state, strict=True)
        if set(mine) != {flags.POSSIBLE}
    }
    assert known == {"s": "nnnnn", "p": "nnnnn", "e": "ppnnp", "d": "ppppn"}
    assert flags.colours(state, "speed") == "bbyyy"
    assert [flags.fits(state, word) for word in ("abide", "lodge", "glide", "spied", "edged")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_flags_and_rows_allow_the_same_words_in_a_thousand_games(flags):
    words = read("builtin", 60)
    lexicon = Lexicon(words, "ilql")
    fewer = 0
    for number in range(1000):
        rng = Key(number, ("flags",)).generator()
        secret, board, state = words[rng.integers(60)], (), flags.START
        for _ in range(5):
            guess = (
                words[rng.integers(60)]
                if rng.random() < 0.7
                else "".join(flags.LETTERS[i] for i in rng.integers(26, size=5))
            )
            board, state = (
                (*board, (guess, lexicon.marks(guess, secret))),
                flags.updated(state, guess, secret),
            )
        # rendered from the last state
        assert [flags.colours(state, guess) for guess, _ in board] == [told for _, told in board]
        fitting = [words[i] for i in lexicon.fits(board)]
        assert fitting == [word for word in words if flags.fits(state, word)]
        assert secret in fitting
        fewer += len(fitting) < 60
    assert fewer > 900  # it was not all the same to them


def test_under_the_official_rule_they_differ(flags):
    # geese against those is told bbbgg there: the flags know e to be in the word, where the newspaper says no
    # more of it than its place
    state = flags.updated(flags.START, "geese", "those")
    assert flags.colours(state, "geese") == marks("geese", "those") != marks("geese", "those", "official")
