"""PARENT (arXiv:1906.01081) as ToTTo's evaluation computes it: precision and recall of a text against references and the table.

    precision   geometric mean over n = 1..4 of the share of n-grams that the reference has, or else of their words that the table has
    recall      (recall of the reference's n-grams that the table has)^(1-l) * (share of each highlighted value that is mentioned)^l,
                l = 1 - the share of the highlighted values that the reference mentions
    F           2PR / (P + R + 1e-8), of the reference that gives the highest

Zeros are 1e-5 before a geometric mean is taken, but for the precision of words. Equal to `totto_parent_eval.py` of google-research/language (commit
09b33d15) behind its own preparation of files, on a scale of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.tables import overlaps, words
from loquent.metrics.tables.moses import detokenise
from loquent.metrics.tables.rows import Table, overlap, table_of
from loquent.metrics.text import mean
from loquent.settings import setting
from loquent.task import Row

ORDERS = (1, 2, 3, 4)
SMOOTHING = 1e-5
SUBSETS = {"": (True, False, None), "/overlap": (True,), "/nonoverlap": (False,)}
Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ParentOptions:
    """What the metric `parent` may be told."""

    pad: bool = setting(True, "fewer than three references are filled up with '<null>' ones, which count: as the official files are")


@dataclass(frozen=True)
class Read:
    """A table as PARENT uses it: all its words, and the words of each highlighted value."""

    known: frozenset[str]
    values: tuple[Words, ...]


@dataclass(frozen=True)
class Parent:
    """Per sample F, precision and recall (None without references, or where nothing is highlighted and titled); for the corpus their means."""

    pad: bool = True
    name: ClassVar[str] = "parent"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = tuple(f"parent{subset}{part}" for subset in SUBSETS for part in ("", "/precision", "/recall"))
    corpus_only: ClassVar[tuple[str, ...]] = tuple(f"parent{subset}{part}" for subset in SUBSETS if subset for part in ("", "/precision", "/recall"))

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions against their references and the tables of their rows.

        Raises:
            BadRow: a row has no table (see `tables.rows`).
        """
        scores = [self._one(text, own, row) for text, own, row in zip(predictions, references, rows, strict=True)]
        columns = {f"parent{part}": [None if one is None else one[i] for one in scores] for i, part in enumerate(("", "/precision", "/recall"))}
        told = [overlap(row) for row in rows]
        corpus: dict[str, float] = {}
        for subset, which in SUBSETS.items():
            for part in ("", "/precision", "/recall"):
                average = mean([score for score, said in zip(columns[f"parent{part}"], told, strict=True) if said in which])
                if average is not None:
                    corpus[f"parent{subset}{part}"] = average
        return Measured(columns, corpus)

    def _one(self, prediction: str, references: Sequence[str], row: Row) -> tuple[float, float, float] | None:
        table = read(table_of(row))
        if not references or not table.values:
            return None
        wanted = words.padded(references) if self.pad else tuple(map(words.line, references))
        said = words.tokens(words.answer(prediction))
        return best(said, [words.tokens(text) for text in dict.fromkeys(wanted)], table)


@takes(ParentOptions)
def parent(context: Context, options: ParentOptions) -> Parent:
    """PARENT: is a text true to its table, and does it say what the reference says (ToTTo). Needs loquent[metrics].

    Raises:
        MissingExtra: no sacrebleu.
    """
    words.cutter()
    return Parent(options.pad)


@lru_cache(maxsize=1 << 10)
def read(table: Table) -> Read:
    """The words of a table, detokenised as one line: quotes open and close over it, as in the official files."""
    known = frozenset(chain.from_iterable(map(words.tokens, _entries(table.whole))))
    return Read(known, tuple(cut for cut in map(words.tokens, _entries(table.highlighted)) if cut))


def best(prediction: Words, references: Sequence[Words], table: Read) -> tuple[float, float, float]:
    """F, precision and recall against the reference that gives the highest F."""
    found = [overlaps.grams(prediction, table.known, n) for n in ORDERS]
    mentions = overlaps.mentioned(table.values, prediction) or SMOOTHING
    each = []
    for reference in references:
        wanted = [overlaps.grams(reference, table.known, n) for n in ORDERS]
        precisions, recalls = zip(*(overlaps.shares(a, b, table.known) for a, b in zip(found, wanted, strict=True)), strict=True)
        precision = _geometric(precisions) if precisions[0] else 0.0
        recalled = _geometric(recalls) if recalls[0] else SMOOTHING
        share = 1.0 - overlaps.mentioned(table.values, reference)
        recall = math.exp((1.0 - share) * math.log(recalled) + share * math.log(mentions))
        each.append((2.0 * precision * recall / (precision + recall + 1e-8), precision, recall))
    return max(each)


def _geometric(shares: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(share or SMOOTHING) for share in shares) / len(shares))


def _entries(values: Sequence[str]) -> list[str]:
    line = detokenise("\t".join(f"cell|||{value}" for value in values).lower())
    return [entry.partition("|||")[2] for entry in line.split("\t")] if values else []
