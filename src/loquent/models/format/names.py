"""The formats by name.

`Plain`, `Chat` and `Ilql` turn a history of turns into pieces of token ids, and ids into text. They alone
write markers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loquent.models.format.base import Fit, Format, Piece, Written
from loquent.models.format.chat import Chat
from loquent.models.format.ilql import Ilql
from loquent.models.format.plain import Plain

# each is called with a tokenizer
FORMATS: dict[str, Callable[[Any], Format]] = {"plain": Plain, "chat": Chat, "ilql": Ilql}

__all__ = ["FORMATS", "Chat", "Fit", "Format", "Ilql", "Piece", "Plain", "Written"]
