"""The vocabularies of the token form: bytes, or the tokens of a tokenizer.

An action is a token; the end token ends an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from loquent.core.guards import json_files, tokenizer_files
from loquent.data.features import token_view
from loquent.data.features.token_view import Arrays, TokenView
from loquent.errors import BadModel

USUAL_ENDS = ("<|end|>", "<|endoftext|>", "</s>", "<eos>", "<|im_end|>")


class Vocabulary(Protocol):
    """The interface of a vocabulary."""

    actions: spaces.Discrete
    space: spaces.Dict
    end: int
    length: int  # the largest number of tokens in an answer

    def encode(self, text: str) -> Sequence[int]:
        """The ids of a text; names of special tokens in it are encoded as plain characters."""
        ...

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """The observation after a prompt and the tokens of the answer so far."""
        ...

    def text(self, drawn: Sequence[int]) -> str:
        """The text of an answer, without its end token."""
        ...


class Bytes:
    """The 256 bytes of UTF-8 and an end token."""

    def __init__(self, prompt_length: int, answer_length: int) -> None:
        self.view = TokenView(prompt_length=prompt_length, answer_length=answer_length)
        self.actions, self.space = self.view.action_space, self.view.space
        self.end, self.length = token_view.END, answer_length

    def encode(self, text: str) -> Sequence[int]:
        """The bytes of a text."""
        return token_view.encode(text)

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """`TokenView.join`."""
        return self.view.join(prompt, drawn)

    def text(self, drawn: Sequence[int]) -> str:
        """The text of the bytes of an answer."""
        return self.view.text(drawn)


class TokenizerFile:
    """The tokens of a folder with a `tokenizer.json`.

    Arrays are as for bytes; the padding id follows the largest id.

    Raises:
        MissingExtra: the package tokenizers is not installed.
        BadModel: there is no such file, it is not a tokenizer, or it names no end token.
    """

    def __init__(self, folder: str | Path, prompt_length: int, answer_length: int) -> None:
        self._tokenizer, self._folder = _load(Path(folder)), folder
        self._view = TokenView(prompt_length=prompt_length, answer_length=answer_length)
        self.end, self.length = _end(self._tokenizer, Path(folder)), answer_length
        self.pad = max(self._tokenizer.get_vocab().values(), default=-1) + 1  # ids may have gaps
        self.actions = spaces.Discrete(self.pad)
        ids = {
            name: spaces.Box(0, self.pad, box.shape, np.int64)
            for name, box in self._view.space.items()
            if isinstance(box, spaces.Box)
        }
        self.space = spaces.Dict({**dict(self._view.space.items()), **ids})

    def encode(self, text: str) -> Sequence[int]:
        """The ids of a text; a lone surrogate becomes "?"."""
        text = text.encode("utf-8", "replace").decode()
        with tokenizer_files.encoding(self._tokenizer, [text], self._folder):
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """`TokenView.join` with this vocabulary's padding."""
        arrays = self._view.join(prompt, drawn)
        padded = {
            name: np.where(arrays[f"{name}_real"] == 1, ids, self.pad)
            for name, ids in arrays.items()
            if f"{name}_real" in arrays
        }
        return {**arrays, **padded}

    def text(self, drawn: Sequence[int]) -> str:
        """The text of the tokens of an answer."""
        return str(self._tokenizer.decode([i for i in drawn if i != self.end], skip_special_tokens=False))


def _load(folder: Path) -> Any:
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise BadModel(f"{folder} has no tokenizer.json; name a folder with this file")
    tokenizer = tokenizer_files.load(file, "the token form with a tokenizer")
    tokenizer.encode_special_tokens = True  # encode the name of a special token in a text as plain characters
    return tokenizer


def _end(tokenizer: Any, folder: Path) -> int:
    file = folder / "tokenizer_config.json"
    name = json_files.load_object(file, error=BadModel).get("eos_token") if file.is_file() else None
    name = name.get("content") if isinstance(name, dict) else name
    names = (name,) if isinstance(name, str) and name else USUAL_ENDS
    ids = [tokenizer.token_to_id(name) for name in names]
    end = next((id for id in ids if id is not None), None)
    if end is None:
        what = f"{folder} names no end token that its vocabulary has"
        allowed = ", ".join(USUAL_ENDS)
        raise BadModel(
            f"{what}; set eos_token in tokenizer_config.json, or add one of {allowed} to the vocabulary"
        )
    return int(end)
