"""The names of settings in TRL, stable-baselines3 and RL4LMs, and the settings of Loquent that do the same.

They are read for errors alone: a recipe with such a name is refused, and the error has the right setting.
Versions: TRL 1.16 with transformers' TrainingArguments, stable-baselines3 2.9, RL4LMs' YAML files.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from loquent.core import registry
from loquent.models.decoding_settings import Decoding
from loquent.training.recipes import kinds
from loquent.training.recipes.sections import ModelSettings, TrainingSettings

SHARED = {"training": TrainingSettings, "model": ModelSettings, "decoding": Decoding}
MOST = 3  # learners that an error names


class Foreign(NamedTuple):
    """A name of another library: whose it is, our settings (the first ones first), and what to know."""

    owner: str
    settings: tuple[str, ...] = ()
    note: str = ""


def _same(owner: str, *names: str, section: str = "algorithm") -> dict[str, Foreign]:
    """Names that are the same here, in a section."""
    return {name: Foreign(owner, (f"{section}.{name}",)) for name in names}


T, S, R = "TRL", "stable-baselines3", "RL4LMs"
IMPORT = "`loquent import rl4lms FILE` makes a recipe of a whole file"
SPARE = "each update is logged, in metrics.jsonl"
NAMES: dict[str, Foreign] = {
    # TRL: groups, losses
    "num_generations": Foreign(T, ("training.answers",)),
    "num_iterations": Foreign(T, ("algorithm.epochs",)),
    "epsilon": Foreign(T, ("algorithm.clip",)),
    "epsilon_high": Foreign(T, ("algorithm.clip_high",)),
    "loss_type": Foreign(
        T, ("algorithm.length",), "grpo is answer, dapo and bnpo are token, dr_grpo is constant"
    ),
    "scale_rewards": Foreign(T, ("algorithm.deviation",), "group, batch or none"),
    "importance_sampling_level": Foreign(T, ("algorithm.importance",), "token or sequence"),
    "use_bias_correction_kl": Foreign(T, ("algorithm.kl_correction",)),
    "entropy_coef": Foreign(T, ("algorithm.entropy_coefficient",)),
    "reward_weights": Foreign(T, ("rewards",), "each reward has its weight: rewards: {NAME: WEIGHT}"),
    "reward_funcs": Foreign(T, ("rewards",), "rewards: {NAME: WEIGHT}, or {module:function: WEIGHT}"),
    "reward_clip_range": Foreign(T, ("rewards",), "rewards: {NAME: {clip: [LOW, HIGH]}}"),
    "disable_dropout": Foreign(T, ("model.dropout",), "reinforcement learning never drops out here"),
    "completion_only_loss": Foreign(T, ("algorithm.learn_on",), "answer or all"),
    "assistant_only_loss": Foreign(T, ("algorithm.learn_on",), "answer or all"),
    "sync_ref_model": Foreign(T, ("model.reference",), "the reference does not change in a run"),
    "ref_model_mixup_alpha": Foreign(T, ("model.reference",), "the reference does not change in a run"),
    "ref_model_sync_steps": Foreign(T, ("model.reference",), "the reference does not change in a run"),
    # TRL: texts and decoding
    "max_completion_length": Foreign(T, ("decoding.max_new_tokens",)),
    "max_length": Foreign(T, ("model.context",), "of a new model; an existing model has its own"),
    "generation_kwargs": Foreign(f"{T} and {R}", ("decoding.method", "decoding.top_k"), "see decoding:"),
    "chat_template_path": Foreign(T, ("model.format",), "chat: the template of the tokenizer"),
    "dataset_text_field": Foreign(T, (), "task: {text_field: NAME}"),
    "use_vllm": Foreign(T, ("decoding.engine",), "module:Name of an engine"),
    "min_p": Foreign(T),
    "repetition_penalty": Foreign(T, ("rewards",), "the reward `repetition` is a penalty"),
    # TRL: batches and steps
    "per_device_train_batch_size": Foreign(
        T, ("algorithm.minibatch",), "episodes of a gradient step; algorithm.token_budget bounds a pass"
    ),
    "gradient_accumulation_steps": Foreign(
        T, ("algorithm.token_budget",), "a gradient step is cut into passes of so many tokens by itself"
    ),
    "generation_batch_size": Foreign(T, ("training.episodes",)),
    "steps_per_generation": Foreign(T, ("training.episodes",), "episodes / minibatch steps an epoch"),
    "per_device_eval_batch_size": Foreign(T, ("decoding.live",)),
    "max_steps": Foreign(T, ("training.updates",)),
    "num_train_epochs": Foreign(T, ("training.updates",), "rows are drawn epoch by epoch"),
    "lr_scheduler_type": Foreign(T, ("algorithm.schedule",)),
    "warmup_steps": Foreign(T, ("algorithm.warmup",), "below 1: a share"),
    "optim": Foreign(T, ("algorithm.optimizer",)),
    "bf16": Foreign(T, ("model.autocast", "model.dtype"), "bfloat16"),
    "fp16": Foreign(T, ("model.dtype",), "float16"),
    "gradient_checkpointing": Foreign(T, ("model.recompute",)),
    "activation_checkpointing": Foreign(T, ("model.recompute",)),
    "torch_compile": Foreign(T, ("decoding.compile",), "decoding alone"),
    # TRL: evaluation, checkpoints, logs
    "eval_steps": Foreign(T, ("training.evaluate_every",)),
    "eval_strategy": Foreign(T, ("training.evaluate_every",), "0: only at the end"),
    "eval_on_start": Foreign(T, ("training.evaluate_first",)),
    "metric_for_best_model": Foreign(T, ("training.stop_metric",)),
    "load_best_model_at_end": Foreign(T, ("training.stop_metric",), "the best checkpoint is then restored"),
    "greater_is_better": Foreign(T, ("training.stop_metric",), "a metric knows its direction"),
    "save_steps": Foreign(T, ("training.checkpoint_every",)),
    "save_strategy": Foreign(T, ("training.checkpoint_every",)),
    "save_total_limit": Foreign(T, ("training.keep",)),
    "report_to": Foreign(T, ("training.trackers",)),
    "logging_steps": Foreign(T, (), SPARE),
    "logging_strategy": Foreign(T, (), SPARE),
    "output_dir": Foreign(T, (), "the command has --out FOLDER"),
    "run_name": Foreign(T, (), "the recipe has `name`"),
    "resume_from_checkpoint": Foreign(T, (), "`loquent resume RUN` goes on with a run"),
    "model_init_kwargs": Foreign(T, ("model.path", "model.dtype")),
    "push_to_hub": Foreign(T, (), "`loquent export` writes the model's folder"),
    # stable-baselines3, whose names RL4LMs has too
    "batch_size": Foreign(f"{S} and {R}", ("algorithm.minibatch",)),
    "n_epochs": Foreign(f"{S} and {R}", ("algorithm.epochs", "algorithm.critic_epochs")),
    "n_steps": Foreign(
        f"{S} and {R}",
        ("algorithm.rollout", "algorithm.n_step", "training.episodes"),
        "rollout: actions of each game; n_step: steps of a transition of DQN; episodes: of an update",
    ),
    "gae_lambda": Foreign(f"{S} and {R}", ("algorithm.lam",)),
    "clip_range": Foreign(f"{S} and {R}", ("algorithm.clip",)),
    "clip_range_vf": Foreign(f"{S} and {R}", ("algorithm.value_clip",)),
    "normalize_advantage": Foreign(f"{S} and {R}", ("algorithm.normalize_advantages",)),
    "ent_coef": Foreign(f"{S} and {R}", ("algorithm.entropy_coefficient",)),
    "vf_coef": Foreign(f"{S} and {R}", ("algorithm.value_coefficient",)),
    "target_kl": Foreign(
        f"{S} and {R}",
        ("algorithm.stop_kl", "algorithm.kl_target", "algorithm.radius"),
        "stop_kl ends an update, as 1.5 target_kl there; kl_target steers beta, as kl_div.target_kl of "
        "RL4LMs; radius is TRPO's",
    ),
    "buffer_size": Foreign(S, ("algorithm.replay",)),
    "train_freq": Foreign(S, ("algorithm.learn_every",)),
    "target_update_interval": Foreign(S, ("algorithm.target_every",)),
    "exploration_fraction": Foreign(S, ("algorithm.explore_share", "algorithm.explore_games")),
    "exploration_initial_eps": Foreign(S, ("algorithm.explore_first",)),
    "exploration_final_eps": Foreign(S, ("algorithm.explore_last",)),
    "policy_kwargs": Foreign(S, ("algorithm.network", "algorithm.width")),
    "use_rms_prop": Foreign(S, ("algorithm.optimizer",), "rmsprop"),
    "tensorboard_log": Foreign(S, ("training.trackers",), "tensorboard"),
    "verbose": Foreign(f"{S} and {R}"),
    "total_timesteps": Foreign(S, ("training.updates",)),
    "n_envs": Foreign(f"{S} and {R}", ("algorithm.games", "decoding.live")),
    # RL4LMs
    **{name: Foreign(R, (), IMPORT) for name in ("alg", "env", "datapool", "reward_fn", "train_evaluation")},
    "n_iters": Foreign(R, ("training.updates",)),
    "eval_every": Foreign(R, ("training.evaluate_every",)),
    "save_every": Foreign(R, ("training.checkpoint_every",)),
    "eval_batch_size": Foreign(R, ("decoding.live",)),
    "max_prompt_length": Foreign(R, ("decoding.max_prompt_tokens",)),
    "max_episode_length": Foreign(R, ("decoding.max_new_tokens",)),
    "prompt_truncation_side": Foreign(R, ("decoding.truncation_side",)),
    "priority_scale": Foreign(R, ("training.priority",)),
    "kl_div": Foreign(R, ("algorithm.beta", "algorithm.kl_target"), "coeff and target_kl"),
    "coeff": Foreign(R, ("algorithm.beta",)),
    "do_sample": Foreign(R, ("decoding.method",), "sample or greedy"),
    "num_beams": Foreign(R, ("decoding.beams",), "with decoding.method=beam"),
    "min_length": Foreign(R, ("decoding.min_new_tokens",)),
    "top_mask": Foreign(R, ("algorithm.top_p", "algorithm.top_k"), "by mask_type"),
    "mask_type": Foreign(R, ("algorithm.top_p", "algorithm.top_k")),
    "target_update_iterations": Foreign(R, ("algorithm.mu",)),
    "min_tokens_to_keep": Foreign(R, ("algorithm.min_keep",)),
    "model_name": Foreign(R, ("model.path",)),
    # names that are the same here, for those who put them into another section
    **_same(f"{T}, {S} and {R}", "learning_rate", "max_grad_norm"),
    **_same(f"{T} and {R}", "weight_decay"),
    **_same(T, "beta"),
    **_same(f"{S} and {R}", "gamma"),
    **_same(S, "learning_starts", "gradient_steps"),
    **_same(f"{T} and {R}", "temperature", "top_p", "top_k", "max_new_tokens", section="decoding"),
    **_same(f"{T}, {S} and {R}", "seed", section="training"),
    **_same(S, "device", section="model"),
}
NAMES["device"] = Foreign(S, ("model.device", "algorithm.device"))


def hint(section: str, name: str, algorithm: str) -> str:
    """The refusal of a setting whose name is another library's, for a learner; "" if it is nobody's.

    Args:
        section: the section that has the name, or "a recipe" for a name outside of all sections.
    """
    found = NAMES.get(name)
    if found is None:
        return ""
    what = f"{section} has no setting {name!r}, a name of {found.owner}"
    more = f" ({found.note})" if found.note else ""
    fitting = [setting for setting in found.settings if fits(setting, algorithm)]
    if fitting:
        return f"{what}; with {algorithm} set {' or '.join(fitting)}{more}"
    if found.settings:
        owners = "; ".join(_owned(setting) for setting in found.settings)
        return f"{what}, and {algorithm} has nothing of the kind; {owners}{more}"
    return f"{what}; leave it out: {found.note or 'Loquent has nothing of the kind'}"


def fits(setting: str, algorithm: str) -> bool:
    """Whether a setting, or a whole section, has an effect with a learner."""
    section, _, name = setting.partition(".")
    if section == "algorithm":
        return name in kinds.settings_of(algorithm)
    if section in kinds.unused_sections(algorithm):
        return False
    return section == "rewards" or name in {field.name for field in dataclasses.fields(SHARED[section])}


def _owned(setting: str) -> str:
    """A setting with some of the learners that have it."""
    owners = [name for name in registry.names("algorithm") if fits(setting, name)]
    return f"{setting} is a setting of {', '.join(owners[:MOST])}"
