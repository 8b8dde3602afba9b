"""`loquent generate`: what a trained model says, to prompts of one's own or to rows of its task."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loquent import named
from loquent.agent import Agent, Asked
from loquent.agents.language_model import LanguageModelAgent
from loquent.episode import TASK, Turn
from loquent.errors import BadSetting
from loquent.models.decode import Decoding
from loquent.play import games, play
from loquent.run import load_run
from loquent.seeding import Key
from loquent.start import load_language, make_format
from loquent.task import Observation
from loquent.values import escaped


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print prompts with what follows them, escaped, and return the pairs."""
    agent = _agent(arguments)
    pairs = _continued(agent, arguments) if arguments.prompt else _played(agent, arguments)
    for prompt, text in pairs:
        print(f"{escaped(prompt)}\n  -> {escaped(text)}")
    return 0, {"model": arguments.model, "texts": [{"prompt": prompt, "text": text} for prompt, text in pairs]}


def _agent(arguments: Namespace) -> Agent:
    """The model as an agent: a run acts as in its evaluation, its mask included; any other model samples."""
    name, shorter = arguments.model, {"max_new_tokens": arguments.max_new_tokens} if arguments.max_new_tokens else {}
    if (Path(name) / "config.yaml").is_file():
        named.search_here()  # algorithms and rewards may be one's own
        return load_run(name).agent(**shorter)
    language = load_language(name, "auto", "float32")
    return LanguageModelAgent(language.module, make_format("plain", language), Decoding(**shorter), name=name)


def _cut(agent: Agent, heard: Sequence[tuple[str, Sequence[Turn]]]) -> None:
    """Say on stderr which of the prompts, each (instruction, turns), the agent cannot read whole."""
    if not isinstance(agent, LanguageModelAgent):
        return
    fits = [agent.format.fit(instruction, turns, "agent", agent.room) for instruction, turns in heard]
    cut = [(turns[fit.first].text, fit) for fit, (_, turns) in zip(fits, heard, strict=True) if fit.first or fit.cut]
    if cut:
        text, fit = cut[0]
        lost = f"the first {fit.cut} of its tokens were cut off" if fit.cut else f"the {fit.first} turns before it were left out"
        room = f"a prompt has room for {agent.room} tokens, beside max_new_tokens = {agent.decoding.max_new_tokens}"
        print(f"loquent: {len(cut)} of {len(fits)} prompts are too long; of {text[:40]!r}... {lost}: {room}", file=sys.stderr)


def _continued(agent: Agent, arguments: Namespace) -> list[tuple[str, str]]:
    prompts = [prompt for prompt in arguments.prompt for _ in range(arguments.number)]
    asked = [
        Asked(str(i), (Turn(TASK, prompt, to="agent"),), Observation(prompt), Key(arguments.seed, ("generate", i)))
        for i, prompt in enumerate(prompts)
    ]
    _cut(agent, [(one.instruction, one.turns) for one in asked])
    return [(prompt, answer.text) for prompt, answer in zip(prompts, agent.answer(asked), strict=True)]


def _played(agent: Agent, arguments: Namespace) -> list[tuple[str, str]]:
    if not (Path(arguments.model) / "config.yaml").is_file():
        raise BadSetting(f"{arguments.model} is no run, so there are no rows of its task; give it --prompt TEXT")
    task = load_run(arguments.model).task()
    queue = games(task.rows("test")[: arguments.number])
    episodes = play(task, queue, agent, seed=arguments.seed, split="test")
    heard = [(one.instruction, one.seen_by("agent")) for one in episodes]
    _cut(agent, [(instruction, seen[:i]) for instruction, seen in heard for i, turn in enumerate(seen) if turn.seat == "agent"])
    said = [[turn.text for turn in one.turns if turn.text] for one in episodes]
    return [(texts[0], "\n".join(texts[1:])) for texts in said if texts]
