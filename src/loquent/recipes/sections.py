"""What the sections `model:` and `training:` of a recipe may hold."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting
from loquent.files import trackers


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What `model:` may hold: which language model, and the networks beside it."""

    path: str = setting(
        "",
        "a Hugging Face name or folder, or a run's folder; empty: a small model is made from the "
        "next settings",
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    shape: str = setting(
        "gpt2",
        "the architecture of a model made here: absolute positions, or relative ones",
        choices=("gpt2", "llama"),
    )
    layers: int = setting(4, "blocks of a model made here", low=1)
    width: int = setting(128, "hidden size of a model made here", low=8)
    heads: int = setting(4, "attention heads of a model made here", low=1)
    context: int = setting(256, "the most tokens a model made here reads", low=8)
    vocabulary: int = setting(1500, "tokens of the byte-level BPE trained on the task's texts", low=258)
    tokenizer_texts: int = setting(20_000, "texts the tokenizer is trained on", low=1)
    dropout: float = setting(
        0.1, "dropout of a model made here; on in supervised training only", low=0, high=0.9
    )
    format: str = setting("plain", "how turns become tokens", choices=("plain", "chat", "ilql"))
    critic: str = setting(
        "network",
        "the value function: its own network (the paper's), or a head on the trunk",
        choices=("network", "head", "none"),
    )
    reference: str = setting(
        "copy", "the model KL is measured from: a copy of the start, none, or a name or folder"
    )
    device: str = setting("auto", "where the networks live", choices=("auto", "cpu", "cuda"))
    dtype: str = setting(
        "float32",
        "the type of the policy's weights; what learns beside it is float32 at least",
        choices=("float32", "float64", "bfloat16", "float16"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.path and self.width % self.heads:
            raise BadSetting(f"ModelSettings.width = {self.width} does not divide by heads = {self.heads}")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What `training:` may hold: how long, on what, and how it is watched."""

    seed: int = setting(0, "the run's seed; all streams are keyed by it", low=0)
    updates: int = setting(50, "collections of episodes, each followed by learning", low=0)
    episodes: int = setting(64, "episodes in one collection", low=1)
    split: str = setting("train", "the split the rows come from")
    only: Record = setting(
        EMPTY,
        "train and watch only on rows whose fields have these values, as {label: positive}; the "
        "final evaluation takes all",
    )
    priority: float | None = setting(
        None,
        "rows are drawn with a probability ~ weight^priority (0: all alike); none: epoch by epoch, "
        "each row once",
        low=0.0,
    )
    teacher: str | Record = setting(
        "",
        "the agent that plays for a learner from others' games, or {kind: AGENT, OPTION: VALUE}; "
        "empty: for supervised learning the task's expert",
    )
    data: tuple[str, ...] = setting(
        (), "recorded episodes to learn from, instead of play: files, or folders that `loquent collect` made"
    )
    data_top: float = setting(
        1.0, "the share of the recorded episodes, of highest return, that is kept", low=0.0, high=1.0
    )
    data_bottom: float = setting(
        1.0, "the share of lowest return that is kept; it is taken before data_top", low=0.0, high=1.0
    )
    evaluate_every: int = setting(10, "updates between evaluations; 0: only at the end", low=0)
    evaluate_first: bool = setting(
        False,
        "evaluate before the first update too, where evaluate_every is not 0; early stopping does "
        "not look at it",
    )
    evaluate_episodes: int = setting(200, "episodes of an evaluation", low=1)
    evaluate_split: str = setting("validation", "the split of evaluations in training")
    final_split: str = setting("test", "the split of the evaluation at the end")
    final_episodes: int = setting(400, "episodes of the evaluation at the end", low=1)
    stop_metric: str = setting(
        "", "the evaluated value that early stopping watches; empty: all updates are made"
    )
    patience: int = setting(2, "evaluations without improvement before the run stops", low=1)
    margin: float = setting(
        0.0,
        "how much better than the best so far, at each evaluation, the watched value must be to "
        "count, as a share of that best",
        low=0.0,
    )
    checkpoint_every: int = setting(10, "updates between checkpoints; 0: only at the end", low=0)
    keep: int = setting(2, "checkpoints kept, the best beside them", low=1)
    trackers: tuple[str, ...] = setting(
        (), "where the log goes beside metrics.jsonl: tensorboard, trackio, wandb"
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        trackers.check(self.trackers)
        if self.data and self.teacher:
            raise BadSetting(
                f"TrainingSettings.teacher = {self.teacher!r} would never play: data = "
                f"{', '.join(self.data)!r} is what is learned from"
            )
        if not self.data and (self.data_top, self.data_bottom) != (1.0, 1.0):
            raise BadSetting(
                "TrainingSettings.data_top and data_bottom choose among recorded episodes, and data "
                "names none"
            )
        if self.stop_metric and not self.evaluate_every:
            raise BadSetting(
                f"TrainingSettings.stop_metric = {self.stop_metric!r} would never be looked at: "
                "evaluate_every = 0 makes no evaluation in training; at least 1 is right, or an "
                "empty stop_metric"
            )

    @property
    def evaluates_first(self) -> bool:
        """Whether the run is evaluated before its first update."""
        return self.evaluate_first and self.evaluate_every > 0 and self.updates > 0

    @property
    def evaluations(self) -> int:
        """How many evaluations are made in training; the one at the end is none of them."""
        return self.evaluates_first + (self.updates // self.evaluate_every if self.evaluate_every else 0)
