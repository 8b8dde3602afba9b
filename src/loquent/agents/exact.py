"""Prompts for a served model with a known format.

A prompt is the token ids that a local agent would read, the text of these ids, or messages.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loquent.agents.prompts import clean
from loquent.core.agent import Question
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.core.values import map_texts, plain
from loquent.errors import BadModel, BadSetting
from loquent.models.decoding_settings import SIDES
from loquent.models.export_note import format_of, read_note

AUTO, PLAIN, CHAT, ILQL = "auto", "plain", "chat", "ilql"


class Exact:
    """Writes the same prompts as a local agent with the same format.

    Args:
        folder: the served model's folder, with config and tokenizer; `loquent export` writes one.
        format: how turns become tokens; "auto": the format that the folder names, else the chat template for
            "chat" and plain texts for "completions".
        api: "chat" or "completions".
        max_tokens: the most tokens of an answer.

    Raises:
        BadModel: there is no tokenizer, or the format cannot use it.
        BadSetting: there is no room for a prompt, or the folder's note is invalid.
    """

    def __init__(self, folder: str, format: str, api: str, max_tokens: int) -> None:
        from loquent.models.format.names import of_tokenizer
        from loquent.pretrained import lora
        from loquent.pretrained.folder import from_pretrained
        from loquent.pretrained.language import begun, context, load_tokenizer, transformers_library

        note = read_note(folder)
        name, thinking = format_of(note, folder, CHAT if api == CHAT else PLAIN)
        name = name if format == AUTO else format
        self.tokenizer = load_tokenizer(folder, None)
        place, revision = lora.base_of(folder) if lora.is_adapter(folder) else (folder, None)
        config = from_pretrained(transformers_library().AutoConfig, place, revision, "config")
        if config.is_encoder_decoder:
            raise BadModel(
                f"{folder}: {config.model_type} is an encoder-decoder, and servers of exact prompts run "
                "causal models; play it with the agent `model` instead"
            )
        begun(self.tokenizer)
        self.format = of_tokenizer(name, self.tokenizer, thinking if name == CHAT else None)
        longest = context(SimpleNamespace(config=config))
        self.room = longest - max_tokens
        if self.room < 1:
            raise BadSetting(
                f"max_tokens = {max_tokens} leaves no room for a prompt in the model's context of {longest} "
                "tokens; choose fewer"
            )
        evaluation = note.get("evaluation")
        evaluation = evaluation if isinstance(evaluation, dict) else {}
        most, side = evaluation.get("max_prompt_tokens"), evaluation.get("truncation_side")
        self.side = side if side in SIDES else SIDES[0]
        self.room = min(self.room, most) if isinstance(most, int) and most > 0 else self.room
        self.ends = self._ends(folder)
        self.as_text = False  # whether prompts are sent as text, because the server takes no ids
        self._warned = False
        if api == CHAT and note.get("template_is_exact") is False:
            why = (
                "the model's chat template cannot write every prompt of its format; use api=completions, "
                "which sends the exact tokens"
            )
            warnings.warn(f"{folder}: {why}", Remark, stacklevel=4)

    def first(self, question: Question, first: int) -> int:
        """The first turn, from `first` on, with which the history fits into the model's context."""
        turns, seat = question.turns[first:], question.observation.seat
        fitted = self.format.fit(question.instruction, turns, seat, self.room)
        return first + fitted.first

    def messages(self, question: Question, first: int) -> list[dict[str, Any]]:
        """The messages from which the model's chat template makes the prompt."""
        turns = [
            replace(
                turn,
                text=clean(turn.text),
                messages=map_texts(turn.messages, clean),
            )
            for turn in question.turns[first:]
        ]
        return self.format.messages(clean(question.instruction), turns, question.observation.seat)

    def tools(self, question: Question, first: int) -> list[Any]:
        """The tools that the model's chat template reads beside the messages."""
        return list(plain(map_texts(self.format.tools(question.turns[first:]), clean)))

    def prompt(self, question: Question, first: int) -> list[int] | str:
        """The token ids of the prompt; or their text, for a server that takes no ids."""
        turns, seat = question.turns[first:], question.observation.seat
        ids = list(self.format.prompt(question.instruction, turns, seat, self.room, self.side)[0])
        return self._text(ids) if self.as_text else ids

    def answer_text(self, text: str) -> str:
        """An answer without the white space that the template writes before it."""
        return self.format.trim_answer(text)

    def _text(self, ids: list[int]) -> str:
        """The text that the served tokenizer reads as these ids.

        The text has no start token if the tokenizer adds it.
        """
        start = self.tokenizer.decode(ids[:1], skip_special_tokens=False)
        full = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        bare = full.removeprefix(start)
        texts = [full, bare, bare.removeprefix(" ")]
        distances = [_distance(self.tokenizer(text)["input_ids"], ids) for text in texts]
        best = min(range(len(texts)), key=distances.__getitem__)
        if distances[best] and not self._warned:
            self._warned = True
            why = (
                "the server takes no token ids, and its tokenizer turns the text of some prompts into other "
                "ids than the model's format"
            )
            warnings.warn(
                f"{why}, for example {texts[best][-60:]!r}; answers may differ from those of a local agent",
                Remark,
                stacklevel=2,
            )
        return texts[best]

    def _ends(self, folder: str) -> tuple[str, ...]:
        """The end markers of the format at which the server does not stop by itself."""
        file = Path(folder) / "generation_config.json"
        own = json_files.load_object(file).get("eos_token_id") if file.is_file() else None
        stopped = {self.tokenizer.eos_token_id, *(own if isinstance(own, list) else [own])}
        return tuple(self.tokenizer.convert_ids_to_tokens(i) for i in sorted(self.format.end - stopped))


def _distance(a: list[int], b: list[int]) -> int:
    return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b))
