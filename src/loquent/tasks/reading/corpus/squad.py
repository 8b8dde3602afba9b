"""Files in the form of SQuAD v1.1 (arXiv:1606.05250), and the paper's split of them.

A file holds `data`: articles with `paragraphs`, each with a `context` and questions `qas`, whose `answers`
have a `text` and an `answer_start` in characters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.guards.json_files import MOST_BYTES, shown
from loquent.core.guards.opening import whole
from loquent.core.settings import Remark
from loquent.data.annotated import placed
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
    found = {split: read(file) for split, file in placed.files(path, ENDINGS).items()}
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
    items: list[Item] = []
    unanswered = 0
    for article, place, paragraph in _paragraphs(path, value):
        context = paragraph.get("context")
        for number, question in enumerate(_list(path, place, paragraph, "qas")):
            where = f"{place}.qas[{number}]"
            if not isinstance(question, Mapping):
                raise BadRow(f"{where} is {shown(question)}; it must be an object with a question", file=path)
            answers = _list(path, where, question, "answers")
            if not answers:
                unanswered += 1
                continue
            id = question.get("id")
            if id is None:
                id = f"{path.name.split('.')[0]}-{len(items)}"
            fields = {"context": context, "question": question.get("question"), "answers": answers}
            items.append(Item(where, str(id), article, fields))
    if unanswered:
        what = f"{path}: {unanswered:,} questions without an answer are left out"
        warnings.warn(f"{what}; {len(items):,} questions stay", Remark, stacklevel=2)
    if not items:
        raise BadRow("the file has no question with an answer", file=path)
    return items


def _paragraphs(path: Path, value: Any) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """(number of the article, place, paragraph) of each paragraph."""
    if not isinstance(value, Mapping):
        raise BadRow(f"the file holds {shown(value)}; it must hold an object with `data`", file=path)
    for number, article in enumerate(_list(path, "the file", value, "data")):
        place = f"data[{number}]"
        if not isinstance(article, Mapping):
            raise BadRow(f"{place} is {shown(article)}; it must be an object with paragraphs", file=path)
        for i, paragraph in enumerate(_list(path, place, article, "paragraphs")):
            if not isinstance(paragraph, Mapping) or not isinstance(paragraph.get("context"), str):
                what = f"{place}.paragraphs[{i}] is {shown(paragraph)}"
                raise BadRow(f"{what}; it must be an object with a text `context` and `qas`", file=path)
            yield number, f"{place}.paragraphs[{i}]", paragraph


def _list(path: Path, place: str, holder: Mapping[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    if not isinstance(value, list):
        raise BadRow(f"{place}: {name} is {shown(value)}; it must be a list", file=path)
    return value


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
    return " ".join(tokens.lowered(str(item.fields["question"])))


def _bytes(path: Path) -> bytes:
    try:
        return whole(path, MOST_BYTES)
    except OSError as error:
        raise BadRow(f"this file cannot be read ({type(error).__name__}: {error})", file=path) from error
