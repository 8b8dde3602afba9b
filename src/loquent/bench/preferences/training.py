"""Training of a reward model on pairs of texts; a run that is killed and run again gives the same model.

The folder of a model is a Hugging Face folder with two more files: `reward.json`, which is written last, and
`report.html`. While it is trained the folder has a checkpoint alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import torch

from loquent.bench.preferences import checkpoint, losses, network
from loquent.bench.preferences.chosen import Pair
from loquent.bench.preferences.measuring import Quality, Scored, quality
from loquent.bench.preferences.pairs import Division, Pairs, divided
from loquent.bench.preferences.settings import RewardModelSettings
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import atomic, saved_state
from loquent.files.machine.identity import machine
from loquent.files.names import REPORT
from loquent.metrics.semantic.preference_model import BRADLEY_TERRY, NOTE
from loquent.metrics.text import judged
from loquent.pretrained import ClassifierNetwork, evaluating, save
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means, trainable

FORMAT = 1
TOKENS = 8192  # of a forward pass without gradients
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Trained:
    """A finished model: its folder, how good it is on held-out pairs, and the loss by epoch."""

    folder: Path
    quality: Quality
    history: list[dict[str, float]]
    division: Division


@dataclass
class _State:
    """What a checkpoint keeps beside weights and optimizer."""

    total: float = 0.0  # of the losses of this epoch's steps
    history: list[dict[str, float]] = field(default_factory=list)


def train(
    pairs: Pairs, settings: RewardModelSettings, folder: Path, after_step: Step = lambda step, steps: None
) -> Trained:
    """Train a reward model, and write its folder; a checkpoint there is continued.

    Args:
        after_step: called with the number of the step and of all steps, for a progress bar.

    Raises:
        BadSetting: the folder holds a finished model, or there are too few pairs.
        AnotherRun: the checkpoint is of other settings, pairs or another machine.
        BadModel, BadCheckpoint: the network to start from cannot be loaded.
        LoquentError: the gradient is not finite.
    """
    if (folder / NOTE).exists():
        raise BadSetting(f"{folder} holds a reward model already; name another folder")
    if settings.objective != BRADLEY_TERRY and any(pair.margin for pair in pairs.pairs):
        what = f"the pairs have a margin, and objective = {settings.objective} has none"
        raise BadSetting(f"{what}; set objective to {BRADLEY_TERRY}, or remove the margins")
    division = divided(pairs.pairs, settings.held_out, settings.shared_texts)
    learner = _Learner(settings, division, folder, pairs.digest)
    for step in learner.steps():
        after_step(step, learner.count)
    return learner.finish(pairs)


class _Learner:
    """A network that learns from the training pairs of a division."""

    def __init__(self, settings: RewardModelSettings, division: Division, folder: Path, digest: str) -> None:
        self.settings, self.division, self.folder = settings, division, folder
        self.key = Key(settings.seed, ("reward model",))
        sides = texts_of(division.training, settings)
        self.network = network.make(settings, sides, self.key.child("network"))
        self.rows = self.network.encode(sides)[0]
        whole = settings.for_run(1, len(division.training))
        module = self.network.module
        self.gradient = GradientStep(trainable(network=module), whole, self.key, (module,))
        self.count = settings.steps_of_update(len(division.training))
        self.per_epoch = self.count // settings.epochs
        self.of = {
            "settings": asdict(settings) | {"device": ""},
            "pairs": digest,
            "machine": machine(self.network.module.device),
        }
        self.state = _State()
        saved = checkpoint.read(folder, self.of)
        if saved is not None:
            self._restore(saved)

    def steps(self) -> Iterator[int]:
        """Make all steps that are left, and yield the number of each after it."""
        while self.gradient.steps < self.count:
            epoch, place = divmod(self.gradient.steps, self.per_epoch)
            order = self.key.child("order", epoch).generator().permutation(len(self.division.training))
            size = self.settings.minibatch
            self.state.total += self._step([int(i) for i in order[place * size : (place + 1) * size]])
            if self.gradient.steps % self.per_epoch == 0:
                self._end_epoch(epoch + 1)
            if self.gradient.steps % self.settings.checkpoint_every == 0:
                self._save()
            yield self.gradient.steps

    def finish(self, pairs: Pairs) -> Trained:
        """Measure the model, and write its folder."""
        from loquent.bench.preferences import page

        training = self._scores(self.division.training)
        mean = float(training.all.mean())
        measured = quality(self._scores(self.division.held_out), self.division.held_out)
        save(cast(Any, self.network), self.folder)
        trained = Trained(self.folder, measured, self.state.history, self.division)
        note = {
            "format": FORMAT,
            "objective": self.settings.objective,
            "include_prompt": self.settings.include_prompt,
            "mean": mean,
            "settings": asdict(self.settings),
            "pairs": {
                "digest": pairs.digest,
                "judgements": pairs.judgements,
                "undecided": pairs.undecided,
                "training": len(self.division.training),
                "held_out": len(self.division.held_out),
                "left_out": self.division.left_out,
            },
            "training_accuracy": training.accuracy,
            "history": self.state.history,
            "quality": measured.as_json(),
        }
        atomic.write_text(self.folder / REPORT, page.html(note))
        atomic.write_json(self.folder / NOTE, note)
        (self.folder / checkpoint.FILE).unlink(missing_ok=True)
        return trained

    def _step(self, chosen: Sequence[int]) -> float:
        """One gradient step on the pairs of these numbers; returns its loss."""
        count, means = len(self.division.training), Means()

        def loss(numbers: Sequence[int]) -> Loss:
            batch = [self.rows[i] for i in numbers] + [self.rows[count + i] for i in numbers]
            pairs = [self.division.training[i] for i in numbers]
            each = self._loss(self.network.forward(batch).float(), pairs)
            return Loss(each.sum(), {"loss": each})

        self.gradient.learn(chosen, loss, means, divisor=len(chosen))
        return means.logged()["loss"]

    def _loss(self, logits: torch.Tensor, pairs: Sequence[Pair]) -> torch.Tensor:
        margin = torch.tensor([pair.margin for pair in pairs], dtype=logits.dtype, device=logits.device)
        centre = self.settings.center_rewards_coefficient
        return losses.loss(logits, self.settings.objective, margin, centre)

    def _end_epoch(self, epoch: int) -> None:
        held_out = self._scores(self.division.held_out)
        self.state.history.append(
            {
                "epoch": epoch,
                "loss": self.state.total / self.per_epoch,
                "held_out_loss": held_out.loss,
                "held_out_accuracy": held_out.accuracy,
            }
        )
        self.state.total = 0.0

    def _scores(self, pairs: Sequence[Pair]) -> Scored:
        """The scores of the chosen and of the rejected texts, without dropout."""
        with evaluating(self.network.module):
            logits = self.network.logits(texts_of(pairs, self.settings), token_budget=TOKENS)
        loss = float(self._loss(torch.from_numpy(logits), pairs).mean())
        scores = losses.score(torch.from_numpy(logits)).numpy()
        return Scored(scores[: len(pairs)], scores[len(pairs) :], loss)

    def _save(self) -> None:
        state = self.of | {
            **self.gradient.state_dict(),
            "total": self.state.total,
            "history": self.state.history,
            "weights": dict(self.network.module.state_dict()),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        checkpoint.write(self.folder, state)

    def _restore(self, saved: dict[str, Any]) -> None:
        """Continue from the state of a checkpoint; BadCheckpoint if it does not fit the network."""
        self.state = _State(
            saved_state.number(saved, "total"),
            [dict(entry) for entry in saved_state.items(saved, "history")],
        )
        try:
            self.network.module.load_state_dict(dict(saved_state.part(saved, "weights")))
        except (RuntimeError, TypeError) as error:
            raise BadCheckpoint(f"{self.folder / checkpoint.FILE} has other weights: {error}") from error
        self.gradient.load_state_dict(saved)


def texts_of(pairs: Sequence[Pair], settings: RewardModelSettings) -> list[str]:
    """The texts that the network reads: all chosen ones, then all rejected ones in the same order."""
    prompts = [one.prompt for one in pairs] * 2
    answers = [one.chosen for one in pairs] + [one.rejected for one in pairs]
    return judged(answers, prompts, settings.include_prompt)


def load(folder: Path, device: str = "auto") -> ClassifierNetwork:
    """The network of a finished reward model."""
    from loquent.pretrained import load_classifier

    return load_classifier(folder, device=device, side="left")
