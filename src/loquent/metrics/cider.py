"""CIDEr-D (Vedantam et al. 2015, arXiv:1411.5726): TF-IDF weighted n-grams of captions, with the conventions of its official scorer.

For n = 1..4 let g(s) be the vector of counts times idf, idf(w) = log N - log max(1, samples whose references hold w). With d the
difference of lengths in *bigrams* (as the official scorer has it) and sigma = 6,

    CIDEr-D(c, S) = 10/4 sum_n 1/|S| sum_s exp(-d^2 / 2 sigma^2) min(g(c), g(s)) . g(s) / (|g(c)| |g(s)|)

from 0 to 10. The idf is that of the evaluated references, as in the papers, so a sample's score depends on the others and is 0 where
it is alone (N = 1); or of a fixed corpus, which a reward should have.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadRow, BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.ngram_weights import Entries, Whole, clipped_cosines, entries, samples_with
from loquent.metrics.options import takes
from loquent.metrics.pairs import averaged, treebank
from loquent.settings import setting
from loquent.task import Row

STOP = re.compile(r"\b([a-z]{2,})\.(?=\s)")  # inside a text; of full stops, Treebank's rules split off the last alone
TITLES = "mr mrs ms dr prof st jr sr rev gen col sgt lt capt gov sen rep"
ABBREVIATIONS = frozenset(f"{TITLES} vs etc inc ltd co corp no fig vol dept approx".split())
HOUR = re.compile(r"(?<=\d)(?=[ap]m\b)")
ORDERS = (1, 2, 3, 4)
SIGMA = 6.0
# what the official tokenizer removes; it knows brackets by their names
PUNCTUATION = frozenset(["''", "'", "``", "`", "(", ")", "{", "}", ".", "?", "!", ",", ":", "-", "--", "...", ";"])


@dataclass(frozen=True, kw_only=True)
class CiderOptions:
    """What the metric `cider` may be told."""

    corpus: str = setting(
        "",
        "a file of references whose idf is used, JSON lines with `references` or one reference a line; empty: those evaluated",
    )
    tokenizer: str = setting("captions", "lower-case Treebank words without punctuation, or texts as they are", choices=("captions", "whitespace"))


Grams = tuple[dict[str, int], ...]  # by order; an n-gram is its words with spaces between. Python's garbage collection visits no such dict


@dataclass(frozen=True)
class Frequencies:
    """The size of a corpus, and the idf of each n-gram that more than one of its samples has; that of others is `rare`."""

    samples: int
    idf: dict[str, float]

    @property
    def rare(self) -> float:
        """The idf of an n-gram that one sample has, or none."""
        return math.log(self.samples)


@dataclass(frozen=True, eq=False)
class Cider:
    """CIDEr-D with the idf of `corpus`, or of the references it is called with."""

    tokenize: Callable[[str], Sequence[str]] = str.split
    corpus: Frequencies | None = None
    name: ClassVar[str] = "cider"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    @property
    def together(self) -> bool:
        """Whether a sample's score depends on the samples it is called with."""
        return self.corpus is None

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references."""
        owner = np.repeat(np.arange(len(references)), [len(own) for own in references])
        right = np.arange(len(owner)) + len(predictions)
        texts = [self.tokenize(text) for text in chain(predictions, *references)]
        similar = self._similarities(texts, owner, right)
        sums, counts = (np.bincount(owner, of, minlength=len(predictions)).tolist() for of in (similar, np.ones(len(owner))))
        return averaged({self.name: [10 * total / count if count else None for total, count in zip(sums, counts, strict=True)]})

    def _similarities(self, texts: Sequence[Sequence[str]], left: Whole, right: Whole) -> NDArray[np.float64]:
        """float[pairs]: the mean over n of clipped cosines, times the penalty for a difference of lengths.

        Args:
            left, right: int[pairs], the numbers of prediction and reference; a prediction's number is its sample's.
        """
        sample_of = np.full(len(texts), -1)
        sample_of[right] = left
        samples = len(set(left.tolist()))
        total = np.zeros(len(right))
        for found in entries(texts, len(ORDERS)):
            total += clipped_cosines(found, self._idf(found, sample_of, samples), left, right, len(texts))
        bigrams = np.maximum(np.fromiter(map(len, texts), np.int64, len(texts)) - 1, 0)
        return total / len(ORDERS) * np.exp(-((bigrams[left] - bigrams[right]) ** 2) / (2 * SIGMA**2))

    def _idf(self, found: Entries, sample_of: Whole, samples: int) -> NDArray[np.float64]:
        if self.corpus is not None:
            idf, rare = self.corpus.idf.get, self.corpus.rare
            return np.array([idf(name, rare) for name in found.names], dtype=np.float64)
        if not samples:
            return np.zeros(len(found.names))
        return math.log(samples) - np.log(np.maximum(samples_with(found, sample_of), 1))


@takes(CiderOptions)
def cider(context: Context, options: CiderOptions) -> Cider:
    """CIDEr-D, 0 to 10, with the idf of the references or of a fixed corpus. Needs loquent[metrics], but for white space.

    Raises:
        BadSetting: the corpus cannot be read or is empty. BadRow: a line of it is wrong.
    """
    tokenize = str.split if options.tokenizer == "whitespace" else caption_words()
    if not options.corpus:
        return Cider(tokenize)
    samples = ([grams(tokenize(text)) for text in own] for own in read_corpus(Path(options.corpus).expanduser()))
    corpus = frequencies(samples)
    if not corpus.samples:
        raise BadSetting(f"cider.corpus = {options.corpus!r} has no references")
    return Cider(tokenize, corpus)


def caption_words() -> Callable[[str], list[str]]:
    """A tokeniser of captions: lower-case Treebank words without punctuation, as the official scorer's Java program cuts them."""
    tokenize = treebank()

    def words(text: str) -> list[str]:
        plain = STOP.sub(lambda found: found[0] if found[1] in ABBREVIATIONS else f"{found[1]} .", HOUR.sub(" ", text.lower().replace("’", "'")))
        return [word for word in tokenize(plain) if word not in PUNCTUATION]

    return words


def grams(words: Sequence[str]) -> Grams:
    """How often each n-gram of one to four words occurs; no word has white space in it."""
    return tuple([dict(Counter(map(" ".join, zip(*(words[i:] for i in range(n)))) if n > 1 else words)) for n in ORDERS])


def frequencies(samples: Iterable[Sequence[Grams]]) -> Frequencies:
    """In how many samples each n-gram occurs, in any of their references, as idf. An n-gram has n - 1 spaces, so orders are not mixed up."""
    counts: Counter[str] = Counter()
    size = 0
    for own in samples:
        size += 1
        counts.update(set().union(*chain.from_iterable(own)))
    return Frequencies(size, {gram: math.log(size) - math.log(often) for gram, often in counts.items() if often > 1})


def read_corpus(path: Path) -> Iterator[Sequence[str]]:
    """The references of each sample of a file: JSON lines with `references` (a list or one text) where it is called .jsonl, else one a line.

    Raises:
        BadSetting: the file cannot be read. BadRow: a line is something else.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"cider.corpus = {str(path)!r} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _references(line, path, number) if path.suffix == ".jsonl" else [line]


def _references(line: str, path: Path, number: int) -> list[str]:
    try:
        given = json.loads(line)
    except ValueError as error:
        raise BadRow(f"no JSON: {error}", file=path, line=number) from error
    own = given.get("references") if isinstance(given, dict) else None
    texts = [own] if isinstance(own, str) else own
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise BadRow('an object with "references", one text or a list of texts, is right', file=path, line=number)
    return texts
