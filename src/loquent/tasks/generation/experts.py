"""The expert of text generation: the original continuation of the prompt."""

from __future__ import annotations

from collections.abc import Sequence


def reference(references: Sequence[str]) -> str | None:
    """The first reference; None without references."""
    return references[0] if references else None
