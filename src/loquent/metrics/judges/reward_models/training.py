"""Training of a reward model on pairs of texts; a run that is killed and run again gives the same model.

The folder of a model is a Hugging Face folder with two more files: `card.json`, which is written last, and
`report.html`. While it is trained the folder has a checkpoint alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch

from loquent.core.seeding import Key
from loquent.data.preferences.pair import Pair, Pairs
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.files.machine import parallel
from loquent.files.machine.identity import machine
from loquent.files.names import REPORT
from loquent.metrics.judges import card, checkpoint
from loquent.metrics.judges.reward_models import losses, network
from loquent.metrics.judges.reward_models.measuring import Quality, Scored, quality
from loquent.metrics.judges.reward_models.note import BRADLEY_TERRY, KIND, is_reward_model
from loquent.metrics.judges.reward_models.pairs import Division, divide
from loquent.metrics.judges.reward_models.settings import RewardModelSettings
from loquent.metrics.judges.trainer import Lessons, Trainer
from loquent.metrics.text import judged_texts
from loquent.pretrained import ClassifierNetwork, evaluating, save

TOKENS = 8192  # of a forward pass without gradients
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Trained:
    """A finished model: its folder, how good it is on held-out pairs, and the loss by epoch."""

    folder: Path
    quality: Quality
    history: list[dict[str, float]]
    division: Division


def train(
    pairs: Pairs,
    settings: RewardModelSettings,
    folder: Path,
    after_step: Step = lambda step, steps: None,
    *,
    page: Callable[[Mapping[str, Any]], str],
    find: Callable[[str], str | Path] = str,
) -> Trained:
    """Train a reward model, and write its folder; a checkpoint there is continued.

    Inside a `parallel.process_group` the processes train it together; the first one writes.

    Args:
        after_step: called with the number of the step and of all steps, for a progress bar.
        page: the text of `report.html` from the content of the card.
        find: the model of `settings.path`, as a folder or a Hugging Face name.

    Raises:
        BadSetting: the folder holds a finished model, or there are too few pairs.
        AnotherRun: the checkpoint is of other settings, pairs or another machine.
        BadModel, BadCheckpoint: the network to start from cannot be loaded.
        LoquentError: the gradient is not finite.
    """
    if is_reward_model(folder):
        raise BadSetting(f"{folder} holds a reward model already; name another folder")
    if settings.objective != BRADLEY_TERRY and any(pair.margin for pair in pairs.pairs):
        what = f"the pairs have a margin, and objective = {settings.objective} has none"
        raise BadSetting(f"{what}; set objective to {BRADLEY_TERRY}, or remove the margins")
    division = divide(pairs.pairs, settings.held_out, settings.shared_texts)
    key = Key(settings.seed, ("reward model",))
    made = network.make(settings, texts_of(division.training, settings), key.child("network"), find)
    scorer = _Scorer(made, division, settings)
    trainer = Trainer(made.module, scorer.lessons(), settings, key)
    of = {
        "settings": asdict(settings) | {"device": ""},
        "pairs": pairs.digest,
        "machine": {name: x for name, x in machine(made.module.device).items() if name != "processes"},
    }
    if (saved := checkpoint.read(folder, of)) is not None:
        trainer.load_state_dict(saved)
    parallel.total(0.0)  # all have read the checkpoint before the first process deletes it
    for step in trainer.steps():
        if step % settings.checkpoint_every == 0 and not parallel.rank():
            checkpoint.write(folder, of | trainer.state_dict())
        after_step(step, trainer.count)
    return _finish(folder, scorer, pairs, trainer.history, page)


@dataclass(frozen=True)
class _Scorer:
    """A network, and the pairs that it learns from and is measured on."""

    network: ClassifierNetwork
    division: Division
    settings: RewardModelSettings

    def lessons(self) -> Lessons:
        """The losses of training pairs; after an epoch the loss and the accuracy of the held-out pairs."""
        training = self.division.training
        rows = self.network.encode(texts_of(training, self.settings))[0]

        def of_pairs(numbers: Sequence[int]) -> torch.Tensor:
            batch = [rows[i] for i in numbers] + [rows[len(training) + i] for i in numbers]
            return self.loss(self.network.forward(batch).float(), [training[i] for i in numbers])

        def held_out() -> dict[str, float]:
            scored = self.scores(self.division.held_out)
            return {"loss": scored.loss, "accuracy": scored.accuracy}

        return Lessons(len(training), of_pairs, held_out)

    def loss(self, logits: torch.Tensor, pairs: Sequence[Pair]) -> torch.Tensor:
        margin = torch.tensor([pair.margin for pair in pairs], dtype=logits.dtype, device=logits.device)
        centre = self.settings.center_rewards_coefficient
        return losses.loss(logits, self.settings.objective, margin, centre)

    def scores(self, pairs: Sequence[Pair]) -> Scored:
        """The scores of the chosen and of the rejected texts, without dropout."""
        with evaluating(self.network.module):
            logits = self.network.logits(texts_of(pairs, self.settings), token_budget=TOKENS)
        loss = float(self.loss(torch.from_numpy(logits), pairs).mean())
        scores = losses.score(torch.from_numpy(logits)).numpy()
        return Scored(scores[: len(pairs)], scores[len(pairs) :], loss)


def _finish(
    folder: Path,
    scorer: _Scorer,
    pairs: Pairs,
    history: list[dict[str, float]],
    page: Callable[[Mapping[str, Any]], str],
) -> Trained:
    """Measure the model, and write its folder; of several processes the first one writes."""
    division, settings = scorer.division, scorer.settings
    training = scorer.scores(division.training)
    measured = quality(scorer.scores(division.held_out), division.held_out)
    if parallel.rank():
        return Trained(folder, measured, history, division)
    save(cast(Any, scorer.network), folder)
    content = {
        "objective": settings.objective,
        "include_prompt": settings.include_prompt,
        "mean": float(training.all.mean()),
        "settings": asdict(settings),
        "pairs": {
            "digest": pairs.digest,
            "judgements": pairs.judgements,
            "undecided": pairs.undecided,
            "training": len(division.training),
            "held_out": len(division.held_out),
            "left_out": division.left_out,
        },
        "training_accuracy": training.accuracy,
        "history": history,
        "quality": measured.as_json(),
    }
    atomic.write_text(folder / REPORT, page(content))
    card.write(folder, KIND, content, unread=(REPORT, checkpoint.FILE))
    (folder / checkpoint.FILE).unlink(missing_ok=True)
    return Trained(folder, measured, history, division)


def texts_of(pairs: Sequence[Pair], settings: RewardModelSettings) -> list[str]:
    """The texts that the network reads: all chosen ones, then all rejected ones in the same order."""
    prompts = [one.prompt for one in pairs] * 2
    answers = [one.chosen for one in pairs] + [one.rejected for one in pairs]
    return judged_texts(answers, prompts, settings.include_prompt)
