"""Commands that train: quickstart, train, bench, resume, annotate."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import allow_imports, command, overrides, profile
from loquent.cli.grammar.numbers import positive, weight


def add(commands: Any) -> None:
    """Add these commands."""
    _quickstart(commands)
    _train(commands)
    _bench(commands)
    _resume(commands)
    _annotate(commands)


def _quickstart(commands: Any) -> None:
    parser = command(
        commands,
        "quickstart",
        "train and compare five methods on the built-in reviews, in minutes",
        "loquent quickstart --out runs/quickstart",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the runs and the table")
    parser.add_argument(
        "--seeds",
        type=positive,
        default=1,
        metavar="N",
        help="runs of each method (default 1); from 2 on, means and standard deviations are printed",
    )
    parser.add_argument(
        "--processes",
        type=positive,
        default=0,
        metavar="P",
        help="runs at the same time (default: as many as cores and memory allow); the numbers are the same",
    )
    overrides(parser)
    profile(parser)


def _train(commands: Any) -> None:
    parser = command(
        commands,
        "train",
        "train the run that a recipe describes",
        "loquent train reviews_ppo model.path=runs/base --out runs/ppo",
    )
    parser.add_argument(
        "recipe", metavar="RECIPE", help="a recipe's name (loquent list recipes) or a YAML file"
    )
    overrides(parser)
    parser.add_argument("--out", metavar="DIR", help="the run's folder (default runs/RECIPE)")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what the run would need (parameters, memory, disk, time) without training",
    )
    parser.add_argument(
        "--seeds",
        type=positive,
        metavar="N",
        help="train N runs in DIR/seed-0 and so on, and print means and standard deviations",
    )
    allow_imports(parser, "a recipe")
    profile(parser)


def _bench(commands: Any) -> None:
    parser = command(
        commands,
        "bench",
        "run a suite of recipes and write tables with intervals; continue a suite that was stopped",
        "loquent bench imdb-ablations --profile cpu --out runs/ablations",
    )
    parser.add_argument("suite", metavar="SUITE", help="a suite's name (loquent list suites) or a YAML file")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="[NAME:]key.path=value",
        help="settings of all stages and cells, or of the stage or cell NAME",
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="a size of the suite (default: its first); smoke: two tiny updates of each run",
    )
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="runs of each cell (default: the profile's number)"
    )
    parser.add_argument("--only", metavar="CELL,...", help="run only these cells, and the stages they need")
    parser.add_argument(
        "--processes",
        type=positive,
        metavar="P",
        help="runs at the same time (default: the profile's number, or as many as cores and memory allow)",
    )
    parser.add_argument("--out", metavar="DIR", help="the folder for runs and tables (default runs/SUITE)")
    parser.add_argument(
        "--power",
        action="store_true",
        help="run nothing; print how many seeds a difference takes, by table, with the deviations of the "
        "runs in --out",
    )
    parser.add_argument(
        "--difference",
        action="append",
        default=[],
        metavar="COLUMN=NUMBER",
        help="with --power: a wanted difference of two cells in this column (may be repeated)",
    )
    allow_imports(parser, "a suite or a recipe")


def _resume(commands: Any) -> None:
    parser = command(
        commands,
        "resume",
        "continue a run that was stopped, or extend a finished one",
        "loquent resume runs/ppo",
        "loquent resume runs/ppo training.updates=200",
    )
    parser.add_argument(
        "run",
        metavar="RUN",
        help="the run's folder, or the folder of `train --seeds`; training.checkpoint_every sets how often "
        "checkpoints are written",
    )
    parser.add_argument(
        "--from-older",
        action="store_true",
        help="continue from an older checkpoint where the newest one is refused",
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="training.updates=N",
        help="a larger number of updates: the run goes on to it, and equals one that had it from the start",
    )
    allow_imports(parser, "a run")


def _annotate(commands: Any) -> None:
    parser = command(
        commands,
        "annotate",
        "correct an agent's suggestions, sample by sample, while it learns",
        "loquent annotate tagging_ppo --samples sentences.jsonl --out runs/annotated",
    )
    parser.add_argument(
        "recipe",
        metavar="RECIPE",
        help="a recipe whose algorithm chooses actions (algorithm.kind sb3/...): a name or a YAML file",
    )
    overrides(parser)
    parser.add_argument(
        "--samples",
        metavar="FILE",
        help="the samples to annotate, as JSON lines (default: the rows of training.split, labels hidden)",
    )
    parser.add_argument(
        "--oracle", action="store_true", help="correct with the samples' own annotations, not with a person"
    )
    parser.add_argument(
        "--weight",
        type=weight,
        default=1.0,
        metavar="W",
        help="the weight of annotated samples, for training.priority (default 1)",
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="stop after N samples")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="the session's folder (default runs/RECIPE-annotation); an existing session continues",
    )
    allow_imports(parser, "a recipe")
    profile(parser)
