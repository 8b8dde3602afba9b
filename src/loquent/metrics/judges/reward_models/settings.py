"""The settings of a reward model and of its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loquent.core.settings import redefault, setting
from loquent.errors import BadSetting
from loquent.metrics.judges.reward_models.note import BRADLEY_TERRY, GOOD_BAD
from loquent.metrics.judges.trainer import TrainerSettings

SHAPES = ("bert", "t5")


@dataclass(frozen=True, kw_only=True)
class RewardModelSettings(TrainerSettings):
    """What `loquent reward` trains, and how."""

    objective: Literal["bradley_terry", "good_bad"] = setting(
        BRADLEY_TERRY,
        "bradley_terry: -log sigmoid(r(chosen) - r(rejected)); good_bad: cross-entropy of the labels good "
        "and bad of single texts",
        source="2203.02155 eq. 1; 2210.01241 sec. B.4.4",
        choices=(BRADLEY_TERRY, GOOD_BAD),
    )
    path: str = setting(
        "",
        "the network to start from: a run, or a Hugging Face folder or name (an encoder, T5, a causal "
        "model); empty: a new one",
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    shape: Literal["bert", "t5"] = setting("bert", "the architecture of a new network", choices=SHAPES)
    layers: int = setting(2, "blocks of a new network (of T5: on each side)", low=1)
    width: int = setting(128, "the size of the states of a new network", low=1)
    heads: int = setting(4, "attention heads of a new network", low=1)
    context: int = setting(256, "the longest text of a new network in tokens", low=8)
    vocabulary: int = setting(
        2000, "the most tokens of a new tokenizer, which is trained on the texts", low=258
    )
    dropout: float = setting(0.1, "the dropout rate of a new network", low=0.0, high=0.9)
    include_prompt: bool = setting(True, "read the prompt and the text together, not the text alone")
    question: str = setting("", "the question of the judgements; empty: the only one")
    held_out: float = setting(
        0.2, "the share of pairs, with whole prompts, that only the report reads", low=0.01, high=0.9
    )
    shared_texts: Literal["drop", "keep"] = setting(
        "drop",
        "training pairs with a text of a held-out pair: drop them, or keep them, as for templates",
        choices=("drop", "keep"),
    )
    center_rewards_coefficient: float = setting(
        0.0,
        "the weight of the mean of (r(chosen) + r(rejected))^2 in the loss, which keeps rewards around 0",
        source="2312.09244 eq. 2; TRL",
        low=0.0,
    )
    epochs: int = redefault(TrainerSettings, "epochs", 5, why="passes over the training pairs")
    minibatch: int = redefault(TrainerSettings, "minibatch", 16, why="pairs of a gradient step")
    learning_rate: float = redefault(
        TrainerSettings,
        "learning_rate",
        3e-4,
        why="peak learning rate; 1e-5 suits a large pretrained network",
    )
    schedule: str = redefault(TrainerSettings, "schedule", "linear")
    warmup: float = redefault(TrainerSettings, "warmup", 0.1)
    checkpoint_every: int = setting(100, "gradient steps between checkpoints", low=1)
    device: str = setting("auto", "the device", choices=("auto", "cpu", "cuda"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.center_rewards_coefficient and self.objective == GOOD_BAD:
            raise BadSetting(
                f"center_rewards_coefficient = {self.center_rewards_coefficient} with objective = "
                f"{GOOD_BAD}, which does not read it; set it to 0, or objective to {BRADLEY_TERRY}"
            )
        if self.revision and not self.path:
            raise BadSetting(
                f"revision = {self.revision!r} without a path; it belongs to a Hugging Face name"
            )
        if not self.path and self.width % self.heads:
            raise BadSetting(f"width = {self.width} must be a multiple of heads = {self.heads}")
