"""Files whose records are pairs of texts, `chosen` and `rejected`, as those of TRL are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from loquent.data.preferences.pair import Pair
from loquent.data.readers import reader
from loquent.errors import BadRow

BETWEEN = "\n\n"  # the texts of messages


def is_chosen(path: Path) -> bool:
    """Whether the first record of a file has the field `chosen`."""
    read = reader(path) if path.is_file() else None
    return read is not None and any("chosen" in record for _, record in islice(read(path), 1))


def read(path: Path) -> Iterator[Pair]:
    """The pairs of a file of records with `chosen` and `rejected`, and perhaps `prompt` and `margin`.

    Each of the three is a text or a list of messages (`role`, `content`). Without a prompt, messages that
    both lists begin with are the prompt. The contents of several messages are joined by an empty line.

    Raises:
        BadRow: a record lacks a field or has another type there; names file and line.
    """
    records = reader(path)
    assert records is not None
    for line, record in records(path):
        try:
            yield _pair(f"{path.name}:{line}", record)
        except ValueError as error:
            raise BadRow(str(error), file=path, line=line) from None


def _pair(item: str, record: Mapping[str, Any]) -> Pair:
    chosen, rejected = (_texts(record.get(name), name) for name in ("chosen", "rejected"))
    prompt = _texts(record["prompt"], "prompt") if record.get("prompt") else []
    if not prompt and isinstance(record["chosen"], list):
        both = zip(chosen[:-1], rejected[:-1], strict=False)
        prompt = [text for text, _ in takewhile(lambda pair: pair[0] == pair[1], both)]
        chosen, rejected = chosen[len(prompt) :], rejected[len(prompt) :]
    margin = record.get("margin")
    try:
        number = float(0 if margin in (None, "") else margin)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"`margin` holds {margin!r:.60}; it must be a finite number")
    texts = (BETWEEN.join(chosen), BETWEEN.join(rejected))
    return Pair(item, BETWEEN.join(prompt), texts, True, number)


def _texts(value: Any, name: str) -> list[str]:
    """A text, or the contents of messages."""
    messages = [{"content": value}] if isinstance(value, str) else value
    if isinstance(messages, list) and messages:
        contents = [one.get("content") if isinstance(one, Mapping) else None for one in messages]
        texts = [content for content in contents if isinstance(content, str)]
        if len(texts) == len(contents):
            return texts
    raise ValueError(
        f"`{name}` holds {value!r:.60}; it must hold a text, or a list of messages with `role` and `content`"
    )
