"""`loquent reward`: trains a reward model on preferences; run again, a stopped training continues."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent.bench.preferences import pairs
from loquent.bench.preferences.settings import RewardModelSettings
from loquent.bench.preferences.training import Trained, train
from loquent.core.guards.terminal import line
from loquent.core.options import COMMAND_LINE, Node, fill
from loquent.files.names import REPORT
from loquent.training import by_name


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Train, print the figures on held-out pairs, and write the folder of the model."""
    files, options = _split([*arguments.files, *arguments.overrides])
    nodes = Node(by_name.parsed(options, ""), COMMAND_LINE, None)
    settings: RewardModelSettings = fill(RewardModelSettings, nodes, "reward")
    judged = pairs.read(files, settings.question)
    with tqdm(desc="training", disable=None, leave=False, file=sys.stderr) as bar:

        def after_step(step: int, steps: int) -> None:
            bar.total = steps
            bar.update(step - bar.n)

        trained = train(judged, settings, Path(arguments.out), after_step)
    _print(judged, trained)
    return 0, {
        "folder": str(trained.folder),
        "judgements": judged.judgements,
        "undecided": judged.undecided,
        "training": len(trained.division.training),
        "left_out": trained.division.left_out,
        "quality": trained.quality.as_json(),
    }


def _split(words: list[str]) -> tuple[list[Path], list[str]]:
    """The files, and the settings `key=value`."""
    options = [word for word in words if "=" in word and not Path(word).exists()]
    return [Path(word) for word in words if word not in options], options


def _print(judged: pairs.Pairs, trained: Trained) -> None:
    quality, division = trained.quality, trained.division
    print(
        f"{judged.judgements:,} judgements: {len(division.training):,} pairs to train on, {quality.pairs:,} "
        f"held out ({judged.undecided:,} without a majority, {division.left_out:,} with a text of a held-out "
        "pair)"
    )
    for name, value, bounds in (
        ("accuracy", quality.accuracy, quality.accuracy_bounds),
        ("ROC-AUC", quality.roc_auc, quality.roc_auc_bounds),
    ):
        interval = (
            "" if bounds.low is None or bounds.high is None else f" [{bounds.low:.3f}, {bounds.high:.3f}]"
        )
        print(f"  {name:<17}  {value:.3f}{interval}")
    print(f"  {'calibration error':<17}  {quality.calibration_error:.3f}")
    print(f"the report is {line(str(trained.folder / REPORT))}")
    print(f"as a reward: rewards.preference_model.path={line(str(trained.folder))}")
