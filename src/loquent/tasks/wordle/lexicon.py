"""A word list with a marking rule: marks of a guess, words that fit a board, informative words."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.wordle.marks import CODE, PATTERNS, WRITTEN, Board, Patterns, marks

REMEMBERED = 20_000  # boards with cached fitting words
ROWS = 1 << 26  # bytes of cached rows
TIE = 1e-9  # nats; sums of the same terms in another order differ by less


class Lexicon:
    """A word list with a marking rule.

    All results come from the table of patterns; caches may be cleared at any time.
    """

    def __init__(self, words: tuple[str, ...], rule: str) -> None:
        self.words, self.rule = words, rule
        self.numbers = {word: i for i, word in enumerate(words)}
        self.patterns = Patterns(words, rule)
        self._rows: dict[str, bytes] = {}
        self._fits: dict[Board, NDArray[np.int64]] = {}
        self._best: dict[Board, NDArray[np.int64]] = {}

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """u8[n, n]: the table of the whole list, built on first access."""
        return self.patterns.table(self.words)

    def marks(self, guess: str, secret: str) -> str:
        """The marks of a guess against a word of the list: those of the function `marks`, from the table."""
        row = self._row(guess)
        return marks(guess, secret, self.rule) if row is None else WRITTEN[row[self.numbers[secret]]]

    def fits(self, board: Board) -> NDArray[np.int64]:
        """The numbers of the words that fit the board, ascending.

        A word fits if, as the secret, it gives exactly the marks of the board.
        """
        fitting = self._fits.get(board)
        if fitting is None:
            if not board:
                fitting = np.arange(len(self.words))
            else:
                before, (guess, marks) = self.fits(board[:-1]), board[-1]
                row = self._row(guess)
                codes = (
                    self.patterns.table([guess], before)[0]
                    if row is None
                    else np.frombuffer(row, dtype=np.uint8)[before]
                )
                fitting = before[codes == CODE[marks]]
            fitting.setflags(write=False)
            if len(self._fits) >= REMEMBERED:
                self._fits.clear()
            self._fits[board] = fitting
        return fitting

    def best(self, board: Board) -> NDArray[np.int64]:
        """The numbers of the fitting words with the most informative marks; all words that tie."""
        numbers = self._best.get(board)
        if numbers is None:
            numbers = self.most_informative(self.fits(board))
            if len(self._best) >= REMEMBERED:
                self._best.clear()
            self._best[board] = numbers
        return numbers

    def most_informative(self, fitting: NDArray[np.int64]) -> NDArray[np.int64]:
        """The words of `fitting` with the most informative marks, if one of `fitting` is the secret."""
        if not len(fitting):
            return fitting
        everything = len(fitting) == len(self.words)
        gains = information(
            self.codes if everything else self.patterns.table([self.words[i] for i in fitting], fitting)
        )
        return fitting[gains >= gains.max() - TIE]

    def _row(self, guess: str) -> bytes | None:
        """The codes of a word of the list; None for other guesses.

        Other guesses would push frequent words out of the cache.
        """
        row = self._rows.get(guess)
        if row is None and guess in self.numbers:
            if len(self._rows) * len(self.words) > ROWS:
                self._rows.clear()
            row = self._rows[guess] = self.patterns.row(guess).tobytes()
        return row


def information(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """f64[n]: the information of each guess about m equally likely secrets, in nats.

    It is log m - the sum of (k/m) log k over patterns. k is the number of secrets with the same pattern.
    """
    n, m = codes.shape
    sizes = np.arange(1, m + 1)
    term = np.concatenate([[0.0], sizes * np.log(sizes)])  # k log k
    parts = [term[_counts(codes[start : start + 64])].sum(axis=1) for start in range(0, n, 64)]
    gains: NDArray[np.float64] = np.log(m) - np.concatenate(parts) / m
    return gains


def _counts(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """i64[rows, 243]: the number of times each pattern occurs in each row."""
    shifted = codes + (PATTERNS * np.arange(len(codes)))[:, None]
    return np.bincount(shifted.ravel(), minlength=PATTERNS * len(codes)).reshape(len(codes), PATTERNS)


@lru_cache(maxsize=8)
def lexicon(words: tuple[str, ...], rule: str) -> Lexicon:
    """The lexicon of a list and a rule; calls with equal arguments share it."""
    return Lexicon(words, rule)
