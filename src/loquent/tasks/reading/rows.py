"""The rows of reading: checks of their fields, the sources, and the words that are queries."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from loquent.core.guards.json_files import show
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import content, corpora, duplicates
from loquent.data.annotated.sentences import weight_field
from loquent.data.columns import field
from loquent.data.sources import Splits, limit_rows
from loquent.data.tables.splits import SPLITS
from loquent.errors import BadRow
from loquent.tasks.reading.corpus import stopwords, tokens
from loquent.tasks.reading.corpus.documents import document
from loquent.tasks.reading.corpus.items import Item
from loquent.tasks.reading.corpus.tokens import Span
from loquent.tasks.reading.options import BUILTIN, NEWSQA, SAMPLES, Options


def check(record: Mapping[str, Any]) -> Record:
    """The row's fields `context`, `places`, `tokenised`, `question`, `answers` and `starts`.

    A record has a `context` (a text), or `sentences` (a list of texts, which are joined by spaces); a
    `question`; and `answers`: texts of the context, or objects with `text` and `answer_start`, as in SQuAD.
    Optional are `places`, the (start, end) of each sentence in characters; `starts`, the first characters of
    the answers; and `tokenised`, true if the tokens of the context stand between spaces.

    Raises:
        ValueError: a field is missing or wrong, or an answer is not at its place in the context.
    """
    context, places = _context(record)
    question, tokenised = field(record, "question"), record.get("tokenised", False)
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"the question is {show(question)}; it must be a text that is not empty")
    if not isinstance(tokenised, bool):
        raise ValueError(f"tokenised is {show(tokenised)}; it must be true or false")
    answers = field(record, "answers")
    answers = [answers] if isinstance(answers, str) else answers
    starts = record.get("starts")
    if not isinstance(answers, list | tuple) or not answers:
        raise ValueError(f"the answers are {show(answers)}; they must be a list that is not empty")
    if starts is None:
        starts = [None] * len(answers)
    elif not isinstance(starts, list | tuple) or len(starts) != len(answers):
        raise ValueError(f"starts is {show(starts)}; it must have one number for each answer")
    found = [_answer(context, answer, start) for answer, start in zip(answers, starts, strict=True)]
    texts, numbers = tuple(text for text, _ in found), tuple(start for _, start in found)
    return Record(
        context=context,
        places=places,
        tokenised=tokenised,
        question=question,
        answers=texts,
        starts=numbers,
        **weight_field(record),
    )


def _context(record: Mapping[str, Any]) -> tuple[str, tuple[Span, ...]]:
    """The text and the places of its sentences; no places: the splitter finds the sentences."""
    sentences = record.get("sentences")
    if sentences is not None:
        if (
            not isinstance(sentences, list | tuple)
            or not sentences
            or not all(isinstance(sentence, str) and sentence.strip() for sentence in sentences)
        ):
            raise ValueError(f"the sentences are {show(sentences)}; they must be texts that are not empty")
        ends = [0]
        for sentence in sentences:
            ends.append(ends[-1] + len(sentence) + 1)
        return " ".join(sentences), tuple((a, b - 1) for a, b in pairwise(ends))
    context = field(record, "context")
    if not isinstance(context, str) or not context.strip():
        raise ValueError(f"the context is {show(context)}; it must be a text with at least one word")
    return context, tuple(_place(context, place) for place in record.get("places") or ())


def _place(context: str, place: Any) -> Span:
    if (
        not isinstance(place, list | tuple)
        or len(place) != 2
        or not all(type(n) is int for n in place)
        or not 0 <= place[0] < place[1] <= len(context)
        or not context[place[0] : place[1]].strip()
    ):
        what = f"the place {show(place)} of a sentence is wrong"
        raise ValueError(f"{what}; it must be (start, end) of some characters of the context")
    return place[0], place[1]


def _answer(context: str, answer: Any, start: Any) -> tuple[str, int]:
    """An answer with its place in the context; without one, the place of its first occurrence."""
    if isinstance(answer, Mapping):
        answer, start = field(answer, "text"), answer.get("answer_start", start)
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError(f"the answer is {show(answer)}; it must be a text that is not empty")
    if start is None:
        start = context.find(answer)
        if start < 0:
            raise ValueError(
                f"the answer {show(answer)} does not stand in the context; it must be a part of it"
            )
    if type(start) is not int or start < 0 or context[start : start + len(answer)] != answer:
        there = context[start : start + len(answer)] if type(start) is int and start >= 0 else ""
        what = f"the answer {show(answer)} should start at character {show(start)}"
        raise ValueError(
            f"{what}, where {show(there)} stands; answer_start must be the answer's place in the context"
        )
    return answer, start


@content.cache_reads(16)
def load(options: Options) -> Splits:
    """The rows of a source by split.

    Raises:
        BadRow: a row is bad; names the file and the place. BadSetting: there is nothing to read.

    Warns:
        Remark: rows are left out, or a paragraph stands in two splits.
    """
    if options.source == BUILTIN:
        splits = corpora.rows(Path(__file__).with_name("villages.json.xz"))
    elif options.source == SAMPLES:
        splits = _samples(options.samples)
    else:
        from loquent.tasks.reading.corpus import newsqa, squad

        path = Path(options.path).expanduser()
        found = newsqa.splits(path, options.splitter) if options.source == NEWSQA else squad.splits(path)
        splits = {split: _rows(str(path), split, found[split]) for split in SPLITS if found.get(split)}
    if options.drop_duplicates:
        splits = duplicates.check_splits(splits, options.path or SAMPLES, drop=True, names=("context",))
    _report_shared(splits)
    return {split: limit_rows(rows, options.limit) for split, rows in splits.items()}


def _rows(place: str, split: str, items: Iterable[Item]) -> tuple[Row, ...]:
    rows: list[Row] = []
    contexts: dict[str, str] = {}
    for item in items:
        try:
            fields = check(item.fields)
        except ValueError as error:
            raise BadRow(f"{split}, {item.place}: {error}", file=place) from error
        text = fields["context"]  # questions about one paragraph share its text
        rows.append(Row(item.id, fields.with_(context=contexts.setdefault(text, text))))
    return tuple(rows)


def _samples(samples: Sequence[Record]) -> Splits:
    found: dict[str, list[Item]] = {}
    for number, sample in enumerate(samples):
        split = sample.get("split", "train")
        if split not in SPLITS:
            raise BadRow(f"sample {number + 1}: split = {split!r}; it must be one of {', '.join(SPLITS)}")
        id = str(sample.get("id", f"{split}-{number}"))
        found.setdefault(split, []).append(Item(f"sample {number + 1}", id, 0, dict(sample)))
    return {split: _rows("samples", split, found[split]) for split in SPLITS if split in found}


def _report_shared(splits: Splits) -> None:
    """Warn about paragraphs that stand in two splits, and refuse ids that occur twice."""
    ids = Counter(row.id for rows in splits.values() for row in rows)
    if twice := next((id for id, count in ids.items() if count > 1), None):
        raise BadRow(f"the id {twice!r} belongs to {ids[twice]} questions; every question needs its own")
    contexts = {split: {row["context"] for row in rows} for split, rows in splits.items()}
    known = list(contexts)
    for i, split in enumerate(known):
        for other in known[i + 1 :]:
            if shared := contexts[split] & contexts[other]:
                what = f"{len(shared):,} paragraphs stand in {split} and in {other}"
                advice = "results on them measure memory; drop_duplicates: true leaves them out"
                warnings.warn(f"{what}; {advice}", Remark, stacklevel=3)


def query_words(
    rows: Sequence[Row], splitter: str, size: int = 0, stop_words: frozenset[str] | None = None
) -> tuple[str, ...]:
    """The words of `all_words` that may be queries; `size` counts these words alone.

    Args:
        stop_words: as in `stopwords.is_query`.
    """
    return _most_frequent(rows, splitter, size, lambda word: stopwords.is_query(word, stop_words))


def all_words(rows: Sequence[Row], splitter: str, size: int = 0) -> tuple[str, ...]:
    """The tokens of the rows' paragraphs and questions in lower case, in the order of first use.

    Args:
        size: keep this many of the most frequent words; of equally frequent ones, the first. 0: all.
    """
    return _most_frequent(rows, splitter, size, bool)


def _most_frequent(
    rows: Sequence[Row], splitter: str, size: int, wanted: Callable[[str], bool]
) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    read: set[str] = set()
    for row in rows:
        context = row["context"]
        if context not in read:
            read.add(context)
            paragraph = document(context, row["places"], row["tokenised"], splitter)
            for sentence in paragraph.sentences:
                counts.update(sentence.split(" "))
        counts.update(tokens.lower_tokens(row["question"]))
    words = [word for word in counts if wanted(word)]
    if size and size < len(words):
        kept = set(sorted(words, key=lambda word: -counts[word])[:size])
        words = [word for word in words if word in kept]
    return tuple(words)
