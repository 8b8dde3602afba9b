"""Tweeted games of Wordle: grids of coloured squares, and games whose guesses would have been coloured so.

A tweet tells the marks and never the guesses. Each row of a grid is given one of the guesses that have just these marks under a secret,
each equally likely and whatever the rows before told, as in the data of arXiv:2206.11871.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.actions import Texts
from loquent.agent import Answer
from loquent.data.readers import csv_rows
from loquent.episode import Episode
from loquent.errors import BadRow, BadSetting
from loquent.live import Live
from loquent.seeding import Key
from loquent.settings import check_ranges, setting
from loquent.task import Invalid, Task
from loquent.tasks.wordle import rows as words
from loquent.tasks.wordle.marks import ABSENT, ANYWHERE, IN_PLACE, LENGTH, PATTERNS, code, table
from loquent.tasks.wordle.task import GUESSES, State, Wordle
from loquent.values import Record

SQUARES = {"🟩": IN_PLACE, "🟧": IN_PLACE, "🟨": ANYWHERE, "🟦": ANYWHERE, "⬛": ABSENT, "⬜": ABSENT}  # the usual palette, that of high contrast
SOLVED = IN_PLACE * LENGTH
AS_PICTURE = "\ufe0f"  # may follow ⬛ and ⬜: draw this character in colour
DAY, TEXT, ANSWER = "wordle_id", "tweet_text", "answer"  # columns
PARTIAL, LONG, OVER = "partial", "more than six rows", "goes on after the end"
AT_ONCE = 2048  # guesses whose marks are computed together


@dataclass(frozen=True)
class Grid:
    """The marks of a game, oldest first, and what is wrong with it: nothing, or one of PARTIAL, LONG and OVER."""

    rows: tuple[str, ...]
    flaw: str = ""


@dataclass(frozen=True)
class Tweet:
    """One tweet with a grid: the number of the day's game, and the line of the file on which the tweet begins."""

    day: int
    grid: Grid
    line: int


@dataclass(frozen=True, kw_only=True)
class TweetOptions:
    """What the design `tweets` may be told."""

    file: str = setting(why=f"a CSV file of tweets with the columns {DAY} and {TEXT}")
    secret: str = setting(
        "any", "the hidden word: any word of the task that the grid allows, each equally likely, or the day's answer", choices=("any", "day")
    )
    answers: str = setting("", f"secret day: a CSV file of the days' answers with the columns {DAY} and {ANSWER}")
    guesses: str = setting("", "a file of more words that may have been guessed, one a line; those of the task always may")
    games: str = setting(
        "uniform",
        "how games are drawn: each tweet equally often, or in proportion to how many secrets allow it (what redrawing until it fits amounts to)",
        choices=("uniform", "feasible"),
        source="feasible: the released code of 2206.11871",
    )
    flawed: str = setting("drop", "grids that end early, have more than six rows or go on after the solution", choices=("drop", "keep"))

    def __post_init__(self) -> None:
        check_ranges(self)
        if bool(self.answers) != (self.secret == "day"):
            raise BadSetting(f"secret = {self.secret!r} and answers = {self.answers!r}: the days' answers are for secret = 'day', which needs them")


def parse(text: str) -> Grid | None:
    """The first longest block of lines that are five squares each, six of its rows at most; None where there is no such line."""
    lines = (_marks(line) for line in text.splitlines())
    blocks = [[row for row in block if row] for found, block in groupby(lines, key=bool) if found]
    if not blocks:
        return None
    block = max(blocks, key=lambda block: min(len(block), GUESSES))
    rows = tuple(block[:GUESSES])
    if len(block) > GUESSES:
        return Grid(rows, LONG)
    if SOLVED in rows[:-1]:
        return Grid(rows, OVER)
    return Grid(rows, "" if rows[-1] == SOLVED or len(rows) == GUESSES else PARTIAL)


def read(path: str | Path) -> list[Tweet]:
    """The tweets of a CSV file that have a grid; others are left out.

    Raises:
        BadRow: the file lacks a column, or a tweet with a grid has no number of a day; names file and line.
    """
    tweets = []
    for line, record in csv_rows(Path(path)):
        grid = parse(_column(record, TEXT, path))
        if grid is not None:
            tweets.append(Tweet(_day(record, path, line), grid, line))
    return tweets


def read_answers(path: str | Path) -> dict[int, str]:
    """The answer of each day, from a CSV file.

    Raises:
        BadRow: a column is missing, a day is no number or stands twice, or an answer is no word; names file and line.
    """
    answers: dict[int, str] = {}
    for line, record in csv_rows(Path(path)):
        day, word = _day(record, path, line), _column(record, ANSWER, path).strip()
        if not words.WORD.fullmatch(word):
            raise BadRow(f"{word[:40]!r} is not a word of five letters a-z", file=path, line=line)
        if answers.setdefault(day, word) != word:
            raise BadRow(f"day {day} has the answer {answers[day]!r} already, here it is {word!r}", file=path, line=line)
    return answers


class Retrofit:
    """Which guesses have which marks under which secret, from the table of all marks."""

    def __init__(self, secrets: tuple[str, ...], guesses: tuple[str, ...], rule: str) -> None:
        self.guesses = tuple(sorted({*guesses, *secrets}))
        parts = [table(self.guesses[i : i + AT_ONCE], secrets, rule) for i in range(0, len(self.guesses), AT_ONCE)]
        self.codes: NDArray[np.uint8] = np.ascontiguousarray(np.concatenate(parts).T)  # [secrets, guesses]
        self.possible = np.zeros((PATTERNS, len(secrets)), dtype=np.bool_)  # whether any guess has these marks under this secret
        for part in parts:
            self.possible[part, np.arange(len(secrets))] = True

    def allows(self, rows: tuple[str, ...]) -> NDArray[np.bool_]:
        """bool[secrets]: under which secrets each row has a guess."""
        return np.logical_and.reduce(self.possible[[code(row) for row in rows]])

    def fill(self, rows: tuple[str, ...], secret: int, rng: np.random.Generator) -> tuple[str, ...]:
        """A guess for each row, uniformly among those that have its marks; there must be one."""
        choices = [np.flatnonzero(self.codes[secret] == code(row)) for row in rows]
        return tuple(self.guesses[fitting[rng.integers(len(fitting))]] for fitting in choices)


class Tweets:
    """Games of a task made from tweets; game i depends on the seed and i alone.

    Raises:
        BadSetting: the task is not Wordle with the row's secret; no tweet can be played.
        BadRow: as `read` and `read_answers`; or a tweet's day has no answer, or one that the task has not.
    """

    def __init__(self, task: Task, options: TweetOptions) -> None:
        if not isinstance(task, Wordle) or task.options.secret != "row":
            raise BadSetting(f"tweets are games of wordle with secret=row, not of {task.identity}")
        self.task, self.options = task, options
        tweets = [tweet for tweet in read(options.file) if options.flawed == "keep" or not tweet.grid.flaw]
        more = words.read(options.guesses) if options.guesses else ()
        if unheard := [word for word in more if isinstance(task.read(State((), 0, None, None), word), Invalid)]:
            raise BadSetting(f"guesses = {options.guesses!r}: {task.identity} takes no guess outside its own list, such as {unheard[0]!r}")
        listed = task.actions.texts if isinstance(task.actions, Texts) else ()
        self.retrofit = Retrofit(task.words, (*more, *listed), task.options.rule)
        allowed = {rows: self.retrofit.allows(rows) for rows in {tweet.grid.rows for tweet in tweets}}
        self._secrets = [allowed[tweet.grid.rows] for tweet in tweets] if options.secret == "any" else self._answered(tweets, allowed)
        ways = np.array([int(secrets.sum()) for secrets in self._secrets], dtype=np.int64)
        self.weights = ways if options.games == "feasible" else (ways > 0).astype(np.int64)  # of each tweet
        self.tweets = tweets
        if not self.weights.any():
            raise BadSetting(f"file = {options.file!r}: none of its {len(tweets)} usable grids can be made with the words of {task.identity}")
        self._upto = np.cumsum(self.weights)

    def episode(self, number: int, seed: int, split: str = "train") -> Episode:
        """Game `number`: a tweet, a secret and guesses, played through the task."""
        rng = Key(seed, ("tweets", number)).generator()
        chosen = int(np.searchsorted(self._upto, rng.integers(self._upto[-1]), side="right"))
        tweet, secrets = self.tweets[chosen], np.flatnonzero(self._secrets[chosen])
        secret = int(secrets[rng.integers(len(secrets))])
        about = {"kind": "tweet", "day": tweet.day, "line": tweet.line} | ({"flaw": tweet.grid.flaw} if tweet.grid.flaw else {})
        game = Live(self.task, self.task.rows(split)[secret], number, seed, split, meta=Record(about))
        for guess in self.retrofit.fill(tweet.grid.rows, secret, rng):
            if game.step.ended is None:
                game.act(Answer(guess))
        return game.episode(Record(agent="tweets"))

    def _answered(self, tweets: list[Tweet], allowed: Mapping[tuple[str, ...], NDArray[np.bool_]]) -> list[NDArray[np.bool_]]:
        answers, numbers = read_answers(self.options.answers), {word: i for i, word in enumerate(self.task.words)}
        secrets = []
        for tweet in tweets:
            word = answers.get(tweet.day)
            if word not in numbers:
                what = f"the answer of day {tweet.day}, {word!r}, is no word of the task" if word else f"day {tweet.day} has no answer"
                raise BadRow(f"{what}; {self.options.answers} and the task's words decide", file=self.options.file, line=tweet.line)
            only = np.zeros(len(numbers), dtype=np.bool_)
            only[numbers[word]] = True
            secrets.append(allowed[tweet.grid.rows] & only)
        return secrets


def _marks(line: str) -> str:
    squares = line.strip().replace(AS_PICTURE, "")
    return "".join(SQUARES[square] for square in squares) if len(squares) == LENGTH and all(square in SQUARES for square in squares) else ""


def _column(record: Mapping[str, str], name: str, path: str | Path) -> str:
    if name not in record:
        raise BadRow(f"the column {name!r} is missing; there are {', '.join(record)}", file=path, line=1)
    return record[name]


def _day(record: Mapping[str, str], path: str | Path, line: int) -> int:
    said = _column(record, DAY, path).strip()
    if not (said.isascii() and said.isdigit() and len(said) < 10):
        raise BadRow(f"{DAY} is {said[:40]!r}; the number of a day's game is right", file=path, line=line)
    return int(said)
