"""`loquent collect`: plays many episodes in several processes into one file.

A collection that was stopped continues when the command is run again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loquent.cli.grammar.options import REQUIRED, OfEpisodes, option
from loquent.core.guards.terminal import line
from loquent.errors import BadSetting


@dataclass(frozen=True, kw_only=True)
class Options(OfEpisodes):
    """Options of `loquent collect`."""

    examples = (
        "loquent collect wordle --agent random --episodes 1000 --out data/wordle",
        "loquent collect wordle --design branching design.rollouts=2 --agent expert --suboptimal random "
        "--episodes 100 --out data/branching",
    )
    agent: str | None = option(
        None, "AGENT", "the player: an agent's name, module:Class, or the folder of a run or a model"
    )
    design: str | None = option(
        None,
        "DESIGN",
        "games (default), branching, adversarial or tweets; its options are design.key=value (docs/data.md)",
    )
    suboptimal: str | None = option(
        None, "AGENT", "the second player of the designs branching and adversarial; --agent is the expert"
    )
    adversary: str | None = option(
        None, "AGENT", "the agent that replaces the expert in mid-episode, in the design adversarial"
    )
    episodes: int = option(REQUIRED, "N", "episodes to play, without those that a design adds", low=1)
    out: str = option(REQUIRED, "DIR", "the dataset's folder, which will hold episodes.jsonl")
    processes: int = option(1, "P", "processes that share the episodes", low=1)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Collect episodes, and print and return a summary of the dataset."""
    from loquent.training import by_name
    from loquent.training.datasets import collection, designs

    task = by_name.task(options.task, designs.by_owner(options.settings)[""])
    for player in designs.PLAYERS:
        who = getattr(options, player) or ""
        if who == "human" or who.endswith("/person"):
            raise BadSetting(
                f"--{player} {who}: a person cannot play a collection; play and keep single episodes with "
                f"loquent play {options.task} --save episodes.jsonl"
            )
    design = options.design or designs.GAMES
    plan = collection.Plan(
        task=options.task,
        options=options.settings,
        identity=task.identity,
        agent=options.agent,
        episodes=options.episodes,
        split=options.split,
        seed=options.seed,
        design=None if design == designs.GAMES else design,
        suboptimal=options.suboptimal,
        adversary=options.adversary,
    )
    plan = replace(plan, inputs=designs.inputs(design, designs.read(design, plan.players, options.settings)))
    result = collection.collect(
        plan, task, Path(options.out), options.processes, allow_imports=options.allow_imports
    )
    success = f"success {result['success']:.4g}, " if "success" in result else ""
    print(
        f"{result['episodes']} episodes of {task.identity} in {result['file']}; {success}mean return "
        f"{result['return']:.4g}"
    )
    for ended, count in result["ended"].items():
        print(f"  {count} ended: {line(ended)}")
    for kind, part in result.get("kinds", {}).items():
        print(f"  {part['episodes']} {line(kind)}, mean return {part['return']:.4g}")
    return 0, result
