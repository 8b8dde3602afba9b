"""Wordle episodes from tweets: grids of coloured squares, and episodes with guesses that give these colours.

A tweet shows the marks but not the guesses. For each row of a grid, a guess is drawn uniformly from the words
that have these marks under the secret. Rows are independent of each other, as in the data of
arXiv:2206.11871.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import Texts
from loquent.core.agent import Answer
from loquent.core.episode import Episode
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Invalid, Task
from loquent.core.values import Record
from loquent.data.readers import csv_rows
from loquent.errors import BadRow, BadSetting
from loquent.tasks.wordle import rows as words
from loquent.tasks.wordle.marks import ABSENT, ANYWHERE, IN_PLACE, LENGTH, PATTERNS, code, table
from loquent.tasks.wordle.task import GUESSES, State, Wordle

# the usual and the high-contrast palette
SQUARES = {
    "🟩": IN_PLACE,
    "🟧": IN_PLACE,
    "🟨": ANYWHERE,
    "🟦": ANYWHERE,
    "⬛": ABSENT,
    "⬜": ABSENT,
}
SOLVED = IN_PLACE * LENGTH
AS_PICTURE = "\ufe0f"  # may follow ⬛ and ⬜: the variation selector for emoji
DAY, TEXT, ANSWER = "wordle_id", "tweet_text", "answer"  # columns
PARTIAL, LONG, OVER = "partial", "more than six rows", "goes on after the end"
AT_ONCE = 2048  # guesses per block of the table of marks


@dataclass(frozen=True)
class Grid:
    """The marks of an episode, oldest first, and its flaw: "", PARTIAL, LONG or OVER."""

    rows: tuple[str, ...]
    flaw: str = ""


@dataclass(frozen=True)
class Tweet:
    """A tweet with a grid: the number of the day, the grid, and the first line of the tweet in the file."""

    day: int
    grid: Grid
    line: int


@dataclass(frozen=True, kw_only=True)
class TweetOptions:
    """The options of the design `tweets`."""

    file: str = setting(why=f"a CSV file of tweets with the columns {DAY} and {TEXT}")
    secret: str = setting(
        "any",
        "any: a random word of the task that the grid allows; day: the day's answer",
        choices=("any", "day"),
    )
    answers: str = setting(
        "", f"secret day: a CSV file of the days' answers with the columns {DAY} and {ANSWER}"
    )
    guesses: str = setting("", "a file of possible guesses besides the words of the task, one word per line")
    games: str = setting(
        "uniform",
        "uniform: tweets are equally likely; feasible: in proportion to the number of secrets that "
        "allow the grid",
        choices=("uniform", "feasible"),
        source="feasible: the released code of 2206.11871",
    )
    flawed: str = setting(
        "drop",
        "drop or keep grids that end early, have more than six rows or go on after the solution",
        choices=("drop", "keep"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if bool(self.answers) != (self.secret == "day"):
            problem = f"secret = {self.secret!r} and answers = {self.answers!r} do not fit together"
            raise BadSetting(f"{problem}; set both secret = 'day' and answers, or neither")


def parse(text: str) -> Grid | None:
    """The first longest block of lines with five squares each; None without such a line.

    A block has at most six rows.
    """
    lines = (_marks(line) for line in text.splitlines())
    blocks = [[row for row in block if row] for has_squares, block in groupby(lines, key=bool) if has_squares]
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
    """The tweets of a CSV file that have a grid; other tweets are skipped.

    Raises:
        BadRow: a column is missing, or the day of a tweet with a grid is not a number; names file and line.
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
        BadRow: a column is missing, a day is not a number or has two answers,
            or an answer is not a word; names file and line.
    """
    answers: dict[int, str] = {}
    for line, record in csv_rows(Path(path)):
        day, word = _day(record, path, line), _column(record, ANSWER, path).strip()
        if not words.WORD.fullmatch(word):
            raise BadRow(f"{word[:40]!r} is not a word of five letters a-z", file=path, line=line)
        if answers.setdefault(day, word) != word:
            raise BadRow(
                f"day {day} has two answers, {answers[day]!r} and {word!r}; keep one", file=path, line=line
            )
    return answers


class Retrofit:
    """The guesses that have given marks under a secret, from the table of all marks."""

    def __init__(self, secrets: tuple[str, ...], guesses: tuple[str, ...], rule: str) -> None:
        self.guesses = tuple(sorted({*guesses, *secrets}))
        parts = [
            table(self.guesses[i : i + AT_ONCE], secrets, rule) for i in range(0, len(self.guesses), AT_ONCE)
        ]
        self.codes: NDArray[np.uint8] = np.ascontiguousarray(np.concatenate(parts).T)  # [secrets, guesses]
        # [patterns, secrets]: True where a guess has these marks under this secret
        self.possible = np.zeros((PATTERNS, len(secrets)), dtype=np.bool_)
        for part in parts:
            self.possible[part, np.arange(len(secrets))] = True

    def allows(self, rows: tuple[str, ...]) -> NDArray[np.bool_]:
        """bool[secrets]: True for secrets under which each row has a guess."""
        return np.logical_and.reduce(self.possible[[code(row) for row in rows]])

    def fill(self, rows: tuple[str, ...], secret: int, rng: np.random.Generator) -> tuple[str, ...]:
        """A guess for each row, drawn uniformly from the words with its marks; there must be one."""
        choices = [np.flatnonzero(self.codes[secret] == code(row)) for row in rows]
        return tuple(self.guesses[fitting[rng.integers(len(fitting))]] for fitting in choices)


class Tweets:
    """Episodes made from tweets; episode i depends only on the seed and i.

    Raises:
        BadSetting: the task is not Wordle with secret="row", or no tweet is possible with its words.
        BadRow: as in `read` and `read_answers`; or a tweet's day has no answer,
            or an answer that is not a word of the task.
    """

    Options: ClassVar[type] = TweetOptions

    def __init__(self, task: Task, options: TweetOptions) -> None:
        if not isinstance(task, Wordle) or task.options.secret != "row":
            raise BadSetting(
                f"tweets need the task wordle with secret=row, got {task.identity}; choose that task"
            )
        self.task, self.options = task, options
        tweets = [tweet for tweet in read(options.file) if options.flawed == "keep" or not tweet.grid.flaw]
        more = words.read(options.guesses) if options.guesses else ()
        if rejected := [
            word for word in more if isinstance(task.read(State((), 0, None, None), word), Invalid)
        ]:
            problem = (
                f"guesses = {options.guesses!r}: {task.identity} does not accept the word {rejected[0]!r}"
            )
            raise BadSetting(f"{problem}; remove it from the file, or set the task's guesses=any")
        listed = task.actions.texts if isinstance(task.actions, Texts) else ()
        self.retrofit = Retrofit(task.words, (*more, *listed), task.options.rule)
        allowed = {rows: self.retrofit.allows(rows) for rows in {tweet.grid.rows for tweet in tweets}}
        self._secrets = (
            [allowed[tweet.grid.rows] for tweet in tweets]
            if options.secret == "any"
            else self._answered(tweets, allowed)
        )
        ways = np.array([int(secrets.sum()) for secrets in self._secrets], dtype=np.int64)
        self.weights = ways if options.games == "feasible" else (ways > 0).astype(np.int64)  # of each tweet
        self.tweets = tweets
        if not self.weights.any():
            problem = f"file = {options.file!r}: none of its {len(tweets)} usable grids is possible"
            raise BadSetting(
                f"{problem} with the words of {task.identity}; use a longer word list, or set guesses"
            )
        self._upto = np.cumsum(self.weights)

    @staticmethod
    def files(options: TweetOptions) -> list[Path]:
        """The files that the options name."""
        return [Path(name) for name in (options.file, options.answers, options.guesses) if name]

    def episode(self, number: int, seed: int, split: str = "train") -> Episode:
        """Episode `number`: a random tweet, secret and guesses, played through the task."""
        rng = Key(seed, ("tweets", number)).generator()
        chosen = int(np.searchsorted(self._upto, rng.integers(self._upto[-1]), side="right"))
        tweet, secrets = self.tweets[chosen], np.flatnonzero(self._secrets[chosen])
        secret = int(secrets[rng.integers(len(secrets))])
        about = {"kind": "tweet", "day": tweet.day, "line": tweet.line} | (
            {"flaw": tweet.grid.flaw} if tweet.grid.flaw else {}
        )
        game = Live(self.task, self.task.rows(split)[secret], number, seed, split, meta=Record(about))
        for guess in self.retrofit.fill(tweet.grid.rows, secret, rng):
            if game.step.ended is None:
                game.act(Answer(guess))
        return game.episode(Record(agent="tweets"))

    def _answered(
        self, tweets: list[Tweet], allowed: Mapping[tuple[str, ...], NDArray[np.bool_]]
    ) -> list[NDArray[np.bool_]]:
        answers, numbers = (
            read_answers(self.options.answers),
            {word: i for i, word in enumerate(self.task.words)},
        )
        secrets = []
        for tweet in tweets:
            word = answers.get(tweet.day)
            if word not in numbers:
                problem = (
                    f"the answer of day {tweet.day}, {word!r}, is not a word of the task"
                    if word
                    else f"day {tweet.day} has no answer"
                )
                todo = f"correct {self.options.answers}, or use a word list with the answer"
                raise BadRow(f"{problem}; {todo}", file=self.options.file, line=tweet.line)
            only = np.zeros(len(numbers), dtype=np.bool_)
            only[numbers[word]] = True
            secrets.append(allowed[tweet.grid.rows] & only)
        return secrets


def _marks(line: str) -> str:
    squares = line.strip().replace(AS_PICTURE, "")
    return (
        "".join(SQUARES[square] for square in squares)
        if len(squares) == LENGTH and all(square in SQUARES for square in squares)
        else ""
    )


def _column(record: Mapping[str, str], name: str, path: str | Path) -> str:
    if name not in record:
        raise BadRow(
            f"the column {name!r} is missing; the columns are {', '.join(record)}", file=path, line=1
        )
    return record[name]


def _day(record: Mapping[str, str], path: str | Path, line: int) -> int:
    day = _column(record, DAY, path).strip()
    if not (day.isascii() and day.isdigit() and len(day) < 10):
        raise BadRow(f"{DAY} is {day[:40]!r}; it must be the number of a day", file=path, line=line)
    return int(day)
