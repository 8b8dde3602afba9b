"""`loquent generate`: what a trained model says, to prompts of one's own or to rows of its task."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from loquent.agents.language_model import LanguageModelAgent
from loquent.core.agent import Agent, Question
from loquent.core.episode import TASK, Turn
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.models.decode.loop import Decoding
from loquent.rollout.loop import games, play
from loquent.training.run import load_run
from loquent.training.start import folder_format, load_language

Said = list[tuple[str, bool]]  # the texts of a game in their order, each with whether the model wrote it
ANSWER, INDENT = "  -> ", "\n     "


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print prompts with what follows them and return the pairs."""
    agent = _agent(arguments)
    games = _continued(agent, arguments) if arguments.prompt else _played(agent, arguments)
    print(
        "\n\n".join(
            "\n".join(ANSWER + text.replace("\n", INDENT) if by_model else text for text, by_model in game)
            for game in games
        )
    )
    texts = [[text for text, _ in game] for game in games]
    return 0, {
        "model": arguments.model,
        "texts": [{"prompt": first, "text": "\n".join(rest)} for first, *rest in texts],
    }


def _agent(arguments: Namespace) -> Agent:
    """The model as an agent: a run acts as in its evaluation, its mask included; any other model samples."""
    name, shorter = (
        arguments.model,
        {"max_new_tokens": arguments.max_new_tokens} if arguments.max_new_tokens else {},
    )
    if RunFolder(name).is_run:
        return load_run(name, allow_imports=arguments.allow_imports).agent(**shorter)
    language = load_language(name, "auto", "float32")
    return LanguageModelAgent(language.module, folder_format(name, language), Decoding(**shorter), name=name)


def _cut(agent: Agent, heard: Sequence[tuple[str, Sequence[Turn]]]) -> None:
    """Say on stderr which of the prompts, each (instruction, turns), the agent cannot read whole."""
    if not isinstance(agent, LanguageModelAgent):
        return
    fits = [agent.format.fit(instruction, turns, "agent", agent.room) for instruction, turns in heard]
    cut = [
        (turns[fit.first].text, fit)
        for fit, (_, turns) in zip(fits, heard, strict=True)
        if fit.first or fit.cut
    ]
    if cut:
        text, fit = cut[0]
        lost = (
            f"the first {fit.cut} of its tokens were cut off"
            if fit.cut
            else f"the {fit.first} turns before it were left out"
        )
        room = (
            f"a prompt has room for {agent.room} tokens, beside max_new_tokens = "
            f"{agent.decoding.max_new_tokens}"
        )
        print(
            f"loquent: {len(cut)} of {len(fits)} prompts are too long; of {text[:40]!r}... {lost}: {room}",
            file=sys.stderr,
        )


def _continued(agent: Agent, arguments: Namespace) -> list[Said]:
    prompts = [prompt for prompt in arguments.prompt for _ in range(arguments.number)]
    asked = [
        Question(
            str(i),
            (Turn(TASK, prompt, to="agent"),),
            Observation(prompt),
            Key(arguments.seed, ("generate", i)),
        )
        for i, prompt in enumerate(prompts)
    ]
    _cut(agent, [(one.instruction, one.turns) for one in asked])
    return [
        [(prompt, False), (answer.text, True)]
        for prompt, answer in zip(prompts, agent.answer(asked), strict=True)
    ]


def _played(agent: Agent, arguments: Namespace) -> list[Said]:
    if not RunFolder(arguments.model).is_run:
        raise BadSetting(
            f"{arguments.model} is no run, so there are no rows of its task; give it --prompt TEXT"
        )
    task = load_run(arguments.model, allow_imports=arguments.allow_imports).task()
    queue = games(task.rows("test")[: arguments.number])
    episodes = play(task, queue, agent, seed=arguments.seed, split="test")
    heard = [(one.instruction, one.seen_by("agent")) for one in episodes]
    _cut(
        agent,
        [
            (instruction, seen[:i])
            for instruction, seen in heard
            for i, turn in enumerate(seen)
            if turn.seat == "agent"
        ],
    )
    said = [[(turn.text, turn.seat == one.learning) for turn in one.turns if turn.text] for one in episodes]
    return [turns for turns in said if turns]
