"""Files in the form of SQuAD v1.1 (arXiv:1606.05250), and the paper's split of them.

A file holds `data`: articles with `paragraphs`, each with a `context` and questions `qas`, whose `answers`
have a `text` and an `answer_start` in characters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.guards.json_files import MOST_BYTES
from loquent.core.guards.opening import whole
from loquent.core.settings import Remark
from loquent.data.annotated import loading
from loquent.data.tables.splits import draw_of
from loquent.errors import BadRow, BadSetting
from loquent.tasks.reading.corpus import tokens
from loquent.tasks.reading.corpus.items import Item

ENDINGS = (".json",)


@dataclass(frozen=True)
class Official:
    """The official files: articles and questions of train, questions of dev, and the paper's validation."""

    articles: int = 442
    train: int = 87_599
    dev: int = 10_570
    validation: int = 5_158
    first: str = "what was the last chinese dynasty ?"
    last: str = "what is kmc an initialism of ?"


OFFICIAL = Official()


@dataclass(frozen=True)
class _Question:
    question: str
    answers: tuple[Any, ...]  # checked with their places in the paragraph by `rows.check`
    id: str | int | None = None


@dataclass(frozen=True)
class _Paragraph:
    context: str
    qas: tuple[_Question, ...]


@dataclass(frozen=True)
class _Article:
    paragraphs: tuple[_Paragraph, ...]


@dataclass(frozen=True)
class _File:
    data: tuple[_Article, ...]


def splits(path: Path, official: Official = OFFICIAL) -> dict[str, list[Item]]:
    """The questions of a file or a folder by split.

    A folder with a train and a dev file and no test file gets the paper's split: the last questions of train
    are validation, dev is test. The questions of one file are split by a hash of their paragraph, 80 % train,
    10 % validation, 10 % test.

    Raises:
        BadRow: a file cannot be read, or a question is bad; names file and place.
        BadSetting: the folder has no file of a split; or the files have the size of the official ones, and
            other questions.
    """
    if not path.exists():
        raise BadSetting(f"path = {str(path)!r}: there is no such file or folder")
    if path.is_file():
        return _by_paragraph(read(path))
    found = {split: read(file) for split, file in loading.files(path, ENDINGS).items()}
    if set(found) == {"train", "validation"}:
        return paper_split(found["train"], found["validation"], official)
    return _by_paragraph(found["train"]) if set(found) == {"train"} else found


def paper_split(train: list[Item], dev: list[Item], official: Official = OFFICIAL) -> dict[str, list[Item]]:
    """The paper's split: the end of train is validation, dev is test.

    Of the whole official file, the last 5,158 questions are validation; of a smaller one the same share, from
    the nearest beginning of an article.

    Raises:
        BadSetting: train has as many articles or questions as the official file, and something else differs.
    """
    whole = len(train) == official.train or len({item.article for item in train}) == official.articles
    if not whole:
        cut = _article_boundary(train, round(len(train) * (1 - official.validation / official.train)))
        return {"train": train[:cut], "validation": train[cut:], "test": dev}
    cut = max(len(train) - official.validation, 0)
    for what, is_, expected in (
        ("questions in train", len(train), official.train),
        ("questions in dev", len(dev), official.dev),
        ("the first validation question", _question(train[cut]), official.first),
        ("the last validation question", _question(train[-1]), official.last),
    ):
        if is_ != expected:
            raise BadSetting(
                f"the files look like SQuAD v1.1, but {what}: {is_!r:.80}; the official files have "
                f"{expected!r}. Download train-v1.1.json and dev-v1.1.json again, or rename the files"
            )
    return {"train": train[:cut], "validation": train[cut:], "test": dev}


def read(path: Path) -> list[Item]:
    """The questions of a file, in order; questions without an answer (SQuAD v2) are counted in a Remark.

    Raises:
        BadRow: the file cannot be read, or does not have this form.
    """
    try:
        value = json_files.loads(_bytes(path))
    except ValueError as error:
        line = getattr(error, "line", None) or None
        raise BadRow(f"this file cannot be read as JSON ({error})", file=path, line=line) from error
    try:
        file = schema.read(_File, value, extra=True)
    except ValueError as error:
        raise BadRow(f"this file has another form: {error}", file=path) from error
    items: list[Item] = []
    unanswered = 0
    for article, place, context, asked in _questions(file):
        if not asked.answers:
            unanswered += 1
            continue
        id = f"{path.name.split('.')[0]}-{len(items)}" if asked.id is None else str(asked.id)
        fields = {"context": context, "question": asked.question, "answers": asked.answers}
        items.append(Item(place, id, article, fields))
    if unanswered:
        what = f"{path}: {unanswered:,} questions without an answer are left out"
        warnings.warn(f"{what}; {len(items):,} questions stay", Remark, stacklevel=2)
    if not items:
        raise BadRow("the file has no question with an answer", file=path)
    return items


def _questions(file: _File) -> Iterator[tuple[int, str, str, _Question]]:
    """(number of the article, place, text of the paragraph, question) of each question."""
    for i, article in enumerate(file.data):
        for j, paragraph in enumerate(article.paragraphs):
            for k, question in enumerate(paragraph.qas):
                yield i, f"data[{i}].paragraphs[{j}].qas[{k}]", paragraph.context, question


def _by_paragraph(items: list[Item]) -> dict[str, list[Item]]:
    by_split: dict[str, list[Item]] = {"train": [], "validation": [], "test": []}
    for item in items:
        uniform = draw_of(item.fields["context"])
        by_split["train" if uniform < 0.8 else "validation" if uniform < 0.9 else "test"].append(item)
    return {split: members for split, members in by_split.items() if members}


def _article_boundary(items: list[Item], near: int) -> int:
    """The beginning of an article that is nearest to a number of questions; never the first one's."""
    starts = [i for i in range(1, len(items)) if items[i].article != items[i - 1].article]
    return min(starts, key=lambda i: abs(i - near), default=len(items))


def _question(item: Item) -> str:
    return " ".join(tokens.lower_tokens(str(item.fields["question"])))


def _bytes(path: Path) -> bytes:
    try:
        return whole(path, MOST_BYTES)
    except OSError as error:
        raise BadRow(f"this file cannot be read ({type(error).__name__}: {error})", file=path) from error
