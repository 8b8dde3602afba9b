"""Prompts for a served model whose format is known: the ids that a local agent would read, the text of these
ids, or messages.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

from loquent.agents.prompts import clean
from loquent.core.agent import Question
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.models.exported import format_name, read_note

AUTO, PLAIN, CHAT, ILQL = "auto", "plain", "chat", "ilql"


class Exact:
    """Writes the prompts of a format, as a local agent reads them.

    Args:
        folder: the served model's, with config and tokenizer; `loquent export` makes one.
        format: how turns become tokens; "auto": as the folder says, else the template for chats, and plain
            texts for completions.
        api: "chat" or "completions".
        max_tokens: that an answer may have.

    Raises:
        BadModel: no tokenizer, or one that the format cannot use. BadSetting: no room for a prompt, or a
            folder that says nonsense.
    """

    def __init__(self, folder: str, format: str, api: str, max_tokens: int) -> None:
        from loquent.models.format.names import FORMATS
        from loquent.pretrained.folder import from_pretrained
        from loquent.pretrained.language import context, load_tokenizer, transformers_library

        about = read_note(folder)
        name = format_name(about, folder, CHAT if api == CHAT else PLAIN) if format == AUTO else format
        self.tokenizer = load_tokenizer(folder, None)
        self.format = FORMATS[name](self.tokenizer)
        config = from_pretrained(transformers_library().AutoConfig, folder, None, "config")
        longest = context(SimpleNamespace(config=config))
        self.room = longest - max_tokens
        if self.room < 1:
            raise BadSetting(
                f"max_tokens = {max_tokens} leaves no room for a prompt in the model's context of "
                f"{longest}; choose fewer"
            )
        evaluation = about.get("evaluation")
        most = evaluation.get("max_prompt_tokens") if isinstance(evaluation, dict) else None
        self.room = min(self.room, most) if isinstance(most, int) and most > 0 else self.room
        self.system = bool(about) or self.format.takes_system
        self.ends = self._ends(folder)
        self.as_text = False  # whether the server takes no ids
        self.remarked = False
        if api == CHAT and about.get("template_is_exact") is False:
            why = (
                "its chat template cannot write every prompt as its format does; api=completions sends "
                "the exact tokens"
            )
            warnings.warn(f"{folder}: {why}", Remark, stacklevel=4)

    def first(self, asked: Question, first: int) -> int:
        """The first turn that fits into the model's context, from `first` on."""
        return (
            first
            + self.format.fit(asked.instruction, asked.turns[first:], asked.observation.seat, self.room).first
        )

    def messages(self, asked: Question, first: int) -> list[dict[str, str]]:
        """A message for each turn with text (the first is written even without), from which the model's
        template makes the prompt.
        """
        instruction, turns, seat = clean(asked.instruction), asked.turns[first:], asked.observation.seat
        texts = [clean(turn.text) for turn in turns]
        if instruction and not self.system:
            texts[0] = f"{instruction}\n\n{texts[0]}"
        found = [{"role": "system", "content": instruction}] if instruction and self.system else []
        if turns and turns[0].seat == seat:  # a chat begins with the other side
            found.append({"role": "user", "content": ""})
        for number, (turn, text) in enumerate(zip(turns, texts, strict=True)):
            if turn.seat == seat or text or not number:
                found.append({"role": "assistant" if turn.seat == seat else "user", "content": text})
        return found

    def prompt(self, asked: Question, first: int) -> list[int] | str:
        """The ids after which the seat answers; or, for a server that takes none, their text."""
        ids = list(
            self.format.prompt(asked.instruction, asked.turns[first:], asked.observation.seat, self.room)[0]
        )
        return self._text(ids) if self.as_text else ids

    def said(self, text: str) -> str:
        """An answer without the white space that the template writes before it."""
        return self.format.spoken(text)

    def _text(self, ids: list[int]) -> str:
        """The text that the served tokenizer reads as these ids: with the start token, or without where the
        tokenizer adds it.
        """
        start = self.tokenizer.decode(ids[:1], skip_special_tokens=False)
        whole = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        bare = whole.removeprefix(start)
        texts = [whole, bare, bare.removeprefix(" ")]
        away = [_distance(self.tokenizer(text)["input_ids"], ids) for text in texts]
        best = min(range(len(texts)), key=away.__getitem__)
        if away[best] and not self.remarked:
            self.remarked = True
            why = (
                "the server takes no token ids, and its tokenizer reads some prompts otherwise than the "
                "model's format writes them"
            )
            warnings.warn(
                f"{why}, as {texts[best][-60:]!r}; answers may differ from a local agent's",
                Remark,
                stacklevel=2,
            )
        return texts[best]

    def _ends(self, folder: str) -> tuple[str, ...]:
        """The markers that end an answer and at which a server does not stop by itself."""
        file = Path(folder) / "generation_config.json"
        own = json_files.load_object(file).get("eos_token_id") if file.is_file() else None
        known = {self.tokenizer.eos_token_id, *(own if isinstance(own, list) else [own])}
        return tuple(self.tokenizer.convert_ids_to_tokens(i) for i in sorted(self.format.end - known))


def _distance(a: list[int], b: list[int]) -> int:
    return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b))
