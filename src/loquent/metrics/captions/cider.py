"""CIDEr-D (Vedantam et al. 2015, arXiv:1411.5726): TF-IDF weighted n-grams of captions.

The conventions are those of its official scorer.

For n = 1..4 let g(s) be the vector of counts times idf, with idf(w) = log N - log max(1, samples whose
references have w). Let d be the difference of lengths in *bigrams* (as in the official scorer) and sigma = 6.
Then

    CIDEr-D(c, S) = 10/4 sum_n 1/|S| sum_s exp(-d^2 / 2 sigma^2) min(g(c), g(s)) . g(s) / (|g(c)| |g(s)|)

from 0 to 10. In the papers the idf is that of the evaluated references, so a sample's score depends on the
other samples; it is 0 for a single sample (N = 1). With a fixed corpus, which a reward should use, it depends
on the sample alone.
"""

from __future__ import annotations

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

from loquent.core.guards import json_files, opening
from loquent.core.metric import Context, Measured, OneKey, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadRow, BadSetting
from loquent.metrics.captions.ngram_weights import Entries, Integers, clipped_cosines, entries, samples_with
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.shared_parts import treebank, with_means

# a full stop inside a text; the Treebank rules split off only the last full stop
STOP = re.compile(r"\b([a-z]{2,})\.(?=\s)")
TITLES = "mr mrs ms dr prof st jr sr rev gen col sgt lt capt gov sen rep"
ABBREVIATIONS = frozenset(f"{TITLES} vs etc inc ltd co corp no fig vol dept approx".split())
HOUR = re.compile(r"(?<=\d)(?=[ap]m\b)")
ORDERS = (1, 2, 3, 4)
SIGMA = 6.0
# the tokens that the official tokenizer removes, which writes brackets by their names
PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "(", ")", "{", "}", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)


@dataclass(frozen=True, kw_only=True)
class CiderOptions:
    """Options of the metric `cider`."""

    corpus: str = setting(
        "",
        "a file of references for the idf: JSON lines with `references`, or one reference per line; "
        "empty: the evaluated references",
        file=True,
    )
    tokenizer: str = setting(
        "captions",
        "lower-case Treebank words without punctuation, or split at white space",
        choices=("captions", "whitespace"),
    )


# counts by order; an n-gram is one text, because garbage collection skips dicts of texts
Grams = tuple[dict[str, int], ...]


@dataclass(frozen=True)
class Frequencies:
    """The number of samples of a corpus, and the idf of each n-gram in more than one sample.

    Other n-grams have the idf `rare`.
    """

    samples: int
    idf: dict[str, float]

    @property
    def rare(self) -> float:
        """The idf of an n-gram in at most one sample."""
        return math.log(self.samples)


@dataclass(frozen=True, eq=False)
class Cider(OneKey):
    """CIDEr-D with the idf of `corpus`, or of the references of the call."""

    tokenize: Callable[[str], Sequence[str]] = str.split
    corpus: Frequencies | None = None
    name: ClassVar[str] = "cider"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = (0.0, math.inf)

    @property
    def together(self) -> bool:
        """Whether a sample's score depends on the other samples of the call."""
        return self.corpus is None

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references."""
        owner = np.repeat(np.arange(len(samples.references)), [len(texts) for texts in samples.references])
        right = np.arange(len(owner)) + len(samples.predictions)
        texts = [self.tokenize(text) for text in chain(samples.predictions, *samples.references)]
        similar = self._similarities(texts, owner, right)
        sums, counts = (
            np.bincount(owner, of, minlength=len(samples.predictions)).tolist()
            for of in (similar, np.ones(len(owner)))
        )
        return with_means(
            {
                self.name: [
                    10 * total / count if count else None for total, count in zip(sums, counts, strict=True)
                ]
            }
        )

    def _similarities(
        self, texts: Sequence[Sequence[str]], left: Integers, right: Integers
    ) -> NDArray[np.float64]:
        """float[pairs]: the mean over n of clipped cosines, times the penalty of the length difference.

        Args:
            left, right: int[pairs], the numbers of the prediction and the reference in `texts`. The number of
                a prediction is the number of its sample.
        """
        sample_of = np.full(len(texts), -1)
        sample_of[right] = left
        samples = len(set(left.tolist()))
        total = np.zeros(len(right))
        for order in entries(texts, len(ORDERS)):
            total += clipped_cosines(order, self._idf(order, sample_of, samples), left, right, len(texts))
        bigrams = np.maximum(np.fromiter(map(len, texts), np.int64, len(texts)) - 1, 0)
        return total / len(ORDERS) * np.exp(-((bigrams[left] - bigrams[right]) ** 2) / (2 * SIGMA**2))

    def _idf(self, order: Entries, sample_of: Integers, samples: int) -> NDArray[np.float64]:
        if self.corpus is not None:
            idf, rare = self.corpus.idf.get, self.corpus.rare
            return np.array([idf(name, rare) for name in order.names], dtype=np.float64)
        if not samples:
            return np.zeros(len(order.names))
        return math.log(samples) - np.log(np.maximum(samples_with(order, sample_of), 1))


@takes(CiderOptions)
def cider(context: Context, options: CiderOptions) -> Cider:
    """CIDEr-D, from 0 to 10. Needs loquent[metrics], except with tokenizer=whitespace.

    The idf is that of the references of the call, or of a fixed corpus.

    Raises:
        BadSetting: the corpus cannot be read or is empty.
        BadRow: a line of the corpus has another format.
    """
    tokenize = str.split if options.tokenizer == "whitespace" else caption_words()
    if not options.corpus:
        return Cider(tokenize)
    samples = (
        [grams(tokenize(text)) for text in texts] for texts in read_corpus(Path(options.corpus).expanduser())
    )
    corpus = frequencies(samples)
    if not corpus.samples:
        raise BadSetting(
            f"cider.corpus = {options.corpus!r} has no references; add at least one line to the file"
        )
    return Cider(tokenize, corpus)


def caption_words() -> Callable[[str], list[str]]:
    """A tokenizer of captions: lower-case Treebank words without punctuation.

    The official scorer's Java program makes the same words.
    """
    tokenize = treebank()

    def words(text: str) -> list[str]:
        lowered = HOUR.sub(" ", text.lower().replace("’", "'"))
        plain = STOP.sub(lambda stop: stop[0] if stop[1] in ABBREVIATIONS else f"{stop[1]} .", lowered)
        return [word for word in tokenize(plain) if word not in PUNCTUATION]

    return words


def grams(words: Sequence[str]) -> Grams:
    """The counts of the n-grams of one to four words. Words must not contain white space."""
    return tuple([dict(Counter(map(" ".join, ngrams(words, n)) if n > 1 else words)) for n in ORDERS])


def frequencies(samples: Iterable[Sequence[Grams]]) -> Frequencies:
    """The idf of each n-gram, from the number of samples with the n-gram in any reference.

    An n-gram has n - 1 spaces, so n-grams of different orders are different texts.
    """
    counts: Counter[str] = Counter()
    size = 0
    for references in samples:
        size += 1
        counts.update(set().union(*chain.from_iterable(references)))
    return Frequencies(
        size, {gram: math.log(size) - math.log(count) for gram, count in counts.items() if count > 1}
    )


def read_corpus(path: Path) -> Iterator[Sequence[str]]:
    """The references of each sample of a file.

    A .jsonl file has objects with `references`, a list of texts or one text. Another file has one reference
    per line.

    Raises:
        BadSetting: the file cannot be read.
        BadRow: a line has another format.
    """
    try:
        lines = opening.whole(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"cider.corpus = {str(path)!r} cannot be read: {error}. Name a readable file of UTF-8 text"
        ) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _references(line, path, number) if path.suffix == ".jsonl" else [line]


def _references(line: str, path: Path, number: int) -> list[str]:
    try:
        item = json_files.loads(line)
    except ValueError as error:
        raise BadRow(f"not JSON: {error}", file=path, line=number) from error
    value = item.get("references") if isinstance(item, dict) else None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise BadRow(
            'no references; an object with "references", one text or a non-empty list of texts, is allowed',
            file=path,
            line=number,
        )
    return texts
