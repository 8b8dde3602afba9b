"""BLEU-1 to BLEU-4 (Papineni et al. 2002) as Hugging Face's `bleu` computes them: of the corpus, and of each sample alone.

With matches clipped by the largest count in any reference, summed over samples before the ratio is taken,

    p_n = matched n-grams / n-grams of the predictions      BLEU-N = min(1, exp(1 - r / c)) (p_1 ... p_N)^(1/N)

where c is the length of the predictions and r the sum of the lengths of each sample's *shortest* reference (sacrebleu takes the
closest). Without smoothing BLEU-4 is 0 where no 4-gram matches, so also for texts of fewer words. `smoothing="add-one"` takes
(matched + 1) / (n-grams + 1) for every n (Lin and Och 2004; the `smooth` of the original script).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from loquent.errors import MissingExtra
from loquent.metric import Context, Measured, Scores
from loquent.metrics.options import takes
from loquent.metrics.pairs import Tally, Words, each
from loquent.settings import setting
from loquent.task import Row

ORDERS = (1, 2, 3, 4)
KEPT = 256  # texts whose n-grams are kept: references of the samples of one prompt; many slow down Python's garbage collection


@dataclass(frozen=True, kw_only=True)
class BleuOptions:
    """What the metric `bleu` may be told."""

    tokenizer: str = setting(
        "13a", "the tokens of mteval-v13a (needs sacrebleu), or white space as in RL4LMs; case counts", choices=("13a", "whitespace")
    )
    smoothing: str = setting("none", "of precisions: none, or one added to matches and totals", choices=("none", "add-one"))


@dataclass(frozen=True)
class Read:
    """A text's length and its n-grams of one to four tokens."""

    length: int
    grams: Counter[Words]


@dataclass(frozen=True)
class Counts:
    """What BLEU is made of: lengths, matches and totals per order. They add up over samples."""

    said: float
    wanted: float
    matched: tuple[float, ...]
    total: tuple[float, ...]


@dataclass(frozen=True)
class Bleu:
    """BLEU-4 under `bleu`; BLEU-1 to BLEU-4 under `bleu/bleu1` and so on."""

    tokenizer: str = "13a"
    smoothing: str = "none"
    name: ClassVar[str] = "bleu"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys this metric gives."""
        return ("bleu", *(f"bleu/bleu{n}" for n in ORDERS))

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the corpus, and each sample as a corpus of one."""
        counts = self._counts(predictions, references)
        scores = [None if own is None else self._scores(own) for own in counts]
        samples: Scores = {key: [None if own is None else own[key] for own in scores] for key in self.keys}
        return Measured(samples, self.of_tally(_tally(counts).sum(0)))

    def tally(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Tally:
        """The counts of each sample behind a 1, zeros where it has no reference."""
        return _tally(self._counts(predictions, references))

    def of_tally(self, total: Tally) -> dict[str, float]:
        """The corpus scores."""
        samples, said, wanted, *counts = total.tolist()
        return self._scores(Counts(said, wanted, tuple(counts[: len(ORDERS)]), tuple(counts[len(ORDERS) :]))) if samples else {}

    def _counts(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[Counts | None]:
        tokenize = str.split if self.tokenizer == "whitespace" else _thirteen()
        read = lru_cache(maxsize=KEPT)(lambda text: reading(tokenize(text)))
        return each(lambda said, own: counted(read(said), [read(text) for text in own], shortest), predictions, references)

    def _scores(self, counts: Counts) -> dict[str, float]:
        scores = bleu_scores(counts, 1 if self.smoothing == "add-one" else 0)
        return {"bleu": scores[-1]} | {f"bleu/bleu{n}": score for n, score in zip(ORDERS, scores)}


@takes(BleuOptions)
def bleu(context: Context, options: BleuOptions) -> Bleu:
    """BLEU-1 to BLEU-4 of the corpus and of each sample, as Hugging Face's bleu. Needs loquent[metrics], but for white space."""
    return Bleu(options.tokenizer, options.smoothing)


def counted(said: Read, wanted: Sequence[Read], length: Callable[[int, Sequence[int]], int]) -> Counts:
    """The counts of one sample; `length` chooses the length of reference that counts, from the prediction's and the references'."""
    most = {gram: wanted[0].grams[gram] for gram in said.grams.keys() & wanted[0].grams.keys()}
    for one in wanted[1:]:
        for gram in said.grams.keys() & one.grams.keys():
            most[gram] = max(most.get(gram, 0), one.grams[gram])
    matched = [0] * len(ORDERS)
    for gram, count in most.items():
        matched[len(gram) - 1] += min(count, said.grams[gram])
    counting = length(said.length, [one.length for one in wanted])
    return Counts(said.length, counting, tuple(matched), tuple(max(said.length - n + 1, 0) for n in ORDERS))


def shortest(said: int, wanted: Sequence[int]) -> int:
    """The length of the shortest reference."""
    return min(wanted)


def bleu_scores(counts: Counts, add: int = 0) -> list[float]:
    """BLEU-1 to BLEU-4 from counts."""
    if not counts.said:
        return [0.0] * len(ORDERS)
    brevity = math.exp(min(0.0, 1 - counts.wanted / counts.said))
    precisions = [(hits + add) / (total + add) if total + add else 0.0 for hits, total in zip(counts.matched, counts.total)]
    return [brevity * math.prod(precisions[:n]) ** (1 / n) for n in ORDERS]


def reading(tokens: Sequence[str]) -> Read:
    """The length and the n-grams of a text."""
    grams: Counter[Words] = Counter()
    for n in ORDERS:
        grams.update(zip(*(tokens[i:] for i in range(n))))
    return Read(len(tokens), grams)


def _tally(counts: Sequence[Counts | None]) -> Tally:
    none = (0.0,) * (3 + 2 * len(ORDERS))
    rows = [none if own is None else (1.0, own.said, own.wanted, *own.matched, *own.total) for own in counts]
    return np.array(rows, dtype=np.float64).reshape(-1, len(none))


def _thirteen() -> Callable[[str], list[str]]:
    try:
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    except ImportError as error:
        raise MissingExtra("bleu with the tokenizer 13a", "metrics") from error
    tokenizer = Tokenizer13a()
    return lambda text: tokenizer(text).split()
