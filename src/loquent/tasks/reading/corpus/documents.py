"""Documents: paragraphs that are stored once, with their tokens and sentences as offsets."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from loquent.metrics.lexical.squad import answer_words
from loquent.tasks.reading.corpus import tokens
from loquent.tasks.reading.corpus.tokens import Span

KEPT = 1 << 16  # documents that are kept in memory
ALONE = tuple((i,) for i in range(256))  # most words stand in one sentence: these tuples are shared


@dataclass(frozen=True)
class Document:
    """A paragraph.

    text: the text as its source has it.
    offsets: the character offsets of the tokens, as unsigned 32-bit integers start, end, start, end, ...
    ranges: the first and the last-plus-one token of each sentence. Tokens between sentences, such as the
        delimiters of the paper's splitter, belong to no sentence.
    """

    text: str
    offsets: bytes
    ranges: tuple[Span, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return Document, (self.text, self.offsets, self.ranges)

    def __deepcopy__(self, memo: dict[int, Any]) -> Document:
        return self  # its contents are immutable

    def __copy__(self) -> Document:
        return self

    @cached_property
    def spans(self) -> array[int]:
        """The offsets as an array."""
        return array("I", self.offsets)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Each sentence as its tokens in lower case, with single spaces between them."""
        text, spans = self.text, self.spans
        return tuple(
            " ".join([text[spans[2 * i] : spans[2 * i + 1]].lower() for i in range(first, last)])
            for first, last in self.ranges
        )

    @cached_property
    def sentence_texts(self) -> tuple[str, ...]:
        """Each sentence as the text has it, with single spaces between lines and words."""
        text, spans = self.text, self.spans
        return tuple(
            " ".join(text[spans[2 * first] : spans[2 * last - 1]].split()) for first, last in self.ranges
        )

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Each sentence as in `sentence_texts`, with a line break at its end: the text of an observation."""
        return tuple(f"{sentence}\n" for sentence in self.sentence_texts)

    @cached_property
    def index(self) -> dict[str, tuple[int, ...]]:
        """The inverted index: the sentences of each token, in order."""
        index: dict[str, tuple[int, ...]] = {}
        for number, sentence in enumerate(self.sentences):
            one = ALONE[number] if number < len(ALONE) else (number,)
            for word in dict.fromkeys(sentence.split(" ")):
                before = index.get(word)
                index[word] = one if before is None else (*before, number)
        return index

    @cached_property
    def first_equal(self) -> tuple[int, ...]:
        """For each sentence, the first sentence with equal tokens: memory compares texts, not places."""
        first: dict[str, int] = {}
        return tuple(first.setdefault(sentence, i) for i, sentence in enumerate(self.sentences))

    @cached_property
    def answer_words(self) -> tuple[str, ...]:
        """Each sentence as the words that answers are compared by: no punctuation, no articles."""
        return tuple(" ".join(answer_words(sentence)) for sentence in self.sentences)

    def covering(self, start: int, end: int) -> str:
        """The tokens that overlap the characters from `start` to `end`, as in `sentences`; "" for none."""
        spans = self.spans
        first = bisect_right(spans[1::2], start)
        last = bisect_left(spans[0::2], end)
        return " ".join([self.text[spans[2 * i] : spans[2 * i + 1]].lower() for i in range(first, last)])


@lru_cache(maxsize=KEPT)
def document(
    text: str, places: tuple[Span, ...] = (), tokenised: bool = False, splitter: str = "imrc"
) -> Document:
    """The document of a text; equal arguments give the same object.

    Args:
        places: the character offsets of the sentences; empty: the splitter finds them.
        tokenised: whether the tokens of the text stand between spaces.

    Raises:
        ValueError: no sentence has a token.
    """
    spans = tokens.token_spans(text) if tokenised else tokens.tokens(text)
    starts = [start for start, _ in spans]
    if places:
        ranges = [(bisect_left(starts, a), bisect_left(starts, b)) for a, b in places]
    else:
        ranges = tokens.SPLITTERS[splitter]([text[start:end] for start, end in spans])
    return _document(text, spans, [(first, last) for first, last in ranges if first < last])


def join_pieces(pieces: Iterable[tuple[Document, int]]) -> Document:
    """A document of sentences of several documents, in this order."""
    texts: list[str] = []
    spans: list[Span] = []
    ranges: list[Span] = []
    length = 0
    for source, number in pieces:
        first, last = source.ranges[number]
        start, end = source.spans[2 * first], source.spans[2 * last - 1]
        ranges.append((len(spans), len(spans) + last - first))
        shift = length - start
        spans += [(source.spans[2 * i] + shift, source.spans[2 * i + 1] + shift) for i in range(first, last)]
        texts.append(source.text[start:end])
        length += end - start + 1
    return _document(" ".join(texts), spans, ranges)


def _document(text: str, spans: Sequence[Span], ranges: Sequence[Span]) -> Document:
    if not ranges:
        raise ValueError(f"the paragraph {text[:40]!r} has no sentence; it must have at least one word")
    return Document(text, array("I", [n for span in spans for n in span]).tobytes(), tuple(ranges))
