"""The settings of the sections `model:`, `training:` and `parallel:` of a recipe."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting
from loquent.files import trackers
from loquent.files.machine.launch import PATIENCE
from loquent.models.lora_settings import Lora


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The section `model:`: the language model, its value function and its reference model."""

    path: str = setting(
        "",
        "a Hugging Face name or folder, or a run's folder; empty: a small new model, with the next settings",
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    shape: str = setting(
        "gpt2",
        "the architecture of a new model: absolute (gpt2) or relative (llama) positions, or an "
        "encoder-decoder with relative (t5) or absolute (bart) ones",
        choices=("gpt2", "llama", "t5", "bart"),
    )
    layers: int = setting(4, "transformer blocks of a new model", low=1)
    width: int = setting(128, "hidden size of a new model", low=8)
    heads: int = setting(4, "attention heads of a new model", low=1)
    context: int = setting(256, "the most tokens that a new model reads", low=8)
    vocabulary: int = setting(
        1500, "tokens of the byte-level BPE that is trained on the task's texts", low=258
    )
    tokenizer_texts: int = setting(20_000, "texts that the tokenizer is trained on", low=1)
    dropout: float = setting(0.1, "dropout of a new model; used in supervised training only", low=0, high=0.9)
    format: str = setting(
        "auto",
        "how turns become tokens: by the chat template of the tokenizer, as plain texts, or with ILQL's "
        "markers; auto: chat if the tokenizer has a chat template, else plain",
        choices=("auto", "plain", "chat", "ilql"),
    )
    thinking: bool | None = setting(
        None,
        "switches the thoughts of a chat template, by its variables enable_thinking and thinking; none: as "
        "the template does itself",
    )
    critic: str = setting(
        "network",
        "the value function: a network of its own (as in the paper), a head on the trunk, or none",
        choices=("network", "head", "none"),
    )
    critic_head: str = setting(
        "random",
        "the first weights of the value function's last layer: random, or zero, so that the first advantages "
        "are the returns, without the noise of an untrained critic",
        choices=("random", "zero"),
    )
    reference: str = setting(
        "copy", "the reference model of the KL: a copy of the initial model, none, or a name or folder"
    )
    freeze: str = setting(
        "none",
        "what does not learn: none, or the encoder of an encoder-decoder, which then reads each prompt once",
        choices=("none", "encoder"),
    )
    lora: Lora = setting(
        Lora(), "low-rank adapters on the policy, in place of its weights; a section of its own"
    )
    device: str = setting("auto", "the device of the networks", choices=("auto", "cpu", "cuda"))
    dtype: str = setting(
        "float32",
        "the type of the policy's weights; other networks that learn have at least float32",
        choices=("float32", "float64", "bfloat16", "float16"),
    )

    autocast: str = setting(
        "none",
        "the type of matrix products in collection and learning; none: that of the weights",
        choices=("none", "bfloat16"),
    )
    recompute: bool = setting(
        False,
        "compute the activations of layers again in the backward pass: less memory, about a third more time",
        source="1604.06174",
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.path and self.lora.rank:
            raise BadSetting(
                f"ModelSettings.lora.rank = {self.lora.rank} needs an existing model, whose weights it "
                "freezes; name one in model.path, or set lora.rank to 0"
            )
        if not self.path and self.width % self.heads:
            raise BadSetting(
                f"ModelSettings.width = {self.width} must be a multiple of heads = {self.heads}; change "
                "one of them"
            )


@dataclass(frozen=True, kw_only=True)
class ParallelSettings:
    """The section `parallel:`: the processes that learn together. Results do not depend on it."""

    patience: float = setting(
        PATIENCE,
        "the most seconds that a process waits for the others, for example while the first one evaluates; "
        "then all end, and the error names the process that did not come",
        low=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The section `training:`: updates, data, evaluations, checkpoints and trackers."""

    seed: int = setting(0, "the seed of the run and of all its random streams", low=0)
    updates: int = setting(50, "updates; each collects episodes, then learns from them", low=0)
    update_share: float = setting(
        1.0,
        "the share of the updates that is made, the first ones, above 0: how a large run begins. Schedules "
        "stay those of all updates, and the tables of a suite call its numbers no results",
        low=0.0,
        high=1.0,
    )
    most_episodes: int = setting(
        0, "the run ends with the update in which so many episodes have ended; 0: no limit", low=0
    )
    episodes: int = setting(64, "episodes per update", low=1)
    answers: int = setting(
        1,
        "episodes on each drawn row, for learners that compare answers; an update draws episodes / answers "
        "rows",
        low=1,
    )
    split: str = setting("train", "the split to take rows from")
    only: Record = setting(
        EMPTY,
        "train and evaluate only on rows whose fields have these values, as {label: positive}; the "
        "final evaluation uses all rows",
    )
    row_share: float = setting(
        1.0,
        "the share of the rows of `split` (of those that `only` chooses) to train on, above 0; a hash of the "
        "ids chooses them, so a smaller share is part of a larger one. Evaluations, rewards and a tokenizer "
        "that is trained here use all rows",
        low=0.0,
        high=1.0,
    )
    priority: float | None = setting(
        None,
        "rows are drawn with a probability proportional to weight^priority (0: uniform); none: epoch by "
        "epoch, each row once",
        low=0.0,
    )
    teacher: str | Record = setting(
        "",
        "the agent whose episodes an offline learner learns from, or {kind: AGENT, OPTION: VALUE}; "
        "empty: the task's expert, in supervised learning",
    )
    data: tuple[str, ...] = setting(
        (),
        "recorded episodes to learn from instead of playing: files, or folders that `loquent collect` wrote; "
        "or preferences: files of `chosen` and `rejected` answers, or judgements and folders of "
        "`loquent study`",
    )
    data_question: str = setting(
        "", "of judgements in `data`, the question whose answers count; empty: the only one"
    )
    data_top: float = setting(
        1.0, "the share of the recorded episodes to keep, those with the highest returns", low=0.0, high=1.0
    )
    data_bottom: float = setting(
        1.0, "the share to keep with the lowest returns; applied before data_top", low=0.0, high=1.0
    )
    data_cutoff: float | None = setting(
        None,
        "the least return of a recorded episode to keep, before the shares; none: no such limit",
        source="2206.11871: comments",
    )
    evaluate_every: int = setting(10, "updates between evaluations; 0: only at the end", low=0)
    evaluate_first: bool = setting(
        False,
        "also evaluate before the first update, unless evaluate_every is 0; early stopping ignores this "
        "evaluation",
    )
    evaluate_episodes: int = setting(200, "episodes of an evaluation", low=1)
    evaluate_split: str = setting("validation", "the split of evaluations in training")
    final_split: str = setting("test", "the split of the evaluation at the end")
    final_episodes: int = setting(400, "episodes of the evaluation at the end", low=1)
    stop_metric: str = setting("", "the metric that early stopping watches; empty: no early stopping")
    patience: int = setting(2, "evaluations without improvement before the run stops", low=1)
    margin: float = setting(
        0.0,
        "the least improvement over the best value so far that counts for early stopping, as a share of "
        "that value",
        low=0.0,
    )
    groups: tuple[str, ...] = setting(
        (), "fields of rows; evaluations also give the success of each group of rows with equal values"
    )
    seen: tuple[str, ...] = setting(
        (),
        "fields of rows; evaluations also give the success on rows whose value a training row has, and on "
        "the others, as for sentences that occur in both",
    )
    checkpoint_every: int = setting(10, "updates between checkpoints; 0: only at the end", low=0)
    keep: int = setting(2, "checkpoints to keep, besides the best one", low=1)
    trackers: tuple[str, ...] = setting(
        (), "trackers that receive the log in addition to metrics.jsonl: tensorboard, trackio, wandb"
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        trackers.check(self.trackers)
        if self.episodes % self.answers:
            raise BadSetting(
                f"TrainingSettings.episodes = {self.episodes} is no multiple of answers = {self.answers}; an "
                "update plays `answers` episodes on each of its rows; change one of the two"
            )
        self._check_row_share()
        if self.update_share == 0.0:
            raise BadSetting("TrainingSettings.update_share must be above 0 and at most 1, got 0.0")
        if self.data and self.answers > 1:
            raise BadSetting(
                f"TrainingSettings.answers = {self.answers} has no effect with data, whose episodes are "
                "already played; leave out one of the two"
            )
        if self.data and self.teacher:
            raise BadSetting(
                f"TrainingSettings.teacher = {self.teacher!r} would never play, because data = "
                f"{', '.join(self.data)!r} gives the episodes; leave out one of the two"
            )
        chosen = (self.data_top, self.data_bottom, self.data_cutoff, self.data_question)
        if not self.data and chosen != (1.0, 1.0, None, ""):
            raise BadSetting(
                "TrainingSettings.data_top, data_bottom and data_cutoff choose among recorded episodes, and "
                "data_question among judgements, but data is empty; name episodes in data, or leave these "
                "settings out"
            )
        if self.stop_metric and not self.evaluate_every:
            raise BadSetting(
                f"TrainingSettings.stop_metric = {self.stop_metric!r} needs evaluations in training, but "
                "evaluate_every = 0 makes none; give evaluate_every at least 1, or leave stop_metric empty"
            )

    def _check_row_share(self) -> None:
        if self.row_share == 0.0:
            raise BadSetting("TrainingSettings.row_share must be above 0 and at most 1, got 0.0")
        if self.row_share < 1.0 and (self.data or self.seen):
            other = "data" if self.data else "seen"
            why = "gives the episodes" if self.data else "compares with all training rows"
            raise BadSetting(
                f"TrainingSettings.row_share = {self.row_share} cannot be used with {other}, which {why}; "
                "leave out one of the two"
            )

    @property
    def last_update(self) -> int:
        """The update that the run ends with: the last one of `update_share`."""
        return self._first(self.updates)

    def is_over(self, updates: int, episodes: int) -> bool:
        """Whether a run with so many updates and ended episodes makes no more."""
        return updates >= self.last_update or 0 < self._first(self.most_episodes) <= episodes

    def _first(self, count: int) -> int:
        return math.ceil(round(count * self.update_share, 6))  # 100 * 0.07 is a little above 7

    @property
    def rows(self) -> int:
        """The rows that an update draws."""
        return self.episodes // self.answers

    @property
    def evaluates_first(self) -> bool:
        """Whether the run is evaluated before its first update."""
        return self.evaluate_first and self.evaluate_every > 0 and self.updates > 0

    @property
    def evaluations(self) -> int:
        """The number of evaluations in training, without the one at the end."""
        made = self.last_update
        return self.evaluates_first + (made // self.evaluate_every if self.evaluate_every else 0)
