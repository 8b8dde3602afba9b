"""The formats by name.

`Plain`, `Chat` and `Ilql` turn a history of turns into pieces of token ids, and ids into text. They alone
write markers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loquent.errors import BadSetting
from loquent.models.format.base import Fit, Format, Piece, Place, Written
from loquent.models.format.chat import Chat
from loquent.models.format.ilql import Ilql
from loquent.models.format.pair import Pair
from loquent.models.format.plain import Plain
from loquent.pretrained.encoder_decoders import is_pair, limits, start_ids
from loquent.pretrained.language import end_ids

AUTO, CHAT, PLAIN, ILQL = "auto", "chat", "plain", "ilql"
NAMES = (CHAT, PLAIN, ILQL)

__all__ = [
    "NAMES",
    "Chat",
    "Fit",
    "Format",
    "Ilql",
    "Pair",
    "Piece",
    "Place",
    "Plain",
    "Written",
    "of_model",
    "of_tokenizer",
]


def choose_format(name: str, tokenizer: Any, pair: bool = False) -> str:
    """The name of a format, or what "auto" means: chat for a tokenizer with a chat template, else plain.

    `pair`: whether the model is an encoder-decoder, which takes plain alone.
    """
    if name != AUTO:
        return name
    return CHAT if getattr(tokenizer, "chat_template", None) and not pair else PLAIN


def of_tokenizer(name: str, tokenizer: Any, thinking: bool | None = None, ends: Iterable[int] = ()) -> Format:
    """The format of this name for a causal model's tokenizer.

    Args:
        thinking: as in `Chat`; a format without a template takes None alone.
        ends: further ids that end an answer of a chat.

    Raises:
        BadModel, BadSetting: the tokenizer does not fit the format.
    """
    name = choose_format(name, tokenizer)
    if name == CHAT:
        return Chat(tokenizer, thinking, ends)
    _check_thinking(name, thinking)
    return {PLAIN: Plain, ILQL: Ilql}[name](tokenizer)


def of_model(name: str, module: Any, tokenizer: Any, thinking: bool | None = None) -> Format:
    """The format of this name for a model; an encoder-decoder has the plain format in pairs.

    A chat's answers also end at the ids in the model's generation_config.json.

    Raises:
        BadSetting: an encoder-decoder with another format than plain, or nothing to switch by `thinking`.
        BadModel: the tokenizer or the model does not fit the format.
    """
    if not is_pair(module):
        return of_tokenizer(name, tokenizer, thinking, end_ids(module, tokenizer))
    if choose_format(name, tokenizer, pair=True) != PLAIN:
        raise BadSetting(
            f"model.format = {name!r}: an encoder-decoder ({module.config.model_type}) takes 'plain' alone, "
            "because its encoder reads whole texts and its decoder writes the answer; set format: plain"
        )
    _check_thinking(PLAIN, thinking)
    return Pair(tokenizer, start_ids(module, tokenizer), limits(module)[1])


def _check_thinking(name: str, thinking: bool | None) -> None:
    """Refuse to switch thoughts in a format without a chat template."""
    if thinking is not None:
        raise BadSetting(
            f"model.thinking = {str(thinking).lower()} switches the thoughts of a chat template, and the "
            f"format {name} has none; leave it at none, or choose a model with a chat template and "
            "format: chat"
        )
