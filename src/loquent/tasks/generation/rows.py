"""The options of text generation, and its rows: texts cut into a prompt and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from loquent.data.sources import Source, limited, load
from loquent.errors import BadRow, UnknownName
from loquent.settings import check_ranges, setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `task:` may hold for text generation."""

    source: str = setting("builtin", "the reviews made by Loquent, a path, or a dataset of the hub", choices=("builtin", "path", "hub"))
    path: str = setting("", "source path: a file, a folder with train, validation and test files, or the IMDB folders")
    name: str = setting("", "source hub: the dataset's name, or a local folder in the hub's format")
    subset: str = setting("", "source hub: the dataset's configuration, where it has several")
    revision: str = setting("", "source hub: the commit, 40 hexadecimal digits")
    text_field: str = setting("text", "the field that holds the text")
    label_field: str = setting("", "the field that holds the label; empty: `label`, where there is one")
    labels: tuple[str, ...] = setting((), "the labels that may occur; empty: any")
    prompt_words: int = setting(0, "so many words of a text are its prompt; 0, and for texts no longer than that: a fraction of them", low=0)
    prompt_fraction: float = setting(0.5, "the share of a text's words that is its prompt", source="2210.01241 sec. 4.1: IMDB", low=0.0, high=1.0)
    max_words: int = setting(0, "an answer of more words ends by the rule 'length'; 0: no limit", low=0)
    text_words: int = setting(0, "a longer text is cut into pieces of so many words, each a row of its own; 0: texts stay whole", low=0)
    limit: int = setting(0, "at most so many rows a split, chosen by a hash of their ids; 0: all", low=0)
    horizon: str = setting(
        "cut", "how an answer ends that a decoder stopped: 'cut' bootstraps, 'terminal' does not (the paper's code)", choices=("cut", "terminal")
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        _ = self.where

    @property
    def where(self) -> Source:
        """The source these options name."""
        return Source(
            kind=self.source,
            path=self.path,
            name=self.name,
            subset=self.subset,
            revision=self.revision,
            text_field=self.text_field,
            label_field=self.label_field,
            labels=self.labels,
        )


@lru_cache(maxsize=32)
def rows(options: Options, split: str) -> tuple[Row, ...]:
    """The rows of a split with `prompt`, `references`, `text` and `label`, beside the other fields of the source.

    Raises:
        UnknownName: the source has no such split.
        BadRow: a text has one word, which leaves nothing to continue.
    """
    splits = load(options.where)
    if split not in splits:
        raise UnknownName(f"split of the source {options.source} {options.path or options.name}".rstrip(), split, splits)
    pieces = (piece for row in splits[split] for piece in _pieces(row, options))
    return tuple(_cut_row(row, options) for row in limited(tuple(pieces), options.limit))


def cut(text: str, words: int) -> tuple[str, str]:
    """A text cut behind its first `words` words; what follows keeps its leading space, so the two together are the text.

    Raises:
        ValueError: nothing would come before the cut, or nothing behind it.
    """
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    if not 0 < words < len(ends):
        raise ValueError(f"a text of {len(ends)} words cannot be cut into a prompt of {words} and an answer of at least 1")
    return text[: ends[words - 1]], text[ends[words - 1] :]


def _cut_row(row: Row, options: Options) -> Row:
    label = row.fields.get("label")
    if "prompt" in row.fields and "references" in row.fields:
        prompt, references = row["prompt"], row["references"]
        return Row(row.id, row.fields.with_(prompt=prompt, references=references, text=prompt + references[0], label=label))
    text = row["text"]
    length = len(text.split())
    count = options.prompt_words
    if not 0 < count < length:
        count = min(max(int(length * options.prompt_fraction), 1), length - 1)
    try:
        prompt, rest = cut(text, count)
    except ValueError as error:
        raise BadRow(f"row {row.id}: {error}", file=options.path or options.name or "built-in reviews") from error
    return Row(row.id, row.fields.with_(prompt=prompt, references=(rest,), text=text, label=label))


def _pieces(row: Row, options: Options) -> Iterator[Row]:
    """The row, or its pieces of `text_words` words, named id/0, id/1, ...; a last piece too short for its prompt is left out."""
    ends = [match.end() for match in re.finditer(r"\S+", row.fields.get("text", ""))]
    size = options.text_words
    if not size or len(ends) <= size or "references" in row.fields:
        yield row
        return
    for number, first in enumerate(range(0, len(ends), size)):
        begin, count = (ends[first - 1] if first else 0), len(ends[first : first + size])
        if count > options.prompt_words and count > 1:
            text = row["text"][begin : ends[first + count - 1]].strip()
            yield Row(f"{row.id}/{number}", row.fields.with_(text=text))
