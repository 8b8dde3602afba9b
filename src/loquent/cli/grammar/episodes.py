"""Commands that play tasks and store episodes: play, collect, convert, check, serve."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import allow_imports, command, options, task
from loquent.cli.grammar.numbers import port, positive, share


def add(commands: Any) -> None:
    """Add these commands."""
    _play(commands)
    _collect(commands)
    _convert(commands)
    _check(commands)
    _serve(commands)


def _play(commands: Any) -> None:
    parser = command(
        commands,
        "play",
        "play a task at this terminal, or watch an agent play it",
        "loquent play wordle --option rule=official",
    )
    task(parser)
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help="the player: you (default), an agent's name, module:Class, or the folder of a run or a model",
    )
    parser.add_argument(
        "--replay",
        metavar="FILE",
        help="replay an episode of this JSONL file word for word, instead of playing a new one",
    )
    parser.add_argument(
        "--game",
        type=positive,
        default=1,
        metavar="N",
        help="the number of the episode that --replay shows, from 1 (default 1)",
    )
    parser.add_argument("--row", metavar="ID", help="the row to play (default: the seed draws one)")
    parser.add_argument("--save", metavar="FILE", help="append the episode to this JSONL file")
    allow_imports(parser, "a run")


def _collect(commands: Any) -> None:
    parser = command(
        commands,
        "collect",
        "play many episodes into a dataset; continue a collection that was stopped",
        "loquent collect wordle --agent random --episodes 1000 --out data/wordle",
        "loquent collect wordle --design branching design.rollouts=2 --agent expert --suboptimal "
        "random --episodes 100 --out data/branching",
    )
    task(parser)
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help="the player: an agent's name, module:Class, or the folder of a run or a model",
    )
    _design(parser)
    parser.add_argument(
        "--episodes",
        required=True,
        type=positive,
        metavar="N",
        help="episodes to play, without those that a design adds",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the dataset's folder, which will hold episodes.jsonl"
    )
    parser.add_argument(
        "--processes",
        type=positive,
        default=1,
        metavar="P",
        help="processes that share the episodes (default 1)",
    )
    allow_imports(parser, "a run")


def _design(parser: Any) -> None:
    """Add the design of a collection and its other players."""
    parser.add_argument(
        "--design",
        metavar="DESIGN",
        help="games (default), branching, adversarial or tweets; its options are design.key=value "
        "(docs/data.md)",
    )
    parser.add_argument(
        "--suboptimal",
        metavar="AGENT",
        help="the second player of the designs branching and adversarial; --agent is the expert",
    )
    parser.add_argument(
        "--adversary",
        metavar="AGENT",
        help="the agent that replaces the expert in mid-episode, in the design adversarial",
    )


def _convert(commands: Any) -> None:
    parser = command(
        commands,
        "convert",
        "convert all or some episodes into another format (JSON lines, Parquet, datasets, Minari)",
        "loquent convert data/wordle wordle.parquet",
        "loquent convert data/wordle best.jsonl --top 0.1",
        "loquent convert wordle.parquet minari/wordle-v0 --to minari",
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a collection's folder, a .jsonl or .parquet file, or a folder of datasets or Minari",
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="a new file or folder; a name that ends in .jsonl or .parquet chooses the format",
    )
    parser.add_argument(
        "--to",
        choices=["jsonl", "parquet", "datasets", "minari"],
        help="the format of TARGET, if its name does not choose it",
    )
    _selection(parser)
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="the weight of a reward (default: the weights of the run, or of the task)",
    )


def _selection(parser: Any) -> None:
    """Add the arguments of `convert` that select episodes."""
    parser.add_argument(
        "--top",
        type=share,
        default=1.0,
        metavar="SHARE",
        help="keep this share of the episodes with the highest returns",
    )
    parser.add_argument(
        "--bottom",
        type=share,
        default=1.0,
        metavar="SHARE",
        help="keep this share with the lowest returns; applied before --top",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="keep episodes of this kind (expert, adversarial, ...); may be repeated",
    )


def _check(commands: Any) -> None:
    parser = command(
        commands,
        "check",
        "check that a task, built-in or your own, obeys the laws of the task contract",
        "loquent check my_task:Echo",
        "loquent check wordle",
        "loquent check blocks --path DIR",
    )
    parser.add_argument("task", metavar="TASK", help="a task's name (loquent list tasks) or module:Class")
    options(parser, "options of the task")
    parser.add_argument(
        "--path",
        metavar="DIR",
        help="check the published files of the task in this folder instead: their counts, hashes and labels",
    )
    parser.add_argument(
        "--episodes", type=positive, default=20, metavar="N", help="episodes per law (default 20)"
    )


def _serve(commands: Any) -> None:
    parser = command(
        commands,
        "serve",
        "serve the other seats of a task over HTTP, on this machine only",
        "loquent serve dialogue --port 5000",
    )
    parser.add_argument("task", metavar="TASK", help="the task (dialogue)")
    parser.add_argument("--agent", metavar="NAME", help="the agent that acts (default: one of the task's)")
    options(parser)
    parser.add_argument(
        "--port", type=port, default=5000, metavar="N", help="the port; 0: a free one (default 5000)"
    )
