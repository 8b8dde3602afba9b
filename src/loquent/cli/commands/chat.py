"""`loquent chat`: a conversation with a run, a checkpoint or a model, or with two of them side by side."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loquent.cli.grammar.options import Importing, Seeded, argument, option
from loquent.core.agent import Agent, Question
from loquent.core.episode import TASK, Turn
from loquent.core.guards.terminal import line, read_line
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training import by_name

SEAT, PROMPT = "agent", "you> "
COMMANDS = (
    "/undo takes the last turn back, /new starts again, /system TEXT sets the system prompt, /quit ends"
)
MOST = 2  # models side by side


@dataclass(frozen=True, kw_only=True)
class Options(Seeded, Importing):
    """Options of `loquent chat`."""

    examples = (
        "loquent chat runs/ppo --system 'Answer in one sentence.'",
        "loquent chat runs/ppo/checkpoints/update-2 runs/ppo",
    )
    models: tuple[str, ...] = argument(
        "MODEL", "a run, one of its checkpoints, or a Hugging Face name or folder; two answer side by side"
    )
    system: str | None = option(
        None, "TEXT", "the system prompt (default: the instruction of the run's task, if it has one)"
    )
    max_new_tokens: int | None = option(None, "N", "the longest answer in tokens", low=1)


@dataclass
class Side:
    """One model with its own conversation: your turns and its answers, with the tokens that it drew."""

    label: str
    agent: Agent
    system: str
    turns: list[Turn] = field(default_factory=list)

    def answer(self, text: str, key: Key) -> str:
        """Its answer to a text, after all earlier turns."""
        turns = (*self.turns, Turn(TASK, text, to=SEAT))
        [answer] = self.agent.answer(
            [Question(self.label, turns, Observation(text), key, instruction=self.system)]
        )
        if answer.dropped:
            print(
                f"loquent: the {answer.dropped} oldest turns no longer fit into the context of {self.label}",
                file=sys.stderr,
            )
        self.turns = [*turns, Turn(SEAT, answer.text, stopped=answer.stopped, tokens=answer.tokens)]
        return answer.text


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Answer each line that is typed, until the input ends, and return the conversations."""
    sides = _sides(options)
    print(COMMANDS)
    asked = 0
    while (text := read_line(PROMPT)) is not None and text.strip() != "/quit":
        if text.startswith("/"):
            _obey(text, sides)
        elif text.strip():
            for side in sides:
                answer = side.answer(text, Key(options.seed, ("chat", asked)))
                name = f"{side.label}> " if len(sides) > 1 else "model> "
                print(line(name) + answer.rstrip())
            asked += 1
    print()
    return 0, {"models": [_conversation(side) for side in sides]}


def _sides(options: Options) -> list[Side]:
    if len(options.models) > MOST:
        raise BadSetting(f"{len(options.models)} models are named; name one, or {MOST} to talk side by side")
    if len(set(options.models)) < len(options.models):
        raise BadSetting(f"{options.models[0]} is named twice; name two different models")
    limit: dict[str, Any] = {"max_new_tokens": options.max_new_tokens} if options.max_new_tokens else {}
    sides = []
    for name in options.models:
        agent, language = by_name.model(name, allow_imports=options.allow_imports, **limit)
        if language is None:
            raise BadSetting(f"{name} chooses among the actions of its task; name a language model to chat")
        system = _instruction(name, options) if options.system is None else options.system
        sides.append(Side(name, agent, system))
    return sides


def _instruction(name: str, options: Options) -> str:
    """The instruction of the task that a run was trained on; empty for a model without a run."""
    from loquent.training.run import load_run

    folder = RunFolder.around(Path(name))
    if folder is None:
        return ""
    return load_run(folder.path, allow_imports=options.allow_imports).task().spec.instruction


def _obey(text: str, sides: list[Side]) -> None:
    """Carry out a command that begins with a slash."""
    command, _, rest = text.strip().partition(" ")
    if command == "/undo":
        if not sides[0].turns:
            print("there is no turn to take back")
        for side in sides:
            side.turns = side.turns[:-2]
    elif command in ("/new", "/system"):
        for side in sides:
            side.turns = []
            side.system = rest.strip() if command == "/system" else side.system
        print("the conversation starts again" + (f", with: {line(rest)}" if rest.strip() else ""))
    else:
        print(f"{line(command)} is no command; {COMMANDS}")


def _conversation(side: Side) -> dict[str, Any]:
    roles = {SEAT: "assistant", TASK: "user"}
    messages = [{"role": roles[turn.seat], "content": turn.text} for turn in side.turns]
    return {"model": side.label, "system": side.system, "messages": messages}
