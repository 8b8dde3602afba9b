"""A language model in a folder as an agent: a teacher, another seat, or a judge of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from loquent.agents import prompts
from loquent.core.agent import Answer, Question
from loquent.core.settings import check_ranges, redefault, setting
from loquent.core.task import Task
from loquent.errors import BadSetting, BrokenAgent
from loquent.models.decoding_settings import Decoding
from loquent.models.export_note import format_of, read_note


@dataclass(frozen=True, kw_only=True)
class FolderOptions(Decoding):
    """Options of the agent `folder`: those of decoding, and these."""

    path: str = setting(why="the folder of a language model", file=True)
    device: str = setting("auto", "the device of the model", choices=("auto", "cpu", "cuda"))
    dtype: str = setting("float32", "the type of its weights", choices=("float32", "bfloat16"))
    format: str = setting(
        "auto",
        "how turns become tokens; auto: the format of the exported folder, else chat if its tokenizer has a "
        "template, else plain",
        choices=("auto", "plain", "chat", "ilql"),
    )
    method: str = redefault(Decoding, "method", "greedy")
    max_new_tokens: int = redefault(Decoding, "max_new_tokens", 256)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self)
        if not any((Path(self.path) / name).is_file() for name in ("config.json", "adapter_config.json")):
            raise BadSetting(
                f"path = {self.path!r} is not the folder of a language model: it has no config.json; name "
                "a folder that save_pretrained or `loquent export` wrote"
            )


class Folder:
    """Answers with the language model of a folder, which is loaded for the first question.

    tokens: the tokens that it has read and drawn so far.
    """

    Options: ClassVar[type] = FolderOptions
    receiver = ""

    def __init__(self, task: Task | None, options: FolderOptions) -> None:
        self.options, self.tokens, self.concurrency = options, 0, options.live
        self.name = f"folder/{Path(options.path).resolve().name}"

    @property
    def decoding_text(self) -> str:
        """The decoding settings."""
        return self.options.text

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order."""
        answers: list[Answer] = self._agent.answer(asked)
        return answers

    def attempt(self, questions: Sequence[Question]) -> list[Answer | BrokenAgent]:
        """One answer per question; an error for a question whose prompt is too long for the model."""
        agent = self._agent
        results: dict[int, Answer | BrokenAgent] = {}
        for number, question in enumerate(questions):
            try:
                prompts.check_fits(agent.format, question, agent.room, self.name)
            except BrokenAgent as error:
                results[number] = error
        short = [number for number in range(len(questions)) if number not in results]
        answers = agent.answer([questions[number] for number in short])
        results |= dict(zip(short, answers, strict=True))
        self.tokens += sum(self._tokens(questions[number], results[number]) for number in short)
        return [results[number] for number in range(len(questions))]

    def _tokens(self, question: Question, answer: Any) -> int:
        """The tokens that were read and drawn for an answer."""
        agent, seat = self._agent, question.observation.seat
        prompt, _ = agent.format.prompt(question.instruction, question.turns, seat, agent.room)
        return len(prompt) + len(answer.tokens.ids)

    @cached_property
    def _agent(self) -> Any:
        from loquent import pretrained
        from loquent.agents.language_model import LanguageModelAgent
        from loquent.models.format.names import of_model

        chosen = self.options
        language = pretrained.load(chosen.path, device=chosen.device, dtype=chosen.dtype)
        name, thinking = format_of(read_note(chosen.path), chosen.path)
        name = name if chosen.format == "auto" else chosen.format
        thinking = thinking if name == "chat" else None
        format = of_model(name, language.module, language.tokenizer, thinking)
        return LanguageModelAgent(language.module, format, chosen, name=self.name)
