"""The expert of text generation: the text the prompt was cut from."""

from __future__ import annotations

from collections.abc import Sequence


def reference(references: Sequence[str]) -> str | None:
    """The first reference; None where a row has none."""
    return references[0] if references else None
