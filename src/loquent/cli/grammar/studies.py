"""The commands about people's judgements: study, reward."""

from __future__ import annotations

from typing import Any

from loquent.cli.grammar.arguments import command
from loquent.cli.grammar.numbers import positive, seed, share


def add(commands: Any) -> None:
    """Add these commands."""
    _study(commands)
    _reward(commands)


def _reward(commands: Any) -> None:
    parser = command(
        commands,
        "reward",
        "train a reward model on preferences, as a reward for recipes; run again, it continues",
        "loquent reward preferences.jsonl --out rewards/reviews",
        "loquent reward study path=runs/base learning_rate=1e-4 --out rewards/reviews",
        "loquent train reviews_ppo rewards.preference_model.path=rewards/reviews",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE|key=value",
        help="preferences with their texts (.jsonl or .csv), or a prepared folder of `loquent study`; also "
        "settings, such as objective=good_bad",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder of the model")
    parser.set_defaults(overrides=[], files_behind=True)


def _study(commands: Any) -> None:
    parser = command(
        commands,
        "study",
        "print agreement and tests of people's judgements; prepare blinded sheets of runs to be judged",
        "loquent study ratings.csv --out study.html",
        "loquent study prepare runs/ppo runs/nlpo --out study --question coherence --question sentiment",
        "loquent study study --out study.html",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="judgements (.jsonl or .csv), or a prepared folder; or the word prepare and the folders of runs",
    )
    parser.add_argument(
        "--out", metavar="PATH", help="the page to write; of prepare: the folder for the sheets"
    )
    parser.add_argument("--level", type=share, metavar="SHARE", help="the level of intervals (default 0.95)")
    parser.add_argument("--seed", type=seed, default=0, help="the seed of draws and of orders (default 0)")
    _of_prepare(parser)


def _of_prepare(parser: Any) -> None:
    """Add the arguments of `prepare`."""
    parser.add_argument("--rows", type=positive, metavar="N", help="of prepare: rows to judge (default 100)")
    parser.add_argument(
        "--raters", type=positive, metavar="N", help="of prepare: sheets, one a rater (default 3)"
    )
    parser.add_argument(
        "--question",
        action="append",
        default=[],
        metavar="NAME",
        help="of prepare: a column to fill in; may be repeated (default rating, with --pairs preference)",
    )
    parser.add_argument(
        "--salt",
        metavar="TEXT",
        help="of prepare: the salt in the key.json of a study, for its orders and sides (default: random)",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="of prepare: two answers side by side, to choose between"
    )
