"""The vocabularies of the token form: bytes, or a tokenizer's own. An action is one token; an answer is over at its end token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from loquent.errors import BadModel, MissingExtra
from loquent.tasks.generation import views
from loquent.tasks.generation.views import Arrays, TokenView

USUAL_ENDS = ("<|end|>", "<|endoftext|>", "</s>", "<eos>", "<|im_end|>")


class Vocabulary(Protocol):
    """What the token form needs to know of tokens."""

    actions: spaces.Discrete
    space: spaces.Dict
    end: int
    length: int  # an answer of so many tokens is stopped

    def encode(self, text: str) -> Sequence[int]:
        """The ids of a text; markers in it are plain characters."""
        ...

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """What is seen after a prompt and the tokens drawn so far."""
        ...

    def text(self, drawn: Sequence[int]) -> str:
        """The text of an answer, its end token left out."""
        ...


class Bytes:
    """The 256 bytes of UTF-8 and an end."""

    def __init__(self, prompt_length: int, answer_length: int) -> None:
        self.view = TokenView(prompt_length=prompt_length, answer_length=answer_length)
        self.actions, self.space = self.view.action_space, self.view.space
        self.end, self.length = views.END, answer_length

    def encode(self, text: str) -> Sequence[int]:
        """The bytes of a text."""
        return views.encode(text)

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """`TokenView.join`."""
        return self.view.join(prompt, drawn)

    def text(self, drawn: Sequence[int]) -> str:
        """The text of drawn bytes."""
        return self.view.text(drawn)


class TokenizerFile:
    """The tokens of a folder with a `tokenizer.json`; arrays as for bytes, padded with the number after the last token.

    Raises:
        MissingExtra: the package tokenizers is not installed.
        BadModel: there is no such file, it is none, or it names no end token.
    """

    def __init__(self, folder: str | Path, prompt_length: int, answer_length: int) -> None:
        self._tokenizer = _load(Path(folder))
        self._view = TokenView(prompt_length=prompt_length, answer_length=answer_length)
        self.end, self.length = _end(self._tokenizer, Path(folder)), answer_length
        self.pad = int(self._tokenizer.get_vocab_size())
        self.actions = spaces.Discrete(self.pad)
        ids = {name: spaces.Box(0, self.pad, box.shape, np.int64) for name, box in self._view.space.items() if isinstance(box, spaces.Box)}
        self.space = spaces.Dict({**dict(self._view.space.items()), **ids})

    def encode(self, text: str) -> Sequence[int]:
        """The ids of a text; a lone surrogate becomes "?"."""
        found: list[int] = self._tokenizer.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False).ids
        return found

    def array(self, prompt: Sequence[int], drawn: Sequence[int]) -> Arrays:
        """`TokenView.join` with this vocabulary's padding."""
        arrays = self._view.join(prompt, drawn)
        padded = {name: np.where(arrays[f"{name}_real"] == 1, ids, self.pad) for name, ids in arrays.items() if f"{name}_real" in arrays}
        return {**arrays, **padded}

    def text(self, drawn: Sequence[int]) -> str:
        """The text of drawn tokens."""
        return str(self._tokenizer.decode([i for i in drawn if i != self.end], skip_special_tokens=False))


def _load(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("the token form with a tokenizer", "train") from error
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise BadModel(f"{folder} has no tokenizer.json; a folder that holds one is right")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises bare Exception
        raise BadModel(f"{file} is no tokenizer: {error}") from error
    tokenizer.encode_special_tokens = True  # the name of a special token inside a text is plain characters
    return tokenizer


def _end(tokenizer: Any, folder: Path) -> int:
    file = folder / "tokenizer_config.json"
    try:
        named = json.loads(file.read_text(encoding="utf-8")).get("eos_token") if file.is_file() else None
    except (ValueError, AttributeError) as error:
        raise BadModel(f"{file} is no JSON object: {error}") from error
    named = named.get("content") if isinstance(named, dict) else named
    ids = [tokenizer.token_to_id(name) for name in ((named,) if named else USUAL_ENDS)]
    found = next((id for id in ids if id is not None), None)
    if found is None:
        raise BadModel(f"{folder} names no end token: tokenizer_config.json with eos_token is right, or one of {', '.join(USUAL_ENDS)}")
    return int(found)
