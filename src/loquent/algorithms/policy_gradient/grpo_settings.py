"""The settings of GRPO and of its relatives, with their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from loquent.algorithms.policy_gradient.episode_groups import ComparedConfig
from loquent.algorithms.presets import PRESETS
from loquent.algorithms.shared.surrogates import SURROGATES
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.models.decoding_settings import OURS

SERVES: Mapping[str, tuple[str, ...]] = {
    "clip": ("clip",),
    "clip_high": ("clip",),
    "cap": ("clip", "cispo"),
    "sapo_positive": ("sapo",),
    "sapo_negative": ("sapo",),
}
"""The surrogates that a setting serves."""


@dataclass(frozen=True, kw_only=True)
class Config(ComparedConfig):
    """Settings of `grpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["grpo"]
    baseline: str = setting(
        "group",
        "what a return is compared with: the mean return of all answers to the row, of the other answers to "
        "it, or of all episodes, whose rows need no second answer",
        source="2402.03300 sec. 4.1.2; leave_one_out: 2402.14740; global: 2501.03262",
        choices=("group", "leave_one_out", "global"),
    )
    deviation: str = setting(
        "group",
        "advantages are divided by the deviation of the returns of the group or of the batch; by that of the "
        "advantages of all tokens, which are centred too; or not at all",
        source="2402.03300 sec. 4.1.2; tokens: 2501.03262 eq. 10; none: 2503.20783",
        choices=("group", "batch", "tokens", "none"),
    )
    surrogate: str = setting(
        "clip",
        "what a ratio counts: clipped (clip, clip_high, cap), as a weight of at most `cap` of the "
        "log-probability (CISPO), or by a soft gate (SAPO)",
        source="1707.06347; cispo: 2506.13585; sapo: 2511.20347",
        choices=tuple(SURROGATES),
    )
    cap: float | None = setting(
        None,
        "the greatest ratio that counts, where an advantage is negative (two-sided clip), or as CISPO's "
        "weight, which needs it; none: any",
        source="2505.07291: 4; CISPO: 2510.13786 and TRL: 5",
        low=1.0,
    )
    sapo_positive: float = setting(
        1.0, "temperature of SAPO's gate where an advantage is positive", source="2511.20347", low=1e-6
    )
    sapo_negative: float = setting(
        1.05, "temperature of SAPO's gate where it is not", source="2511.20347", low=1e-6
    )
    length: str = setting(
        "answer",
        "mean over tokens: of each answer, then over answers; over all tokens; or a sum divided by the "
        "answers and max_new_tokens, a constant",
        source="2402.03300 eq. 3; token: 2503.14476 sec. 3.3; constant: 2503.20783",
        choices=("answer", "token", "constant"),
    )
    importance: str = setting(
        "token",
        "the ratio: of each token, or of the whole answer, by the mean of its log-ratios (GSPO)",
        source="2402.03300 eq. 3; sequence: 2507.18071 eq. 7",
        choices=("token", "sequence"),
    )
    kl: str = setting(
        "loss",
        "where the KL to the reference counts: by k3 in the loss, by k1 in the return, or by k1 of a token "
        "and all later ones in the advantage of the token",
        source="2402.03300 eq. 4; to_go: 2501.03262 eq. 8",
        choices=("loss", "reward", "to_go"),
    )
    kl_correction: bool = setting(
        True,
        "multiply k3 in the loss by the ratio, so that its gradient is that of KL(policy, reference); "
        "without, it is that of KL(reference, policy), which has another optimum",
        source="2512.02556; TRL, GRPOConfig; 2402.03300 has none",
    )
    beta: float = setting(
        0.04, "coefficient of the KL to the reference; 0: none", source="2402.03300 sec. 4.2", low=0.0
    )
    drop_equal: bool = setting(
        False,
        "leave out the answers to a row that all have the same return, without playing others instead",
        source="2503.14476 sec. 3.2",
    )
    drop_overlong: bool = setting(
        False,
        "leave out episodes with an answer that was cut at max_new_tokens; their returns still count in "
        "baselines, and they among the answers of `length: answer` and `constant`",
        source="2503.14476 sec. 3.4; TRL, mask_truncated_completions",
    )
    entropy_coefficient: float = setting(
        0.0,
        "weight of the entropy bonus, whose tokens count as in `length`",
        source="TRL, entropy_coef: 0",
        low=0.0,
    )
    engine_weight: str = setting(
        "none",
        "weight of the policy's loss where another engine drew, our probability over the engine's: of each "
        "token or of the whole answer, bounded, or 0 outside the bounds; our own engine's have weight 1",
        source="TRL, vllm_importance_sampling_mode",
        choices=("none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    )
    engine_weight_max: float | None = setting(
        3.0, "the upper bound of such a weight; none: none", source="TRL", low=0.0
    )
    engine_weight_min: float | None = setting(
        None, "the lower bound of such a weight; none: none", source="TRL", low=0.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.engine_weight_min, self.engine_weight_max
        if low is not None and high is not None and low > high:
            raise BadSetting(
                f"Config.engine_weight_min = {low:g} is above engine_weight_max = {high:g}; set it to at "
                "most that"
            )
        if self.surrogate == "cispo" and self.cap is None:
            preset = self.presets["cispo"]["cap"]
            raise BadSetting(
                "Config.cap = none with surrogate = 'cispo': the weight of a token would have no bound; set "
                f"cap, such as to {preset:g}, its value in the preset 'cispo'"
            )
        if self.baseline == "global" and self.deviation == "group":
            raise BadSetting(
                "Config.deviation = 'group' with baseline = 'global': a row with equal returns has the "
                "deviation 0, and its advantages would have no bound; set deviation to 'tokens', 'batch' "
                "or 'none'"
            )

    def without_effect(self, own_engine: bool) -> Iterator[tuple[str, str, str]]:
        """The settings of other surrogates, of a KL elsewhere, and of weights that are always 1."""
        for name, surrogates in SERVES.items():
            if self.surrogate not in surrogates:
                served = " or ".join(map(repr, surrogates))
                reason = f"it serves surrogate = {served}, and it is {self.surrogate!r}"
                read = self.surrogate == "sapo" and name != "cap"  # of what SAPO calls outside
                yield name, reason + " (policy/clip_fraction alone reads it)" * read, "surrogate"
        if self.kl != "loss":
            yield "kl_correction", f"it serves kl = 'loss', and it is {self.kl!r}", "kl"
        bounds = ("engine_weight_max", "engine_weight_min")
        if self.engine_weight == "none":
            yield from ((name, "engine_weight = 'none'", "engine_weight") for name in bounds)
        elif own_engine:
            reason = f"decoding.engine = {OURS!r}, and what our own engine draws has weight 1"
            yield from ((name, reason, "") for name in ("engine_weight", *bounds))

    @property
    def alone(self) -> bool:
        """Whether an answer counts without others to its row."""
        return self.baseline == "global"
