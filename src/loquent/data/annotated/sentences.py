"""Sentences with one label per token: the checks of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.values import Record
from loquent.data.annotated.checks import strings
from loquent.data.columns import field
from loquent.data.pools import finite, show


def check(
    record: Mapping[str, Any],
    *,
    token_field: str = "",
    label_field: str = "",
    prefixes: str = "keep",
    longest: int = 512,
) -> Record:
    """The row's fields `tokens` and `labels`, of the same length.

    Tokens are a list, or a text that is split at spaces (U+0020 alone; empty pieces are dropped). The field
    is `tokens` or `text`.

    Raises:
        Unlabelled: there are no labels. ValueError: a field is missing or wrong.
    """
    name = token_field or ("text" if "text" in record and "tokens" not in record else "tokens")
    field(record, name)
    tokens = strings(record, name, "tokens", split=True)
    field(record, label_field or "labels")
    labels = strings(record, label_field or "labels", "labels", split=True)
    if not tokens:
        raise ValueError("the sentence has no token; it must have at least one")
    if len(tokens) != len(labels):
        text = " ".join(tokens)[:60]
        raise ValueError(
            f"the sentence {text!r} has {len(tokens)} tokens and {len(labels)} labels; it must have "
            "one label per token"
        )
    if len(tokens) > longest:
        raise ValueError(
            f"the sentence has {len(tokens)} tokens; it must have at most max_tokens = {longest}; "
            "raise max_tokens"
        )
    return Record(
        tokens=tokens,
        labels=tuple(map(strip_prefix, labels)) if prefixes == "strip" else labels,
        **weight_field(record),
    )


def strip_prefix(label: str) -> str:
    """A label without the prefix for the token's position in a span: B-PER becomes PER."""
    return label[2:] if label[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") and len(label) > 2 else label


def weight_field(record: Mapping[str, Any]) -> dict[str, float]:
    """The field `weight` if the record has it; ValueError unless it is a finite number of at least 0."""
    if "weight" not in record:
        return {}
    weight = record["weight"]
    if not finite(weight):
        raise ValueError(f"the weight is {show(weight)}; it must be a finite number of at least 0")
    return {"weight": float(weight)}
