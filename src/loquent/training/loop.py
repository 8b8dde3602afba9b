"""The training loop: updates, evaluations, logs and checkpoints, until the end of the run.

The steps of one update are in `trainer.py`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import closing

from tqdm import tqdm

from loquent.core import log_keys
from loquent.core.guards.terminal import line
from loquent.core.seeding import borrow_generators
from loquent.core.settings import Remark
from loquent.data.outcomes import SUCCESS
from loquent.files import trackers
from loquent.files.final_evaluation import REWARDED
from loquent.files.machine import parallel
from loquent.files.machine.identity import machine, source_state
from loquent.files.run_remarks import RunRemarks
from loquent.rewards.quantities import rewarded_keys
from loquent.training.evaluate import Evaluation
from loquent.training.experience.cuts import cuts_of_evaluation
from loquent.training.keeping import CheckpointKeeper
from loquent.training.metrics import HELD_OUT, owners
from loquent.training.trainer import Trainer

SHOWN = ("success", "return")  # the values beside the progress bar


class TrainingLoop:
    """Makes the updates of a run in its folder, with evaluations, logs and checkpoints."""

    def __init__(self, trainer: Trainer, keeper: CheckpointKeeper, remarks: RunRemarks) -> None:
        self.remarks = remarks
        self.trainer, self.keeper, self.folder = trainer, keeper, keeper.folder
        self.recipe, self.settings = trainer.recipe, trainer.settings
        self._keys = log_keys.table(type(trainer.algorithm))
        self._evaluated_cuts = ""  # the remark on prompts that evaluation cuts
        self._idle = self.recipe.config.idle(self.settings.updates, self.settings.episodes)

    def begin(self) -> None:
        """Write the first files of a run.

        Raises:
            BadSetting: evaluation does not measure what early stopping watches.
        """
        trainer = self.trainer
        if not trainer.stopping.is_measured:
            self._check_stop_metric()
        identity = {
            "fingerprint": self.recipe.fingerprint,
            **machine(trainer.actor.device),
            "rows": trainer.held_out_rows(),
            "data": trainer.data,
            "source": source_state(),
            "player": trainer.experience.player,
            "decoding": trainer.decoding,
        }
        self.folder.write_tuning(self.recipe.tuning)
        self.folder.begin(self.recipe.yaml(), identity, trainer.experience.description())
        self.remarks.begin(self.folder.path)

    def _check_stop_metric(self) -> None:
        """Raise BadSetting if neither the held-out loss nor an evaluation is what early stopping watches."""
        trainer, settings = self.trainer, self.settings
        values = trainer.experience.held_out_loss()
        if settings.stop_metric not in values:
            evaluation = trainer.evaluate(settings.evaluate_split, settings.evaluate_episodes, settings.only)
            values |= evaluation.values
        trainer.stopping.check(values)

    def run(self, progress: bool) -> None:
        """Make the remaining updates of the run, until the last one or until early stopping."""
        trainer = self.trainer
        self._remark(self._idle)
        bar = tqdm(
            total=self.settings.last_update,
            initial=trainer.updates,
            desc=line(self.recipe.name),
            unit="update",
            disable=None if progress else True,  # None: only in a terminal
        )
        if progress and trainer.decoding:
            print(f"decoding of evaluation: {line(trainer.decoding)}", file=sys.stderr)
        with bar, closing(self._trackers()) as sinks:
            shown: dict[str, str] = {}
            if self.settings.evaluates_first and not trainer.updates:
                shown |= self._shown(self._evaluate_first(sinks))
            over = self.settings.is_over
            while not (over(trainer.updates, trainer.experience.games) or trainer.stopping.stopped):
                logs = self._update(sinks)
                bar.update()
                shown |= self._shown(logs)
                bar.set_postfix(shown)
            self._remark(trainer.stopping.reason(trainer.updates))

    def finish(self) -> None:
        """Write the last checkpoint, then evaluate the best policy of early stopping, or else the newest."""
        self.keeper.keep()
        chosen = self.keeper.restore_best()
        trainer = self.trainer
        evaluation = trainer.evaluate(self.settings.final_split, self.settings.final_episodes)
        self._remark_on_cuts(evaluation)
        content = {
            "checkpoint": chosen.name,
            **evaluation.as_json(),
            "higher_is_better": evaluation.higher,
            "owners": owners(self.recipe.metrics, trainer.metrics, evaluation.values),
            REWARDED: rewarded_keys(
                self.recipe.rewards,
                trainer.terms,
                self.recipe.metrics,
                trainer.metrics,
                tuple(evaluation.values),
            ),
        }
        self.folder.write_evaluation(content, evaluation.episodes, evaluation.samples)

    def _shown(self, logs: Mapping[str, float]) -> dict[str, str]:
        """The values beside the progress bar, each with whose episodes it is of.

        Held-out values are the policy's. Those of the episodes learned from are their player's.
        """
        player = self.trainer.experience.player
        sources = {
            "evaluation": "held-out",
            "rollout": "rollout" if player == "policy" else player,
            "data": "data",
        }
        keys = {f"{place}/{name}": f"{source} {name}" for place, source in sources.items() for name in SHOWN}
        return {text: f"{logs[key]:.3f}" for key, text in keys.items() if key in logs}

    def _trackers(self) -> trackers.Trackers:
        first = self.trainer.updates + 1
        started = trackers.Started(self.folder.path, self.recipe.name, self.recipe.resolve(), first)
        with borrow_generators(self.trainer.key.child("trackers")):
            return trackers.Trackers(self.settings.trackers, started)

    def _evaluate_first(self, sinks: trackers.Trackers) -> dict[str, float]:
        """Evaluate before the first update and return the logged values.

        Early stopping ignores this evaluation.
        """
        self.trainer.experience.seconds = {}
        logs = {"update": 0, "episodes": 0, **self._evaluate()[1]}
        self._log(logs, sinks)
        return logs

    def _update(self, sinks: trackers.Trackers) -> dict[str, float]:
        """Make one update, with its evaluation, log lines and checkpoint; returns the logged values."""
        trainer, settings = self.trainer, self.settings
        parallel.order("update")
        logs = trainer.update()
        if not self._idle and logs.get("learning_rate") == 0 and trainer.updates < settings.updates:
            self._idle = f"the learning rate is 0 after update {trainer.updates} of {settings.updates}"
            self._remark(f"{self._idle}; the rest changes nothing")
        self._remark(trainer.experience.cuts(logs))
        improved = False
        if settings.evaluate_every and trainer.updates % settings.evaluate_every == 0:
            evaluation, values = self._evaluate()
            logs |= values
            held_out = {name: values[name] for name in HELD_OUT if name in values}
            improved = trainer.stopping.improves(evaluation.values | held_out, trainer.updates)
        log_keys.check(logs, self._keys)
        self._log(logs, sinks)
        if improved or (settings.checkpoint_every and trainer.updates % settings.checkpoint_every == 0):
            # after the log: if the run is killed in between, resuming deletes the extra line
            self.keeper.keep()
        return logs

    def _evaluate(self) -> tuple[Evaluation, dict[str, float]]:
        """Evaluate in training and write the episodes; returns the evaluation and the values to log."""
        trainer, settings, before = self.trainer, self.settings, time.perf_counter()
        trainer.calibrate()
        evaluation = trainer.evaluate(
            settings.evaluate_split, settings.evaluate_episodes, settings.only, by_row=True
        )
        logs = {f"evaluation/{name}": value for name, value in evaluation.values.items()}
        if SUCCESS in evaluation.errors:
            logs[f"evaluation/{log_keys.SUCCESS_ERROR}"] = evaluation.errors[SUCCESS]
        logs |= trainer.experience.held_out_loss()
        trainer.experience.seconds["evaluate"] = round(time.perf_counter() - before, 4)
        self._remark_on_cuts(evaluation)
        self.folder.write_evaluation_in_training(trainer.updates, evaluation.episodes, evaluation.by_row)
        return evaluation, logs

    def _remark_on_cuts(self, evaluation: Evaluation) -> None:
        """Show once that prompts of an evaluation are cut."""
        if not self._evaluated_cuts:
            trainer = self.trainer
            agent = trainer.algorithm.agent(trainer.actor, True)
            self._evaluated_cuts = cuts_of_evaluation(agent, evaluation.episodes, evaluation.split)
            self._remark(self._evaluated_cuts)

    def _remark(self, text: str) -> None:
        """Show a remark, which `remarks.jsonl` keeps with the number of the update."""
        if text:
            self.remarks.update = self.trainer.updates
            warnings.warn(f"{self.recipe.name}: {text}", Remark, stacklevel=4)

    def _log(self, logs: dict[str, float], sinks: trackers.Trackers) -> None:
        self.folder.logs.append(logs, {"update": self.trainer.updates, **self.trainer.experience.seconds})
        sinks.log(logs)
