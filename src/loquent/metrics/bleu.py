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
from functools import cache
from typing import ClassVar

from loquent.errors import MissingExtra
from loquent.metric import Context, Measured, Scores
from loquent.metrics.options import takes
from loquent.metrics.pairs import Words
from loquent.settings import setting
from loquent.task import Row

ORDERS = (1, 2, 3, 4)


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

    said: int = 0
    wanted: int = 0
    matched: tuple[int, ...] = (0,) * len(ORDERS)
    total: tuple[int, ...] = (0,) * len(ORDERS)

    def __add__(self, other: Counts) -> Counts:
        matched = tuple(a + b for a, b in zip(self.matched, other.matched))
        return Counts(self.said + other.said, self.wanted + other.wanted, matched, tuple(a + b for a, b in zip(self.total, other.total)))


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
        tokenize = str.split if self.tokenizer == "whitespace" else _thirteen()
        read = cache(lambda text: _read(tokenize(text)))
        counts = [counted(read(said), [read(text) for text in own]) if len(own) else None for said, own in zip(predictions, references, strict=True)]
        samples: Scores = {key: [] for key in self.keys}
        for own in counts:
            scores = dict.fromkeys(self.keys) if own is None else self._scores(own)
            for key in self.keys:
                samples[key].append(scores[key])
        scored = [own for own in counts if own is not None]
        return Measured(samples, self._scores(sum(scored, Counts())) if scored else {})

    def _scores(self, counts: Counts) -> dict[str, float]:
        scores = bleu_scores(counts, 1 if self.smoothing == "add-one" else 0)
        return {"bleu": scores[-1]} | {f"bleu/bleu{n}": score for n, score in zip(ORDERS, scores)}


@takes(BleuOptions)
def bleu(context: Context, options: BleuOptions) -> Bleu:
    """BLEU-1 to BLEU-4 of the corpus and of each sample, as Hugging Face's bleu. Needs loquent[metrics], but for white space."""
    return Bleu(options.tokenizer, options.smoothing)


def counted(said: Read, wanted: Sequence[Read]) -> Counts:
    """The counts of one sample."""
    matched = [0] * len(ORDERS)
    for gram, count in said.grams.items():
        most = max(one.grams[gram] for one in wanted)
        if most:
            matched[len(gram) - 1] += min(count, most)
    return Counts(said.length, min(one.length for one in wanted), tuple(matched), tuple(max(said.length - n + 1, 0) for n in ORDERS))


def bleu_scores(counts: Counts, add: int = 0) -> list[float]:
    """BLEU-1 to BLEU-4 from counts."""
    if not counts.said:
        return [0.0] * len(ORDERS)
    brevity = math.exp(min(0.0, 1 - counts.wanted / counts.said))
    precisions = [(hits + add) / (total + add) if total + add else 0.0 for hits, total in zip(counts.matched, counts.total)]
    return [brevity * math.prod(precisions[:n]) ** (1 / n) for n in ORDERS]


def _read(tokens: Sequence[str]) -> Read:
    grams: Counter[Words] = Counter()
    for n in ORDERS:
        grams.update(zip(*(tokens[i:] for i in range(n))))
    return Read(len(tokens), grams)


def _thirteen() -> Callable[[str], list[str]]:
    try:
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    except ImportError as error:
        raise MissingExtra("bleu with the tokenizer 13a", "metrics") from error
    tokenizer = Tokenizer13a()
    return lambda text: tokenizer(text).split()
