"""The grammar of the command line: each command, its arguments, and which values they take."""

from __future__ import annotations

import argparse
from typing import Any

from loquent.machine.version import __version__

OPTIONS = "an option of the task, as key=value, or of the agent, as agent.key=value; may be given again"


def parser() -> argparse.ArgumentParser:
    """The whole grammar of the command line; builds no task and imports no library."""
    top = argparse.ArgumentParser(
        prog="loquent",
        description="Reinforcement learning meets language: write a task once, play it with any agent.",
    )
    top.add_argument("--version", action="version", version=f"loquent {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    _runs(commands)
    _games(commands)
    _annotation(commands)
    _scores(commands)
    _names(commands)
    return top


def _runs(commands: Any) -> None:
    quickstart = _command(
        commands,
        "quickstart",
        "train and compare five methods on the built-in reviews, in minutes",
        "loquent quickstart --out runs/quickstart",
    )
    quickstart.add_argument("--out", required=True, metavar="DIR", help="where runs and the table go")
    quickstart.add_argument(
        "--seeds",
        type=_positive,
        default=1,
        metavar="N",
        help="runs of every method; means and deviations from 2 on (default 1)",
    )
    _overrides(quickstart)
    _profile(quickstart)

    train = _command(
        commands,
        "train",
        "train what a recipe describes",
        "loquent train reviews_ppo model.path=runs/base --out runs/ppo",
    )
    train.add_argument(
        "recipe", metavar="RECIPE", help="a recipe's name (loquent list recipes) or a YAML file"
    )
    _overrides(train)
    train.add_argument("--out", metavar="DIR", help="the run's folder (default runs/RECIPE)")
    train.add_argument(
        "--dry-run",
        action="store_true",
        help="print what it would need (parameters, memory, disk, time) and train nothing",
    )
    train.add_argument(
        "--seeds",
        type=_positive,
        metavar="N",
        help="train N runs, DIR/seed-0 and so on, and print means and deviations",
    )
    _imports(train, "a recipe")
    _profile(train)

    bench = _command(
        commands,
        "bench",
        "run a suite of recipes into tables with intervals; goes on where it was stopped",
        "loquent bench imdb-ablations --profile cpu --out runs/ablations",
    )
    bench.add_argument("suite", metavar="SUITE", help="a suite's name (loquent list suites) or a YAML file")
    bench.add_argument(
        "overrides",
        nargs="*",
        metavar="[NAME:]key.path=value",
        help="settings of all stages and cells, or of the one named",
    )
    bench.add_argument(
        "--profile",
        metavar="PROFILE",
        help="a size of the suite (default its first); smoke: two tiny updates of every run",
    )
    bench.add_argument(
        "--seeds", type=_positive, metavar="N", help="runs of every cell (default: the profile's number)"
    )
    bench.add_argument("--only", metavar="CELL,...", help="these cells alone, and what they start from")
    bench.add_argument(
        "--processes",
        type=_positive,
        metavar="P",
        help="runs made at once (default: the profile's number, or one a core)",
    )
    bench.add_argument("--out", metavar="DIR", help="where runs and tables go (default runs/SUITE)")
    _imports(bench, "a suite or a recipe")

    resume = _command(commands, "resume", "go on with a run that was stopped", "loquent resume runs/ppo")
    resume.add_argument(
        "run",
        metavar="RUN",
        help="the run's folder, or the folder of `train --seeds`; checkpoints come with "
        "training.checkpoint_every",
    )
    resume.add_argument(
        "--from-older",
        action="store_true",
        help="where the newest checkpoint is refused, go on from an older one",
    )
    _imports(resume, "a run")

    report = _command(
        commands,
        "report",
        "write one page about one run or several, to be read in any browser",
        "loquent report runs/ppo runs/nlpo --out ppo-nlpo.html",
    )
    report.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run's folder, or a folder of runs; runs that differ in their seed alone are drawn together",
    )
    report.add_argument(
        "--out", required=True, metavar="FILE", help="the page, one file that needs no network"
    )

    evaluate = _command(
        commands,
        "evaluate",
        "play held-out rows and print scores with their errors",
        "loquent evaluate runs/ppo --episodes 500",
    )
    _player(evaluate)
    evaluate.add_argument(
        "--task", metavar="TASK", help="the task, when WHO is no run or another task is wanted"
    )
    evaluate.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=OPTIONS)
    evaluate.add_argument("--split", default="test", help="the split the rows come from (default test)")
    evaluate.add_argument(
        "--episodes", type=_positive, default=200, metavar="N", help="games to play (default 200)"
    )
    evaluate.add_argument("--seed", type=_seed, default=0, help="the seed of the games (default 0)")
    _imports(evaluate, "a run")

    generate = _command(
        commands,
        "generate",
        "print what a trained model says",
        'loquent generate runs/ppo --prompt "the film was"',
    )
    generate.add_argument("model", metavar="MODEL", help="a run's folder, or a Hugging Face name or folder")
    generate.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="TEXT",
        help="what to continue; may be given again (default: rows of the run's task)",
    )
    generate.add_argument(
        "--number",
        type=_positive,
        default=4,
        metavar="N",
        help="texts to print for every prompt, or rows to take (default 4)",
    )
    generate.add_argument("--seed", type=_seed, default=0, help="the seed of the draws (default 0)")
    generate.add_argument(
        "--max-new-tokens", type=_positive, metavar="N", help="the longest answer in tokens"
    )
    _imports(generate, "a run")

    values = _command(
        commands,
        "values",
        "print what a run's values hold of recorded episodes: the best and worst utterances, or "
        "whether Q ranks the better answers higher",
        "loquent values runs/ilql data/wordle --ngram 2",
        "loquent values runs/ilql data/expert --against data/random --answer 1",
    )
    values.add_argument("run", metavar="RUN", help="the folder of a run that has learned values")
    values.add_argument(
        "data", metavar="DATA", help="a file of episodes, or a folder that `loquent collect` made"
    )
    values.add_argument(
        "--number",
        type=_positive,
        default=10,
        metavar="K",
        help="texts to print of the best and of the worst (default 10)",
    )
    values.add_argument(
        "--ngram", type=_positive, metavar="N", help="look at runs of N tokens instead of whole utterances"
    )
    values.add_argument(
        "--least",
        type=_positive,
        default=1,
        metavar="N",
        help="leave out what was said less often (default 1)",
    )
    values.add_argument(
        "--against",
        metavar="DATA",
        help="rank instead: DATA holds the better answers, this the others, in states that both met",
    )
    values.add_argument(
        "--answer",
        type=_positive,
        metavar="N",
        help="with --against: only the N-th answer of a game, from 1 (default any)",
    )
    values.add_argument(
        "--draws",
        type=_positive,
        default=1000,
        metavar="N",
        help="with --against: pairs to draw (default 1000)",
    )
    values.add_argument(
        "--seed", type=_seed, default=0, help="with --against: the seed of the draws (default 0)"
    )
    _imports(values, "a run")

    export = _command(
        commands,
        "export",
        "copy a run's model into an ordinary Hugging Face folder",
        "loquent export runs/ppo exported",
    )
    export.add_argument("run", metavar="RUN", help="a run's folder")
    export.add_argument("folder", metavar="FOLDER", help="a new or empty folder")


def _games(commands: Any) -> None:
    play = _command(
        commands,
        "play",
        "play a task at this terminal, or watch an agent play it",
        "loquent play wordle --option rule=official",
    )
    _task(play)
    play.add_argument(
        "--agent",
        metavar="AGENT",
        help="who plays: you (default), an agent's name, module:Class, a run's or a model's folder",
    )
    play.add_argument(
        "--replay",
        metavar="FILE",
        help="show a game recorded in this JSONL file, played again word for word, in place of a new one",
    )
    play.add_argument(
        "--game",
        type=_positive,
        default=1,
        metavar="N",
        help="which game of the file --replay shows (default 1, the first)",
    )
    play.add_argument("--row", metavar="ID", help="the row to play (default: one drawn by the seed)")
    play.add_argument("--save", metavar="FILE", help="append the episode to this JSONL file")
    _imports(play, "a run")

    collect = _command(
        commands,
        "collect",
        "play many games into a dataset of episodes; goes on where it was stopped",
        "loquent collect wordle --agent random --episodes 1000 --out data/wordle",
        "loquent collect wordle --design branching design.rollouts=2 --agent expert --suboptimal "
        "random --episodes 100 --out data/branching",
    )
    _task(collect)
    collect.add_argument(
        "--agent",
        metavar="AGENT",
        help="who plays: an agent's name, module:Class, a run's or a model's folder",
    )
    collect.add_argument(
        "--design",
        metavar="DESIGN",
        help="games (default), branching, adversarial or tweets; its options stand as design.key=value "
        "(docs/data.md)",
    )
    collect.add_argument(
        "--suboptimal",
        metavar="AGENT",
        help="designs branching and adversarial: who plays beside the expert, who is --agent",
    )
    collect.add_argument(
        "--adversary",
        metavar="AGENT",
        help="design adversarial: who takes over in the middle of the expert's games",
    )
    collect.add_argument(
        "--episodes",
        required=True,
        type=_positive,
        metavar="N",
        help="games to play, not counting what a design plays beside them",
    )
    collect.add_argument(
        "--out", required=True, metavar="DIR", help="the dataset's folder; holds episodes.jsonl at the end"
    )
    collect.add_argument(
        "--processes",
        type=_positive,
        default=1,
        metavar="P",
        help="games are shared out over so many processes (default 1)",
    )
    _imports(collect, "a run")

    convert = _command(
        commands,
        "convert",
        "episodes from one form into another (JSON lines, Parquet, datasets, Minari), all or a part",
        "loquent convert data/wordle wordle.parquet",
        "loquent convert data/wordle best.jsonl --top 0.1",
        "loquent convert wordle.parquet minari/wordle-v0 --to minari",
    )
    convert.add_argument(
        "source",
        metavar="SOURCE",
        help="a collection's folder, a .jsonl or .parquet file, a folder of datasets or of Minari",
    )
    convert.add_argument(
        "target",
        metavar="TARGET",
        help="a new file or folder; a name that ends in .jsonl or .parquet says its form",
    )
    convert.add_argument(
        "--to",
        choices=["jsonl", "parquet", "datasets", "minari"],
        help="the form of TARGET, where its name does not say it",
    )
    convert.add_argument(
        "--top",
        type=_share,
        default=1.0,
        metavar="SHARE",
        help="keep this share of the episodes, the best by return",
    )
    convert.add_argument(
        "--bottom", type=_share, default=1.0, metavar="SHARE", help="keep this share, the worst; before --top"
    )
    convert.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="keep episodes of this kind (expert, adversarial, ...); may be given again",
    )
    convert.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="the weight of a reward (default: the weights of the run, or the task's own)",
    )

    check = _command(
        commands,
        "check",
        "run the laws of the contract on a task, one's own included",
        "loquent check my_task:Echo",
        "loquent check wordle",
    )
    check.add_argument("task", metavar="TASK", help="a task's name (loquent list tasks) or module:Class")
    _options(check, "options of the task")
    check.add_argument(
        "--episodes", type=_positive, default=20, metavar="N", help="games per law (default 20)"
    )


def _annotation(commands: Any) -> None:
    annotate = _command(
        commands,
        "annotate",
        "correct what an agent suggests, sample by sample, while it learns on",
        "loquent annotate tagging_ppo --samples sentences.jsonl --out runs/annotated",
    )
    annotate.add_argument(
        "recipe",
        metavar="RECIPE",
        help="a recipe of a learner of actions (algorithm.kind sb3/...): a name or a YAML file",
    )
    _overrides(annotate)
    annotate.add_argument(
        "--samples",
        metavar="FILE",
        help="what is to be annotated, JSON lines (default: the rows of training.split, their labels hidden)",
    )
    annotate.add_argument(
        "--oracle", action="store_true", help="the samples' own annotations correct, in place of a person"
    )
    annotate.add_argument(
        "--weight",
        type=_weight,
        default=1.0,
        metavar="W",
        help="of what is annotated, for training.priority (default 1)",
    )
    annotate.add_argument("--limit", type=_positive, metavar="N", help="leave after N samples")
    annotate.add_argument(
        "--out",
        metavar="DIR",
        help="the session's folder (default runs/RECIPE-annotation); a session that is there goes on",
    )
    _imports(annotate, "a recipe")
    _profile(annotate)


def _scores(commands: Any) -> None:
    score = _command(
        commands,
        "score",
        "score a file of texts by metrics, with bootstrap intervals",
        "loquent score --metrics rouge,bleu predictions.jsonl references.jsonl --json",
        "loquent score --metrics rouge,meteor said.txt first.txt second.txt rouge.stem=false "
        "--samples scores.jsonl",
        "loquent score --metrics plain=rouge,stemmed=rouge said.txt right.txt plain.stem=false "
        "stemmed.stem=true --interval bca",
        "loquent score --metrics my_metrics:Politeness said.jsonl --resamples 0",
    )
    score.add_argument(
        "predictions",
        metavar="PREDICTIONS",
        help="JSON lines with `text` (.jsonl), or plain text, one a line; or .gz of either",
    )
    score.add_argument(
        "overrides",
        nargs="*",
        metavar="REFERENCES|METRIC.key=value",
        help="JSON lines with `references`, a list of texts, or plain text, one a line; several files "
        "add up. And options of metrics",
    )
    score.add_argument(
        "--metrics",
        required=True,
        metavar="METRIC,...",
        help="names (loquent list metrics) or module:Name; NAME=METRIC puts NAME before its keys",
    )
    score.add_argument(
        "--samples", metavar="FILE", help="write the scores of each sample here, as JSON lines"
    )
    score.add_argument(
        "--resamples",
        type=_resamples,
        default=1000,
        metavar="N",
        help="draws of all samples for the intervals (default 1000); 0: no intervals",
    )
    score.add_argument(
        "--interval",
        choices=["percentile", "bca"],
        default="percentile",
        help="how they are made (default percentile)",
    )
    score.add_argument(
        "--level",
        type=_level,
        default=0.95,
        metavar="P",
        help="the probability they are made for (default 0.95)",
    )
    score.add_argument("--seed", type=_seed, default=0, help="the seed of the draws (default 0)")
    score.set_defaults(files_behind=True)


def _names(commands: Any) -> None:
    listing = _command(commands, "list", "list what there is by name", "loquent list tasks")
    listing.add_argument(
        "kind",
        choices=["tasks", "algorithms", "agents", "rewards", "metrics", "featurizers", "recipes", "suites"],
    )

    show = _command(
        commands, "show", "print a recipe with every default written out", "loquent show reviews_ppo"
    )
    show.add_argument("recipe", metavar="RECIPE", help="a recipe's name, a YAML file, or the folder of a run")
    _imports(show, "a recipe")
    _overrides(show)

    converted = _command(
        commands,
        "import",
        "turn another library's settings into a recipe, each key taken over or reported",
        "loquent import rl4lms gpt2_nlpo.yml",
    )
    converted.add_argument("library", choices=["rl4lms"], help="whose settings they are")
    converted.add_argument("file", metavar="FILE", help="a YAML file of RL4LMs")
    converted.add_argument(
        "--out", metavar="RECIPE", help="the recipe's file (default: the file's name with .yaml, here)"
    )
    converted.add_argument(
        "--accept-changes",
        action="store_true",
        help="write a recipe although its objective or its algorithm is another",
    )

    described = _command(
        commands,
        "help",
        "say what a setting means, its default, range and source",
        "loquent help clip",
        "loquent help nlpo",
    )
    described.add_argument("setting", metavar="SETTING", help="a setting, an algorithm or a task")


def _command(commands: Any, name: str, what: str, *examples: str) -> argparse.ArgumentParser:
    lines = "\n  ".join(examples)
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=f"example:\n  {lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    made.set_defaults(command=name)
    return made


def _imports(command: argparse.ArgumentParser, where: str = "a recipe or a run") -> None:
    command.add_argument(
        "--allow-imports",
        action="store_true",
        help=f"let code that the file of {where} names be imported, also from outside the current folder "
        "(docs/running-others-recipes.md)",
    )


def _overrides(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "overrides", nargs="*", metavar="key.path=value", help="settings that replace the recipe's"
    )


def _profile(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--profile", choices=["smoke"], help="smoke: two tiny updates, to see that everything runs"
    )


def _player(command: argparse.ArgumentParser) -> None:
    command.add_argument("who", metavar="WHO", help="a run's folder, a model's folder, or an agent's name")


def _options(
    command: argparse.ArgumentParser, what: str = "options of the task, or agent.key=value of the agent"
) -> None:
    command.add_argument("overrides", nargs="*", metavar="task.key=value", help=what)
    command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=OPTIONS)


def _task(command: argparse.ArgumentParser) -> None:
    command.add_argument("task", metavar="TASK", help="a task's name (loquent list tasks) or module:Class")
    _options(command)
    command.add_argument("--split", default="train", help="the split the rows come from (default train)")
    command.add_argument("--seed", type=_seed, default=0, help="the seed of the games (default 0)")


def _positive(text: str) -> int:
    return _whole(text, 1)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share in (0, 1]")
    return share


def _seed(text: str) -> int:
    return _whole(text, 0)


def _resamples(text: str) -> int:
    number = _whole(text, 0)
    if 0 < number < 100:
        raise argparse.ArgumentTypeError(
            f"{text!r} draws say too little: 0 for no intervals, or at least 100"
        )
    return number


def _level(text: str) -> float:
    level = _share(text)
    if not 0.5 <= level <= 0.999:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0.5 and 0.999")
    return level


def _weight(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number of at least 0")
    return number


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return number
