"""Formats: they alone write markers. `Plain`, `Chat` and `Ilql` turn a history of turns into pieces of token ids, and ids into text."""

from __future__ import annotations

from loquent.models.formats.base import Fit, Format, Piece, Written
from loquent.models.formats.chat import Chat
from loquent.models.formats.ilql import Ilql
from loquent.models.formats.plain import Plain

__all__ = ["Chat", "Fit", "Format", "Ilql", "Piece", "Plain", "Written"]
