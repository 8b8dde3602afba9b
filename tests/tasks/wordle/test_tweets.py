"""Tweets to games: what is a grid, what is not, and games whose marks are the tweet's (spec 4.9, A25)."""

import csv
from collections import Counter

import numpy as np
import pytest

from loquent.core.rollout.loop import replay
from loquent.errors import BadRow, BadSetting
from loquent.tasks.wordle.marks import marks
from loquent.tasks.wordle.task import Wordle, WordleOptions
from loquent.tasks.wordle.tweets import (
    LONG,
    OVER,
    PARTIAL,
    Grid,
    Retrofit,
    TweetOptions,
    Tweets,
    parse,
    read,
    read_answers,
)

USUAL = {"g": "🟩", "y": "🟨", "b": "⬛"}
LIGHT = {"g": "🟩", "y": "🟨", "b": "⬜"}
CONTRAST = {"g": "🟧", "y": "🟦", "b": "⬜"}


def drawn(*rows, palette=USUAL):
    return "\n".join("".join(palette[mark] for mark in row) for row in rows)


# -- what is a grid
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("palette", [USUAL, LIGHT, CONTRAST])
def test_palettes(palette):
    text = f"Wordle 210 3/6\n\n{drawn('bbybb', 'gggbb', 'ggggg', palette=palette)}"
    assert parse(text) == Grid(("bbybb", "gggbb", "ggggg"))


GREEN, ROW, OTHER = "ggggg", "bbybb", "gybgy"
FIVE = [f"{'y' * i}{'b' * (5 - i)}" for i in range(6)]
TEXTS = {
    "words around and between lines of squares": (
        f"I did it!\n{drawn(ROW, GREEN)}\n#wordle\nso proud",
        Grid((ROW, GREEN)),
    ),
    "squares drawn as pictures and spaces around": ("  ⬛️⬛️🟨⬛️⬛️ \r\n🟩🟩🟩🟩🟩\t", Grid((ROW, GREEN))),
    "six rows": (drawn(*FIVE[:5], GREEN), Grid((*FIVE[:5], GREEN))),
    "six rows, never solved": (drawn(*FIVE), Grid(tuple(FIVE))),
    "no grid": ("Wordle 210 3/6", None),
    "nothing": ("", None),
    "four squares": ("🟩🟩🟩🟩", None),
    "six squares": ("🟩🟩🟩🟩🟩🟩", None),
    "a row with a word in it": ("🟩🟩🟩🟩🟩 wow", None),
    "other squares": ("🟥🟩🟩🟩🟩", None),
    "letters of marks": ("ggggg", None),
    "a grid that stops early": (drawn(ROW, OTHER), Grid((ROW, OTHER), PARTIAL)),
    "one row that solves": (drawn(GREEN), Grid((GREEN,))),
    "seven rows": (drawn(*FIVE, GREEN), Grid(tuple(FIVE), LONG)),
    "nine rows": (drawn(*FIVE, ROW, ROW, GREEN), Grid(tuple(FIVE), LONG)),
    "rows behind the solution": (drawn(ROW, GREEN, OTHER), Grid((ROW, GREEN, OTHER), OVER)),
    "the longest of two blocks": (f"{drawn(ROW)}\nand\n{drawn(OTHER, GREEN)}", Grid((OTHER, GREEN))),
    "the first of two blocks of one length": (
        f"{drawn(ROW, GREEN)}\nand\n{drawn(OTHER, GREEN)}",
        Grid((ROW, GREEN)),
    ),
    "a break in the middle": (f"{drawn(ROW)}\n\n{drawn(GREEN)}", Grid((ROW,), PARTIAL)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_grids(name):
    text, grid = TEXTS[name]
    assert parse(text) == grid


# -- files
# ------------------------------------------------------------------------------------------------------------


def write(path, *tweets, header=("wordle_id", "tweet_id", "tweet_date", "tweet_username", "tweet_text")):
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        rows.writerows([day, "", "", "", text] if len(header) == 5 else [day, text] for day, text in tweets)
    return str(path)


def test_a_file_is_read_with_the_lines_its_tweets_begin_on(tmp_path):
    file = write(
        tmp_path / "t.csv", (210, f"Wordle\n{drawn(ROW, GREEN)}"), (211, "no grid"), (212, drawn(GREEN))
    )
    assert [(tweet.day, tweet.grid.rows, tweet.line) for tweet in read(file)] == [
        (210, (ROW, GREEN), 2),
        (212, (GREEN,), 6),
    ]


@pytest.mark.parametrize(
    ("tweets", "header", "says"),
    [
        ([("soon", drawn(GREEN))], None, r"t\.csv:2: wordle_id is 'soon'"),
        ([(1, drawn(GREEN)), (-4, drawn(GREEN))], None, r"t\.csv:3: wordle_id is '-4'"),
        (
            [(1, drawn(GREEN))],
            ("wordle_id", "text"),
            r"t\.csv:1: the column 'tweet_text' is missing; the columns are wordle_id, text",
        ),
        ([(1, drawn(GREEN))], ("day", "tweet_text"), r"t\.csv:1: the column 'wordle_id' is missing"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, tweets, header, says):
    with pytest.raises(BadRow, match=says):
        read(write(tmp_path / "t.csv", *tweets, **({"header": header} if header else {})))


def test_a_day_matters_only_where_there_is_a_grid(tmp_path):
    assert read(write(tmp_path / "t.csv", ("soon", "good luck"))) == []


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("wordle_id,answer\n210,pan\n", r"a\.csv:2: 'pan' is not a word"),
        (
            "wordle_id,answer\n210,panic\n210,crane\n",
            r"a\.csv:3: day 210 has two answers, 'panic' and 'crane'",
        ),
        ("wordle_id,word\n210,panic\n", r"a\.csv:1: the column 'answer' is missing"),
        ("wordle_id,answer\nx,panic\n", r"a\.csv:2: wordle_id is 'x'"),
    ],
)
def test_bad_answers_are_named_with_their_line(tmp_path, lines, says):
    (tmp_path / "a.csv").write_text(lines)
    with pytest.raises(BadRow, match=says):
        read_answers(tmp_path / "a.csv")


# -- games
# ------------------------------------------------------------------------------------------------------------

WORDS = ("crane", "crate", "grate", "slate", "trace", "plumb")
#   marks of a guess by the secret "crane" (rule ilql), by hand:
#   crate ggg b g; grate b gg b g; slate b b g b g; trace: t b, r g, a g, c y, e g; plumb bbbbb
ROWS = {"crate": "gggbg", "grate": "bggbg", "slate": "bbgbg", "trace": "bggyg", "plumb": "bbbbb"}


@pytest.fixture
def task(tmp_path):
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    return Wordle(WordleOptions(words=str(tmp_path / "words.txt")))


def game_of(task, tmp_path, *tweets, **options):
    file = write(tmp_path / "t.csv", *[(210, drawn(*rows)) for rows in tweets])
    return Tweets(task, TweetOptions(file=file, **options))


def test_the_table_by_hand():
    found = Retrofit(tuple(sorted(WORDS)), (), "ilql")
    secret = sorted(WORDS).index("crane")
    for word, row in ROWS.items():
        assert marks(word, "crane") == row
        assert found.fill((row,), secret, np.random.default_rng(0)) == (word,)
    assert found.allows(("gggbg", "ggggg"))[secret]
    assert not found.allows(("yyyyy",)).any()
    # bbbbb: "plumb" shares no letter with the others but "slate" (its l), and the others share none with
    # "plumb"
    assert found.allows(("bbbbb",)).tolist() == [word != "slate" for word in sorted(WORDS)]


@pytest.mark.parametrize("rule", ["ilql", "official"])
def test_a_game_s_marks_are_the_tweet_s(tmp_path, rule):
    task = Wordle(WordleOptions(limit=300, rule=rule))
    tweets = game_of(
        task,
        tmp_path,
        *[
            tuple(marks(guess, secret, rule) for guess in (*task.words[:2], secret))
            for secret in task.words[::60]
        ],
    )
    seen = Counter()
    for number in range(60):
        one = tweets.episode(number, seed=0)
        told = tuple(turn.text.strip() for turn in one.turns if turn.seat == "task")[1:]
        source = tweets.tweets[[tweet.line for tweet in tweets.tweets].index(one.meta["line"])]
        assert told == source.grid.rows
        assert one.ended == "solved"
        assert [turn.rewards["guess"] for turn in one.answers()] == [-1.0] * (len(told) - 1) + [0.0]
        assert one.answers()[-1].text == one.row.removeprefix("train:")
        assert (one.number, one.agents["agent"], one.meta["kind"], one.meta["day"]) == (
            number,
            "tweets",
            "tweet",
            210,
        )
        assert replay(task, one) == one
        seen[one.row] += 1
    assert len(seen) > 1
    assert tweets.episode(3, seed=0) == tweets.episode(3, seed=0) != tweets.episode(3, seed=1)


def test_a_guess_is_drawn_uniformly_among_those_with_the_row_s_marks(task, tmp_path):
    # under "crane": only "crate" is gggbg. Under "trace" guesses crate and ... : take what the table says and
    # count
    found = Retrofit(task.words, ("brave", "drape", "frame"), "ilql")
    secret = task.words.index("crane")
    rng = np.random.default_rng(1)
    counts = Counter(found.fill(("bggbg",), secret, rng)[0] for _ in range(4000))
    fitting = sorted(word for word in found.guesses if marks(word, "crane") == "bggbg")
    assert fitting == ["brave", "drape", "frame", "grate"]
    assert sorted(counts) == fitting
    assert all(abs(count - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for count in counts.values())


def test_games_uniformly_or_by_how_many_secrets_allow_them(task, tmp_path):
    # the grid (ggggg) fits every secret: 6 ways. The grid (bbgbg, ggggg) fits those x for which some word has
    # just these marks: by enumeration
    narrow = ("bggyg", "ggggg")
    ways = sum(any(marks(guess, secret) == narrow[0] for guess in WORDS) for secret in WORDS)
    assert 0 < ways < 6
    for games, share in (("uniform", 0.5), ("feasible", ways / (ways + 6))):
        tweets = game_of(task, tmp_path, ("ggggg",), narrow, games=games)
        n = 3000
        count = sum(tweets.episode(number, seed=2).meta["line"] != 2 for number in range(n))
        assert abs(count - n * share) < 4 * (n * share * (1 - share)) ** 0.5, games
        assert tweets.weights.tolist() == ([1, 1] if games == "uniform" else [6, ways])


def test_redrawing_until_it_fits_is_what_the_feasible_distribution_is(task, tmp_path):
    """The released code's way, by rejection: draw a game and a secret, begin anew where a row has no
    guess.
    """
    narrow, rng = ("bggyg", "ggggg"), np.random.default_rng(3)
    grids, kept = [("ggggg",), narrow], Counter()
    while kept.total() < 3000:
        grid, secret = grids[rng.integers(2)], WORDS[rng.integers(6)]
        if all(any(marks(guess, secret) == row for guess in WORDS) for row in grid):
            kept[grid] += 1
    weights = game_of(task, tmp_path, *grids, games="feasible").weights
    share = weights[1] / weights.sum()
    assert abs(kept[narrow] - 3000 * share) < 4 * (3000 * share * (1 - share)) ** 0.5
    assert abs(kept[narrow] - 3000 / 2) > 4 * 750**0.5, "it can fail: it is not the uniform one"


def test_a_grid_that_no_secret_allows_is_never_drawn(task, tmp_path):
    tweets = game_of(task, tmp_path, ("yyyyy", "ggggg"), ("ggggg",))
    assert tweets.weights.tolist() == [0, 1]
    assert {tweets.episode(number, seed=0).meta["line"] for number in range(20)} == {tweets.tweets[1].line}
    with pytest.raises(BadSetting, match="none of its 1 usable grids"):
        game_of(task, tmp_path, ("yyyyy", "ggggg"))


def test_flawed_grids_are_dropped_or_flagged(task, tmp_path):
    grids = (("gggbg",), ("bbbbb",) * 6 + ("ggggg",), ("gggbg", "ggggg", "bbbbb"), ("ggggg",))
    assert len(game_of(task, tmp_path, *grids).tweets) == 1
    tweets = game_of(task, tmp_path, *grids, flawed="keep")
    ends = {}
    for number in range(60):
        one = tweets.episode(number, seed=0)
        ends[one.meta.get("flaw", "")] = (one.ended, len(one.answers()))
        assert replay(task, one) == one
    assert ends == {PARTIAL: (None, 1), LONG: ("out of turns", 6), OVER: ("solved", 2), "": ("solved", 1)}


def test_the_day_s_answer_as_the_secret(task, tmp_path):
    file = write(tmp_path / "t.csv", (210, drawn("gggbg", "ggggg")), (211, drawn("ggggg")))
    (tmp_path / "a.csv").write_text("wordle_id,answer\n210,crane\n211,plumb\n")
    tweets = Tweets(task, TweetOptions(file=file, secret="day", answers=str(tmp_path / "a.csv")))
    assert {
        (one.meta["day"], one.row) for one in (tweets.episode(number, seed=0) for number in range(20))
    } == {
        (210, "train:crane"),
        (211, "train:plumb"),
    }
    (tmp_path / "a.csv").write_text("wordle_id,answer\n210,crane\n")
    with pytest.raises(BadRow, match=r"t\.csv:4: day 211 has no answer"):
        Tweets(task, TweetOptions(file=file, secret="day", answers=str(tmp_path / "a.csv")))
    (tmp_path / "a.csv").write_text("wordle_id,answer\n210,crane\n211,zebra\n")
    with pytest.raises(BadRow, match=r"t\.csv:4: the answer of day 211, 'zebra', is not a word of the task"):
        Tweets(task, TweetOptions(file=file, secret="day", answers=str(tmp_path / "a.csv")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"secret": "day"}, "set both secret = 'day' and answers"),
        ({"answers": "a.csv"}, "set both secret = 'day' and answers"),
        ({"games": "all"}, "games"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, says):
    with pytest.raises(BadSetting, match=says):
        TweetOptions(file="t.csv", **options)


def test_only_wordle_with_a_fixed_secret_has_tweets(tmp_path):
    from loquent.tasks.generation.task import Generation

    file = write(tmp_path / "t.csv", (210, drawn("ggggg")))
    for task in (Wordle(WordleOptions(secret="redrawn")), Generation()):
        with pytest.raises(BadSetting, match="secret=row"):
            Tweets(task, TweetOptions(file=file))


@pytest.mark.data
def test_real_tweets(beside):
    tweets = read(beside / "data" / "wordle" / "tweets_format_sample.csv")
    assert [tweet.day for tweet in tweets] == [210] * 5 + [519] * 5
    assert [len(tweet.grid.rows) for tweet in tweets] == [3, 3, 4, 4, 4, 2, 2, 3, 3, 3]
    assert all(tweet.grid.rows[-1] == "ggggg" and not tweet.grid.flaw for tweet in tweets)
