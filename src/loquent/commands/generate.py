"""`loquent generate`: what a trained model says, to prompts of one's own or to rows of its task."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.agent import Asked
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


def _agent(arguments: Namespace) -> LanguageModelAgent:
    """The model as an agent: a run decodes as its recipe's `evaluation` says, any other model samples."""
    name, form, decoding = arguments.model, "plain", Decoding()
    if (Path(name) / "config.yaml").is_file():
        recipe = load_run(name).recipe
        form, decoding = recipe.model.format, recipe.evaluation
    if arguments.max_new_tokens:
        decoding = replace(decoding, max_new_tokens=arguments.max_new_tokens)
    language = load_language(name, "auto", "float32")
    return LanguageModelAgent(language.module, make_format(form, language), decoding, name=name)


def _continued(agent: LanguageModelAgent, arguments: Namespace) -> list[tuple[str, str]]:
    prompts = [prompt for prompt in arguments.prompt for _ in range(arguments.number)]
    asked = [
        Asked(str(i), (Turn(TASK, prompt, to="agent"),), Observation(prompt), Key(arguments.seed, ("generate", i)))
        for i, prompt in enumerate(prompts)
    ]
    return [(prompt, answer.text) for prompt, answer in zip(prompts, agent.answer(asked), strict=True)]


def _played(agent: LanguageModelAgent, arguments: Namespace) -> list[tuple[str, str]]:
    if not (Path(arguments.model) / "config.yaml").is_file():
        raise BadSetting(f"{arguments.model} is no run, so there are no rows of its task; give it --prompt TEXT")
    task = load_run(arguments.model).task()
    queue = games(task.rows("test")[: arguments.number])
    episodes = play(task, queue, agent, seed=arguments.seed, split="test")
    said = [[turn.text for turn in one.turns if turn.text] for one in episodes]
    return [(texts[0], "\n".join(texts[1:])) for texts in said if texts]
