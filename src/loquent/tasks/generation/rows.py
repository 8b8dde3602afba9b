"""The options and rows of text generation: prompts of a dataset, or texts split into two parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from loquent.core.agent import before_first
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row
from loquent.core.values import EMPTY, Record
from loquent.data import content, duplicates
from loquent.data.sources import COLUMNS, Source, limit_rows, load
from loquent.data.tables.rows import Rows
from loquent.data.tables.splits import SPLITS
from loquent.errors import BadRow, BadSetting, UnknownName
from loquent.tasks.generation import orders
from loquent.tasks.generation.conversation import Conversation, with_script
from loquent.tasks.generation.corpora import loading
from loquent.tasks.generation.corpora.dataset import Form, Hub, check_prompt
from loquent.tasks.generation.corpora.table import (
    CONSTANT,
    DATASETS,
    IMDB,
    IMDB_HUB,
    NAMES,
    ORDERS,
    TEXTS,
)

OF_TEXTS = ("columns", "text_field", "label_field", "labels", "prompt_words", "prompt_fraction", "text_words")
OF_DATASETS = ("prompt", "source_words", "representation", "context")
IMDB_TEST = 5_000  # test rows of the dataset imdb (2210.01241)
CONSTANT_ROWS = 100  # per split


@dataclass(frozen=True, kw_only=True)
class Options(Conversation):
    """The settings under `task:` for text generation."""

    dataset: str = setting(
        TEXTS,
        "the rows: texts of any source (builtin: film reviews), a dataset in its published format (builtin: "
        "rows of the same form, written here), one constant prompt without references, or the built-in "
        "orders of a guest",
        choices=NAMES,
    )
    source: str = setting(
        "builtin",
        "builtin: Loquent's rows; path: files; hub: a dataset of the hub",
        choices=("builtin", "path", "hub"),
    )
    path: str = setting(
        "",
        "source path: a file, a folder with train, validation and test files, or the IMDB folders",
        file=True,
    )
    name: str = setting(
        "",
        "source hub: the dataset's name, or a local folder in the hub's format; empty: the pinned one of "
        "`dataset`",
        file=True,
    )
    subset: str = setting("", "source hub: the dataset's configuration, if it has several")
    revision: str = setting("", "source hub: the commit, 40 hexadecimal digits")
    prompt: str = setting(
        "",
        "the form of the prompts of a dataset, with its parts in braces; empty: the published one. For the "
        "dataset constant: the prompt itself, or with an empty one the model's start token alone",
    )
    source_words: int = setting(
        0, "the most words of the article, summary, table or sentence in a prompt; 0: all of them", low=0
    )
    representation: str = setting(
        "subtable", "dataset totto: the highlighted cells, or all cells", choices=("subtable", "fulltable")
    )
    context: int = setting(
        5, "dataset daily_dialog: the utterances in a prompt", source="RL4LMs, context_size", low=1
    )
    columns: Record = setting(EMPTY, COLUMNS)
    text_field: str = setting("text", "the field of the text")
    label_field: str = setting("", "the field of the label; empty: `label`, if it exists")
    labels: tuple[str, ...] = setting((), "the allowed labels; empty: any")
    drop_duplicates: bool = setting(False, duplicates.HELP)
    prompt_words: int = setting(
        0, "words in the prompt; 0, or a text not longer than this: use prompt_fraction", low=0
    )
    prompt_fraction: float = setting(
        0.5,
        "the share of a text's words that is its prompt; dataset imdb: of what stands between its blanks",
        source="2210.01241 sec. 4.1: IMDB",
        low=0.0,
        high=1.0,
    )
    max_words: int = setting(0, "an answer of more words ends by the rule 'length'; 0: no limit", low=0)
    text_words: int = setting(
        0, "split longer texts into rows of this many words; 0: do not split texts", low=0
    )
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)
    horizon: str = setting(
        "cut",
        "the end of an answer that a decoder stopped: 'cut' bootstraps, 'terminal' does not (the "
        "paper's code)",
        choices=("cut", "terminal"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self)
        entry = DATASETS.get(self.dataset)
        own = {CONSTANT: ("prompt",), ORDERS: ()}
        read = (*entry.settings, "prompt") if entry else own.get(self.dataset, OF_TEXTS)
        for option in fields(self):
            unread = option.name in (*OF_TEXTS, *OF_DATASETS) and option.name not in read
            if unread and getattr(self, option.name) != option.default:
                raise BadSetting(
                    f"{option.name} = {getattr(self, option.name)!r} is set, but the dataset "
                    f"{self.dataset!r} does not read it; it reads {', '.join(read) or 'none of these'}. "
                    f"Leave {option.name} at {option.default!r}"
                )
        if entry and self.prompt:
            check_prompt(self.prompt, entry.parts)
        if self.dataset in own and self.source != "builtin":
            raise BadSetting(
                f"the dataset {self.dataset!r} reads no source; leave source at 'builtin', or choose another "
                "dataset"
            )
        _ = self.text_source

    @property
    def text_source(self) -> Source:
        """The source of the rows; a hub source without a name is the pinned one of the dataset."""
        hub = Hub(self.name, self.subset, self.revision)
        if self.source == "hub" and not self.name and self.dataset != TEXTS:
            pinned = IMDB_HUB if self.dataset == IMDB else DATASETS[self.dataset].hub
            hub = Hub(pinned.name, self.subset or pinned.subset, self.revision or pinned.revision)
        return Source(
            kind=self.source,
            path=self.path,
            name=hub.name,
            subset=hub.subset,
            revision=hub.revision,
            text_field=self.text_field,
            label_field=self.label_field,
            labels=self.labels,
            columns=self.columns,
            drop_duplicates=self.drop_duplicates,
        )

    @property
    def form(self) -> Form:
        """The form of a dataset's prompts."""
        return Form(self.prompt, self.source_words, self.representation, self.context)


@content.cache_reads(32)
def rows(options: Options, split: str) -> Sequence[Row]:
    """The rows of a split: `prompt`, `references`, `text`, `label` and the other fields of the source.

    `text` is the prompt and the first reference. References end before `stop`; secret ones are ().

    Raises:
        UnknownName: the source has no such split.
        BadRow: a text has fewer than two words, so it cannot be split into prompt and continuation.
    """
    splits = _splits(options)
    if split not in splits:
        raise UnknownName(
            f"split of the source {options.source} {options.path or options.name}".rstrip(), split, splits
        )
    found = splits[split]
    if isinstance(found, Rows) and options.dataset == TEXTS and not options.text_words:
        return _on_demand(limit_rows(found, options.limit), options)
    pieces: Sequence[Row] = tuple(piece for row in found for piece in _pieces(row, options))
    if options.dataset == IMDB and split == "test":
        pieces = limit_rows(pieces, IMDB_TEST)
    return tuple(cut_row(row, options) for row in limit_rows(pieces, options.limit))


def _on_demand(found: Sequence[Row], options: Options) -> Sequence[Row]:
    """Rows of a large source, which are cut when they are used."""
    assert isinstance(found, Rows)
    if single := found.store.about["single"]:
        row = found.store.place(single)
        assert row is not None
        found.at(np.array([row], np.uint32)).transform(partial(cut_row, options=options))[0]  # raises
    return found.transform(
        partial(cut_row, options=options),
        options.prompt_words,
        options.prompt_fraction,
        *((options.turns,) if options.reads_script else ()),
        *options.stop,
    )


def _splits(options: Options) -> dict[str, Sequence[Row]]:
    """The rows of all splits, not yet cut and limited; kept for all splits."""
    limit = options.limit if options.dataset == TEXTS and not options.text_words else 0
    talk: dict[str, Any] = {field.name: field.default for field in fields(Conversation)}
    return _loaded(replace(options, limit=limit, max_words=0, horizon="cut", **talk))


@content.cache_reads(16)
def _loaded(options: Options) -> dict[str, Sequence[Row]]:
    if options.dataset == CONSTANT:
        record = Record(prompt=options.prompt, references=())
        return {split: tuple(Row(f"{split}-{i}", record) for i in range(CONSTANT_ROWS)) for split in SPLITS}
    if options.dataset == ORDERS:
        return {split: orders.rows(split) for split in SPLITS}
    if options.dataset in DATASETS:
        return dict(loading.load(DATASETS[options.dataset], options.text_source, options.form))
    return load(options.text_source, options.limit)


def ends_of_words(text: str, blanks: bool = False) -> list[int]:
    """Where words end: at white space, or with `blanks` at every blank, as RL4LMs splits IMDB."""
    if blanks:
        return [*(match.start() for match in re.finditer(" ", text)), len(text)]
    return [match.end() for match in re.finditer(r"\S+", text)]


def cut(text: str, words: int, blanks: bool = False) -> tuple[str, str]:
    """(prompt, continuation): a text split after its first `words` words, as `ends_of_words` counts them.

    The continuation keeps its leading space, so prompt + continuation == text.

    Raises:
        ValueError: the prompt or the continuation would have no word.
    """
    return _cut_at(text, ends_of_words(text, blanks), words)


def _cut_at(text: str, ends: list[int], words: int) -> tuple[str, str]:
    prompt = text[: ends[words - 1]] if 0 < words < len(ends) else ""
    if not prompt.strip() or not text[len(prompt) :].strip():
        raise ValueError(
            f"a text of {len(ends)} words cannot be cut into a prompt of {words} and an answer of at least 1"
        )
    return prompt, text[len(prompt) :]


def cut_row(row: Row, options: Options) -> Row:
    """The row with `prompt`, `references` and `text`; BadRow if its text is too short for a prompt."""
    label = row.fields.get("label")
    if "prompt" in row.fields and "references" in row.fields:
        own = with_script(row.fields, options)
        prompt, references = own["prompt"], own["references"]
        return Row(
            row.id,
            own.with_(
                prompt=prompt, references=references, text="".join((prompt, *references[:1])), label=label
            ),
        )
    text, blanks = row["text"], options.dataset == IMDB
    ends = ends_of_words(text, blanks)
    length = len(ends)
    count = options.prompt_words
    if not 0 < count < length:
        count = min(max(int(length * options.prompt_fraction), 1), length - 1)
    try:
        prompt, continuation = _cut_at(text, ends, count)
    except ValueError as error:
        raise BadRow(
            f"row {row.id}: {error}", file=options.path or options.name or "built-in reviews"
        ) from error
    reference = before_first(continuation, options.stop)
    return Row(
        row.id,
        row.fields.with_(prompt=prompt, references=(reference,), text=prompt + reference, label=label),
    )


def _pieces(row: Row, options: Options) -> Iterator[Row]:
    """The row itself, or rows id/0, id/1, ... with pieces of `text_words` words.

    The field `source_id` of a piece is the id of the whole text. A last piece that is too short for a prompt
    is dropped.
    """
    size = options.text_words
    ends = ends_of_words(row.fields.get("text", "")) if size and "references" not in row.fields else []
    if len(ends) <= size:
        yield row
        return
    for number, first in enumerate(range(0, len(ends), size)):
        begin, count = (ends[first - 1] if first else 0), len(ends[first : first + size])
        if count > options.prompt_words and count > 1:
            text = row["text"][begin : ends[first + count - 1]].strip()
            yield Row(f"{row.id}/{number}", row.fields.with_(text=text, source_id=row.id))
