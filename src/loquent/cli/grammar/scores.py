"""The command that scores files of texts."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import command
from loquent.cli.grammar.numbers import level, resamples, seed


def add(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "score",
        "score a file of texts by metrics, with bootstrap intervals",
        "loquent score --metrics rouge,bleu predictions.jsonl references.jsonl --json",
        "loquent score --metrics rouge,meteor predictions.txt first.txt second.txt rouge.stem=false "
        "--samples scores.jsonl",
        "loquent score --metrics plain=rouge,stemmed=rouge predictions.txt references.txt plain.stem=false "
        "stemmed.stem=true --interval bca",
        "loquent score --metrics my_metrics:Politeness predictions.jsonl --resamples 0",
    )
    parser.add_argument(
        "predictions",
        metavar="PREDICTIONS",
        help="JSON lines with `text` (.jsonl), or plain text, one prediction per line; either may end in .gz",
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="REFERENCES|METRIC.key=value",
        help="JSON lines with `references`, a list of texts, or plain text, one reference per line; several "
        "files add up. Also options of metrics",
    )
    parser.add_argument(
        "--metrics",
        required=True,
        metavar="METRIC,...",
        help="names (loquent list metrics) or module:Name; NAME=METRIC puts NAME before its keys",
    )
    parser.add_argument(
        "--samples", metavar="FILE", help="write the scores of each sample to this file, as JSON lines"
    )
    _intervals(parser)
    parser.set_defaults(files_behind=True)


def _intervals(parser: Any) -> None:
    """Add the arguments of the bootstrap intervals."""
    parser.add_argument(
        "--resamples",
        type=resamples,
        default=1000,
        metavar="N",
        help="bootstrap samples for the intervals (default 1000); 0: no intervals",
    )
    parser.add_argument(
        "--interval",
        choices=["percentile", "bca"],
        default="percentile",
        help="the kind of bootstrap interval (default percentile)",
    )
    parser.add_argument(
        "--level",
        type=level,
        default=0.95,
        metavar="P",
        help="the confidence level of the intervals (default 0.95)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="the seed of the draws (default 0)")
