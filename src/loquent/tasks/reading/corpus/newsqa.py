"""The CSV files train.csv, dev.csv and test.csv of NewsQA's official scripts (arXiv:1611.09830).

Their licence forbids passing them on: every user makes them from the CNN stories. A row has the columns
story_id, story_text (tokens with spaces between them), question and answer_token_ranges ("3:5,9:12").
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from loquent.core.settings import Remark
from loquent.data.annotated import loading
from loquent.data.readers import csv_rows
from loquent.errors import BadRow, BadSetting
from loquent.tasks.reading.corpus import tokens
from loquent.tasks.reading.corpus.items import Item
from loquent.tasks.reading.corpus.tokens import SPLITTERS, Span

COLUMNS = ("story_text", "question", "answer_token_ranges")
RANGE = re.compile(r"(\d{1,9}):(\d{1,9})")
MOST_TOKENS = 1500  # of a story, as in the paper's code
LONGEST = 100  # tokens of a sentence, as in the paper's code
Story = tuple[
    tuple[Span, ...], tuple[Span, ...]
]  # the characters of the sentences kept, and of those removed
NO_ANSWER, OUTSIDE = "without an answer", "whose answer is outside the story"
LONG, CUT = (
    f"with a story of more than {MOST_TOKENS:,} tokens",
    f"whose answer is in a sentence of more than {LONGEST} tokens, or a delimiter",
)


def splits(path: Path, splitter: str) -> dict[str, list[Item]]:
    """The questions of the three files by split.

    As in the paper's code, questions without an answer, with a first answer outside the story or with a story
    of more than 1,500 tokens are left out, and sentences of more than 100 tokens are removed. An answer may
    read on from one sentence into the next, or over the delimiter at its end. A question whose answers all
    stand in removed sentences, or are delimiters alone, is left out. A Remark counts what is left out.

    Raises:
        BadRow: a file or a row is bad; names file and line. BadSetting: the folder has no such file.
    """
    if not path.is_dir():
        raise BadSetting(f"path = {str(path)!r} is no folder; it must hold train.csv, dev.csv and test.csv")
    found, left_out = {}, Counter[str]()
    stories: dict[tuple[str, str], Story] = {}
    for split, file in loading.files(path, (".csv",)).items():
        items = []
        for line, record in csv_rows(file):
            fields = _fields(file, line, record, splitter, stories)
            if isinstance(fields, str):
                left_out[fields] += 1
            else:
                items.append(Item(f"line {line}", f"{split}-{line}", 0, fields))
        found[split] = items
    if left_out:
        counts = "; ".join(f"{count:,} questions {why}" for why, count in left_out.items())
        warnings.warn(f"{path}: left out: {counts}", Remark, stacklevel=2)
    return {split: items for split, items in found.items() if items}


def _fields(
    file: Path,
    line: int,
    record: Mapping[str, str],
    splitter: str,
    stories: dict[tuple[str, str], Story],
) -> dict[str, object] | str:
    """The fields of a row, or the reason why it is left out."""
    for name in COLUMNS:
        if name not in record:
            raise BadRow(
                f"there is no column {name!r}; the columns are {', '.join(record)}", file=file, line=1
            )
    text, ranges = record["story_text"], record["answer_token_ranges"].strip()
    if not ranges:
        return NO_ANSWER
    spans = tokens.token_spans(text)
    if len(spans) > MOST_TOKENS:
        return LONG
    golds = []
    for part in ranges.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            what = f"the answer range {part!r:.40} is not of the form FIRST:LAST"
            raise BadRow(f"{what}, two numbers of tokens", file=file, line=line)
        first, last = int(match[1]), int(match[2])
        if first < last <= len(spans):
            golds.append((spans[first][0], spans[last - 1][1]))
        elif not golds:
            return OUTSIDE
    story = stories.get((text, splitter))
    if story is None:
        story = stories[text, splitter] = _story(text, spans, splitter)
    places, removed = story
    golds = [gold for gold in golds if _stands_in(gold, places) and not _stands_in(gold, removed)]
    if not golds:
        return CUT
    answers = [{"text": text[a:b], "answer_start": a} for a, b in golds]
    return {
        "context": text,
        "places": places,
        "tokenised": True,
        "question": record["question"],
        "answers": answers,
    }


def _story(text: str, spans: list[Span], splitter: str) -> Story:
    """The sentences of a story that are short enough, and the others."""
    ranges = SPLITTERS[splitter]([text[start:end] for start, end in spans])
    kept, removed = (
        tuple((spans[a][0], spans[b - 1][1]) for a, b in ranges if (b - a <= LONGEST) is short)
        for short in (True, False)
    )
    return kept, removed


def _stands_in(gold: Span, places: tuple[Span, ...]) -> bool:
    """Whether a part of an answer stands in one of some sentences."""
    return any(gold[0] < end and start < gold[1] for start, end in places)
