"""What a dataset of text generation is: its files, and how a record becomes prompts and references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loquent.errors import BadSetting, kind_of

Fields = Mapping[str, Any]
FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Form:
    """The form of prompts: the options that a dataset reads beside its records.

    `prompt` is a text with parts in braces, `source_words` the most words of the longest part (0: all),
    `representation` the form of a table, and `context` the number of utterances before an answer.
    """

    prompt: str = ""
    source_words: int = 0
    representation: str = "subtable"
    context: int = 5


class Example(NamedTuple):
    """One row to be: the parts of its prompt, its references (none: secret), and fields to keep."""

    parts: Mapping[str, str]
    references: tuple[str, ...]
    fields: Mapping[str, Any]


class Hub(NamedTuple):
    """A dataset of the hub; `revision` is "" where the user has to name the commit of a parquet copy."""

    name: str
    subset: str = ""
    revision: str = ""


@dataclass(frozen=True)
class Dataset:
    """A dataset by its functions.

    Args:
        prompt: the published form of a prompt, with parts in braces.
        parts: the names that may stand in braces.
        examples: makes the rows of one record of a split, or raises ValueError.
        files: the form of the published files, as `published.FILES` names it.
        builtin: the name of the file of stand-in records of the same form, by split; "": there are none.
        hub: where a copy in parquet stands.
        settings: the options of `Form` that the dataset reads beside `prompt`.
        long: the part that `source_words` shortens.
        group: the text of a record that other records have too: records with equal texts stay together where
            validation is taken from train.
    """

    prompt: str
    parts: tuple[str, ...]
    examples: Callable[[Fields, str, Form], list[Example]]
    files: str
    builtin: str
    hub: Hub
    paper: str
    settings: tuple[str, ...] = ()
    long: str = ""
    group: Callable[[Fields], str] | None = None


def fill_prompt(prompt: str, parts: Mapping[str, str]) -> str:
    """A prompt with its parts in place of their names in braces."""
    return FIELD.sub(lambda match: parts[match[1]], prompt)


def check_prompt(prompt: str, parts: Sequence[str]) -> None:
    """BadSetting if a name in braces is not a part, or if there is none."""
    names = FIELD.findall(prompt)
    unknown = [name for name in names if name not in parts]
    if unknown or not names:
        what = f"names the part {unknown[0]!r}" if unknown else "names no part"
        known = ", ".join(f"{{{part}}}" for part in parts)
        raise BadSetting(f"prompt = {prompt!r} {what}; the parts of this dataset are {known}")


def shorten(text: str, words: int) -> str:
    """The first `words` words of a text; 0, or a shorter text: the text itself."""
    ends = [match.end() for match in re.finditer(r"\S+", text)] if words else []
    return text[: ends[words - 1]] if len(ends) > words else text


def text(record: Fields, name: str) -> str:
    """A field with a text that is not blank; ValueError for anything else."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        found = f"is {kind_of(value)}" if name in record else "is missing"
        found = "is blank" if isinstance(value, str) else found
        raise ValueError(f"the field {name!r} {found}; it must hold a text. Fields here: {', '.join(record)}")
    return value


def texts(value: Any, noun: str) -> tuple[str, ...]:
    """A text or a list of texts as a tuple, without blank ones; ValueError for anything else."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ValueError(f"{noun} are {value!r:.60}; they must be a text or a list of texts")
    return tuple(item for item in items if item.strip())


def mappings(value: Any, noun: str) -> list[Fields]:
    """A list of mappings, also where the hub stores it as a mapping of lists; ValueError for others."""
    if isinstance(value, Mapping) and all(isinstance(item, list | tuple) for item in value.values()):
        return [dict(zip(value, items, strict=True)) for items in zip(*value.values(), strict=True)]
    if isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value):
        return list(value)
    raise ValueError(f"{noun} are {value!r:.60}; they must be a list of mappings")


def numbers(value: Any, noun: str) -> tuple[int, ...]:
    """A list of integers as a tuple; ValueError for anything else."""
    if isinstance(value, list | tuple) and all(type(item) is int for item in value):
        return tuple(value)
    raise ValueError(f"{noun} are {value!r:.60}; they must be a list of integers")


def without_blanks(references: Iterable[str]) -> tuple[str, ...]:
    """References without surrounding white space and without blank ones."""
    return tuple(reference.strip() for reference in references if reference.strip())
