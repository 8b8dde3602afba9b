"""The formats by name.

`Plain`, `Chat` and `Ilql` turn a history of turns into pieces of token ids, and ids into text. They alone
write markers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loquent.errors import BadSetting
from loquent.models.format.base import Fit, Format, Piece, Written
from loquent.models.format.chat import Chat
from loquent.models.format.ilql import Ilql
from loquent.models.format.paired import Pair
from loquent.models.format.plain import Plain
from loquent.pretrained.pairs import is_pair, limits, start_ids

# each is called with a tokenizer
FORMATS: dict[str, Callable[[Any], Format]] = {"plain": Plain, "chat": Chat, "ilql": Ilql}

__all__ = ["FORMATS", "Chat", "Fit", "Format", "Ilql", "Pair", "Piece", "Plain", "Written", "of_model"]


def of_model(name: str, module: Any, tokenizer: Any) -> Format:
    """The format of this name for a model; an encoder-decoder has the plain format in pairs.

    Raises:
        BadSetting: an encoder-decoder with another format than plain.
        BadModel: the tokenizer or the model does not fit the format.
    """
    if not is_pair(module):
        return FORMATS[name](tokenizer)
    if name != "plain":
        raise BadSetting(
            f"model.format = {name!r}: an encoder-decoder ({module.config.model_type}) takes 'plain' alone, "
            "because its encoder reads whole texts and its decoder writes the answer; set format: plain"
        )
    return Pair(tokenizer, start_ids(module, tokenizer), limits(module)[1])
