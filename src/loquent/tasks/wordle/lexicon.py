"""A word list under a rule: what a guess is told, which words still fit a board, and which of those tell most."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.wordle.marks import CODE, PATTERNS, WRITTEN, Board, Patterns, marks

REMEMBERED = 20_000  # boards whose fitting words are kept
ROWS = 1 << 26  # bytes of rows that are kept
TIE = 1e-9  # nats; sums of the same terms in another order differ by less


class Lexicon:
    """A word list under a rule. Everything comes from the table of patterns; what is kept may be dropped at any moment."""

    def __init__(self, words: tuple[str, ...], rule: str) -> None:
        self.words, self.rule = words, rule
        self.numbers = {word: i for i, word in enumerate(words)}
        self.patterns = Patterns(words, rule)
        self._rows: dict[str, bytes] = {}
        self._fits: dict[Board, NDArray[np.int64]] = {}
        self._best: dict[Board, NDArray[np.int64]] = {}

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """u8[n, n]: the table of the whole list, made when first asked for."""
        return self.patterns.table(self.words)

    def told(self, guess: str, secret: str) -> str:
        """The marks of a guess against a word of the list: those of `marks`, read from the table."""
        row = self._row(guess)
        return marks(guess, secret, self.rule) if row is None else WRITTEN[row[self.numbers[secret]]]

    def fits(self, board: Board) -> NDArray[np.int64]:
        """The numbers of the words that would have been told just these marks, ascending; none where no word would."""
        found = self._fits.get(board)
        if found is None:
            if not board:
                found = np.arange(len(self.words))
            else:
                before, (guess, told) = self.fits(board[:-1]), board[-1]
                row = self._row(guess)
                codes = self.patterns.table([guess], before)[0] if row is None else np.frombuffer(row, dtype=np.uint8)[before]
                found = before[codes == CODE[told]]
            found.setflags(write=False)
            if len(self._fits) >= REMEMBERED:
                self._fits.clear()
            self._fits[board] = found
        return found

    def best(self, board: Board) -> NDArray[np.int64]:
        """The numbers of the fitting words whose marks tell most about the secret: all that tell equally much."""
        found = self._best.get(board)
        if found is None:
            found = self.telling(self.fits(board))
            if len(self._best) >= REMEMBERED:
                self._best.clear()
            self._best[board] = found
        return found

    def telling(self, fitting: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of some words those whose marks tell most about which of them is the secret."""
        if not len(fitting):
            return fitting
        everything = len(fitting) == len(self.words)
        told = information(self.codes if everything else self.patterns.table([self.words[i] for i in fitting], fitting))
        return fitting[told >= told.max() - TIE]

    def _row(self, guess: str) -> bytes | None:
        """The codes of a word of the list; None for other guesses: a model may say any, and they would push out those that come again."""
        row = self._rows.get(guess)
        if row is None and guess in self.numbers:
            if len(self._rows) * len(self.words) > ROWS:
                self._rows.clear()
            row = self._rows[guess] = self.patterns.row(guess).tobytes()
        return row


def information(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """f64[n]: nats that each guess tells about m equally likely secrets, log m - sum of (k/m) log k over its patterns."""
    n, m = codes.shape
    sizes = np.arange(1, m + 1)
    term = np.concatenate([[0.0], sizes * np.log(sizes)])  # k log k
    parts = [term[_counts(codes[start : start + 64])].sum(axis=1) for start in range(0, n, 64)]
    told: NDArray[np.float64] = np.log(m) - np.concatenate(parts) / m
    return told


def _counts(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each pattern stands in each row: [rows, 243]."""
    shifted = codes + (PATTERNS * np.arange(len(codes)))[:, None]
    return np.bincount(shifted.ravel(), minlength=PATTERNS * len(codes)).reshape(len(codes), PATTERNS)


@lru_cache(maxsize=8)
def lexicon(words: tuple[str, ...], rule: str) -> Lexicon:
    """The lexicon of a list and a rule, shared by all that ask for it."""
    return Lexicon(words, rule)
