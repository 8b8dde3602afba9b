"""Commands that read runs: report, evaluate, generate, values, export."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import OPTION, allow_imports, command
from loquent.cli.grammar.numbers import positive, seed


def add(commands: Any) -> None:
    """Add these commands."""
    _report(commands)
    _evaluate(commands)
    _generate(commands)
    _values(commands)
    _export(commands)


def _report(commands: Any) -> None:
    parser = command(
        commands,
        "report",
        "write one page about one or several runs, for any browser",
        "loquent report runs/ppo runs/nlpo --out ppo-nlpo.html",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run's folder, or a folder of runs; runs that differ only in their seed are drawn together",
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the page, one file that needs no network"
    )


def _evaluate(commands: Any) -> None:
    parser = command(
        commands,
        "evaluate",
        "play held-out rows and print scores with their standard errors",
        "loquent evaluate runs/ppo --episodes 500",
        'loquent evaluate runs/ppo evaluation.temperature=0.5 "metrics={rouge: {}}" --save evaluated/cooler',
        "loquent evaluate random --task wordle task.limit=100",
    )
    parser.add_argument("who", metavar="WHO", help="a run's folder, a model's folder, or an agent's name")
    parser.add_argument(
        "--task", metavar="TASK", help="the task, if WHO is not a run or another task is wanted"
    )
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=OPTION)
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="key.path=value",
        help="of a run: settings of evaluation, metrics, rewards or task that replace its own; with --task: "
        "options as after --option",
    )
    parser.add_argument("--save", metavar="FOLDER", help="write evaluation.json and episodes.jsonl there")
    parser.add_argument("--split", default="test", help="the split to take rows from (default test)")
    parser.add_argument(
        "--episodes", type=positive, default=200, metavar="N", help="episodes to play (default 200)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="the seed of the episodes (default 0)")
    allow_imports(parser, "a run")


def _generate(commands: Any) -> None:
    parser = command(
        commands,
        "generate",
        "print texts that a trained model writes",
        'loquent generate runs/ppo --prompt "the film was"',
    )
    parser.add_argument("model", metavar="MODEL", help="a run's folder, or a Hugging Face name or folder")
    parser.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="TEXT",
        help="the text to continue; may be repeated (default: rows of the run's task)",
    )
    parser.add_argument(
        "--number",
        type=positive,
        default=4,
        metavar="N",
        help="texts to print for each prompt, or rows to take (default 4)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="the seed of the draws (default 0)")
    parser.add_argument("--max-new-tokens", type=positive, metavar="N", help="the longest answer in tokens")
    allow_imports(parser, "a run")


def _values(commands: Any) -> None:
    parser = command(
        commands,
        "values",
        "apply a run's value functions to recorded episodes: print the best and worst utterances, or "
        "whether Q ranks the better answers higher",
        "loquent values runs/ilql data/wordle --ngram 2",
        "loquent values runs/ilql data/expert --against data/random --answer 1",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run that has learned values")
    parser.add_argument(
        "data", metavar="DATA", help="a file of episodes, or a folder that `loquent collect` wrote"
    )
    parser.add_argument(
        "--number",
        type=positive,
        default=10,
        metavar="K",
        help="texts to print of the best and of the worst (default 10)",
    )
    parser.add_argument(
        "--ngram", type=positive, metavar="N", help="score sequences of N tokens instead of whole utterances"
    )
    parser.add_argument(
        "--least",
        type=positive,
        default=1,
        metavar="N",
        help="leave out texts that occur less often than N times (default 1)",
    )
    _ranking(parser)
    allow_imports(parser, "a run")


def _ranking(parser: Any) -> None:
    """Add the arguments of `values` that rank answers."""
    parser.add_argument(
        "--against",
        metavar="DATA",
        help="rank instead: the first DATA holds the better answers, this DATA the others, in shared states",
    )
    parser.add_argument(
        "--answer",
        type=positive,
        metavar="N",
        help="with --against: only the N-th answer of an episode, from 1 (default: any)",
    )
    parser.add_argument(
        "--draws",
        type=positive,
        default=1000,
        metavar="N",
        help="with --against: pairs to draw (default 1000)",
    )
    parser.add_argument(
        "--seed", type=seed, default=0, help="with --against: the seed of the draws (default 0)"
    )


def _export(commands: Any) -> None:
    parser = command(
        commands,
        "export",
        "copy a run's model into an ordinary Hugging Face folder",
        "loquent export runs/ppo exported",
    )
    parser.add_argument("run", metavar="RUN", help="a run's folder")
    parser.add_argument("folder", metavar="FOLDER", help="a new or empty folder")
    parser.add_argument(
        "--adapter",
        action="store_true",
        help="copy the adapters of a run with model.lora alone; by default they are merged into the model",
    )
