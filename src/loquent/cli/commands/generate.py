"""`loquent generate`: prints a trained model's answers to given prompts or to rows of its task."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import Importing, Seeded, argument, option
from loquent.core.agent import Agent, Question
from loquent.core.episode import TASK, Turn
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training import by_name

Texts = list[tuple[str, bool]]  # the texts of an episode in order, each with whether the model wrote it
ANSWER, INDENT = "  -> ", "\n     "


@dataclass(frozen=True, kw_only=True)
class Options(Seeded, Importing):
    """Options of `loquent generate`."""

    examples = ('loquent generate runs/ppo --prompt "the film was"',)
    model: str = argument("MODEL", "a run's folder, or a Hugging Face name or folder")
    prompt: tuple[str, ...] = option(
        (), "TEXT", "the text to continue; may be repeated (default: rows of the run's task)"
    )
    number: int = option(4, "N", "texts to print for each prompt, or rows to take", low=1)
    max_new_tokens: int | None = option(None, "N", "the longest answer in tokens", low=1)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print each prompt with the texts that follow it, and return them."""
    limit: dict[str, Any] = {"max_new_tokens": options.max_new_tokens} if options.max_new_tokens else {}
    agent, _ = by_name.model(options.model, allow_imports=options.allow_imports, **limit)
    episodes = _continue(agent, options) if options.prompt else _play(agent, options)
    print(
        "\n\n".join(
            "\n".join(ANSWER + text.replace("\n", INDENT) if by_model else text for text, by_model in episode)
            for episode in episodes
        )
    )
    texts = [[text for text, _ in episode] for episode in episodes]
    return 0, {
        "model": options.model,
        "texts": [{"prompt": first, "text": "\n".join(rest)} for first, *rest in texts],
    }


def _report_cuts(agent: Agent, prompts: Sequence[tuple[str, Sequence[Turn]]]) -> None:
    """Report on stderr the prompts, each (instruction, turns), that are too long for the agent."""
    from loquent.agents.language_model import LanguageModelAgent

    if not isinstance(agent, LanguageModelAgent):
        return
    side = agent.decoding.truncation_side
    fits = [agent.format.fit(instruction, turns, "agent", agent.room, side) for instruction, turns in prompts]
    cut = [
        (turns[fit.first].text, fit)
        for fit, (_, turns) in zip(fits, prompts, strict=True)
        if fit.first or fit.cut
    ]
    if cut:
        text, fit = cut[0]
        lost = (
            f"the {'last' if side == 'right' else 'first'} {fit.cut} of its tokens were cut off"
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


def _continue(agent: Agent, options: Options) -> list[Texts]:
    prompts = [prompt for prompt in options.prompt for _ in range(options.number)]
    questions = [
        Question(
            str(i), (Turn(TASK, prompt, to="agent"),), Observation(prompt), Key(options.seed, ("generate", i))
        )
        for i, prompt in enumerate(prompts)
    ]
    _report_cuts(agent, [(question.instruction, question.turns) for question in questions])
    return [
        [(prompt, False), (answer.text, True)]
        for prompt, answer in zip(prompts, agent.answer(questions), strict=True)
    ]


def _play(agent: Agent, options: Options) -> list[Texts]:
    from loquent.training.run import load_run

    if not RunFolder(options.model).is_run:
        raise BadSetting(
            f"{options.model} is not a run, so it has no task to take rows from; give --prompt TEXT"
        )
    task = load_run(options.model, allow_imports=options.allow_imports).task()
    queue = games(task.rows("test")[: options.number])
    episodes = play(task, queue, agent, seed=options.seed, split="test")
    readings = [(episode.instruction, episode.seen_by("agent")) for episode in episodes]
    _report_cuts(
        agent,
        [
            (instruction, turns[:i])
            for instruction, turns in readings
            for i, turn in enumerate(turns)
            if turn.seat == "agent"
        ],
    )
    texts = [
        [(turn.text, turn.seat == episode.learning) for turn in episode.turns if turn.text]
        for episode in episodes
    ]
    return [turns for turns in texts if turns]
