"""Training of a reward model that may start from the policy of a run, with its page."""

from __future__ import annotations

from pathlib import Path

from loquent.bench.preferences import page
from loquent.data.preferences.pair import Pairs
from loquent.files.machine import parallel
from loquent.files.machine.launch import PATIENCE
from loquent.metrics.judges.reward_models import training
from loquent.metrics.judges.reward_models.settings import RewardModelSettings
from loquent.metrics.judges.reward_models.training import Step, Trained
from loquent.pretrained import device
from loquent.training.policies import policy_folder


def train(
    pairs: Pairs, settings: RewardModelSettings, folder: Path, after_step: Step = lambda step, steps: None
) -> Trained:
    """Train a reward model by `judges.reward_models.training.train`, and write its folder and its page.

    The processes that `torchrun` has started train it together.
    """
    with parallel.process_group(device(settings.device), PATIENCE):
        return training.train(pairs, settings, folder, after_step, page=page.html, find=_model)


def _model(path: str) -> str | Path:
    return policy_folder(path) if Path(path).is_dir() else path
