"""`loquent reward`: trains a reward model on preferences; run again, a stopped training continues."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.cli.grammar.options import REQUIRED, CommandOptions, argument, option
from loquent.core.guards import json_files
from loquent.core.guards.terminal import line
from loquent.core.options import COMMAND_LINE, Node, fill
from loquent.files.names import REPORT
from loquent.training import by_name


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent reward`."""

    examples = (
        "loquent reward preferences.jsonl --out rewards/reviews",
        "loquent reward study path=runs/base learning_rate=1e-4 --out rewards/reviews",
        "loquent train reviews_ppo rewards.preference_model.path=rewards/reviews",
    )
    files: tuple[str, ...] = argument(
        "FILE|key=value",
        "preferences with their texts (.jsonl or .csv), or a prepared folder of `loquent study`; also "
        "settings, such as objective=good_bad",
    )
    out: str = option(REQUIRED, "DIR", "the folder of the model")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Train, print the texts and tables of its page, and write the folder of the model."""
    from tqdm import tqdm

    from loquent.bench.preferences import page
    from loquent.bench.preferences.training import train
    from loquent.data.preferences import pairs
    from loquent.files.machine import launch
    from loquent.metrics.judges.card import CARD
    from loquent.metrics.judges.reward_models.settings import RewardModelSettings

    files, of_model = _split(options.files)
    nodes = Node(by_name.parse_options(of_model, ""), COMMAND_LINE, None)
    settings: RewardModelSettings = fill(RewardModelSettings, nodes, "reward")
    judged = pairs.read(files, settings.question)
    with tqdm(desc="training", disable=None, leave=False, file=sys.stderr) as bar:

        def after_step(step: int, steps: int) -> None:
            bar.total = steps
            bar.update(step - bar.n)

        trained = train(judged, settings, Path(options.out), after_step)
    if launch.assists():
        return 0, {}
    print(page.markdown(json_files.load_object(trained.folder / CARD)))
    print(f"the report is {line(str(trained.folder / REPORT))}")
    print(f"as a reward: rewards.preference_model.path={line(str(trained.folder))}")
    return 0, {
        "folder": str(trained.folder),
        "judgements": judged.judgements,
        "undecided": judged.undecided,
        "training": len(trained.division.training),
        "left_out": trained.division.left_out,
        "quality": trained.quality.as_json(),
    }


def _split(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files, and the settings `key=value`."""
    options = [word for word in words if "=" in word and not Path(word).exists()]
    return [Path(word) for word in words if word not in options], options
