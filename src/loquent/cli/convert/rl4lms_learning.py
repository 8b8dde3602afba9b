"""How an RL4LMs file learns: its algorithm, its batches and the length of its training."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from loquent.cli.convert.rl4lms_parts import IMDB, IMDB_ROWS, encoder_decoder
from loquent.cli.convert.rl4lms_pools import POOLS
from loquent.cli.convert.source import Source
from loquent.core import registry
from loquent.errors import BadSetting, UnknownName

ON_POLICY = {  # RL4LMs' name -> Loquent's name, type, default of stable-baselines3, which RL4LMs builds on
    "n_epochs": ("epochs", int, 10),
    "learning_rate": ("learning_rate", float, 3e-4),
    "gamma": ("gamma", float, 0.99),
    "gae_lambda": ("lam", float, 0.95),
    "clip_range": ("clip", float, 0.2),
    "clip_range_vf": ("value_clip", float, None),
    "normalize_advantage": ("normalize_advantages", bool, True),
    "ent_coef": ("entropy_coefficient", float, 0.0),
    "vf_coef": ("value_coefficient", float, 0.5),
    "max_grad_norm": ("max_grad_norm", float, 0.5),
}
# the defaults of A2C that differ
A2C = {"learning_rate": 7e-4, "gae_lambda": 1.0, "n_epochs": 1, "normalize_advantage": False}
TRPO = {  # RL4LMs' name -> Loquent's name, type, default of sb3-contrib
    "learning_rate": ("learning_rate", float, 1e-3),
    "target_kl": ("radius", float, 0.01),
    "cg_max_steps": ("conjugate_steps", int, 15),
    "cg_damping": ("damping", float, 0.1),
    "line_search_shrinking_factor": ("shrink", float, 0.8),
    "line_search_max_iter": ("searches", int, 10),
    "n_critic_updates": ("critic_epochs", int, 10),
}
ENTROPY = "the bonus is the entropy over the tokens that can be drawn; in RL4LMs over all tokens"
OTHERS = ("sub_sampling_factor", "rms_prop_eps", "use_rms_prop")  # arguments of A2C and TRPO alone
POLICY_LEFT = {
    "apply_model_parallel": "one device holds the networks",
    "optimizer_kwargs": "AdamW has its usual betas and epsilon",
    "optimizer_class": "the optimizer is AdamW",
    "state_dict": "a model is loaded by model.path",
}
TRAINING_ARGS = {
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "num_train_epochs",
    "learning_rate",
    "weight_decay",
    "lr_scheduler_type",
    "warmup_steps",
    "warmup_ratio",
    "max_grad_norm",
    "seed",
    "max_steps",
    "logging_steps",
}
SCHEDULES = {  # of Hugging Face, and here
    "linear": "linear",
    "cosine": "cosine",
    "constant": "constant",
    "constant_with_warmup": "constant",
}
MASKS = ("learned_top_k", "learned_top_p", "topk")  # the first is RL4LMs' default


def on_policy(source: Source, kind: str) -> dict[str, Any]:
    """`alg.args`, `alg.kl_div` and the masking policy."""
    source.taken("alg.id", "algorithm.kind")
    section: dict[str, Any] = {"kind": kind}
    known = _settings(kind)
    table = ON_POLICY | (TRPO if kind == "trpo" else {})
    for key, (setting, value_type, default) in table.items():
        if setting in known:
            default = A2C.get(key, default) if kind == "a2c" else default
            default = None if kind == "trpo" and key == "max_grad_norm" else default  # of sb3-contrib
            section[setting] = source.get(f"alg.args.{key}", value_type, default)
            why = ENTROPY if key == "ent_coef" and section[setting] else ""
            source.taken(f"alg.args.{key}", f"algorithm.{setting}", why)
        else:
            source.changed(f"alg.args.{key}", f"{kind} has no such setting in Loquent")
    section |= _alone(source, kind, known)
    if "ratio" in known:
        section["ratio"] = "raw"  # RL4LMs scores tokens by the full softmax, whatever they are drawn from
    key = "alg.policy.args.weight_decay"
    section["weight_decay"] = source.get(key, float, 1e-6)
    without = "RL4LMs' RMSprop also has a weight decay, 1e-6 if it is not set; RMSprop here has none"
    why = without if section.get("optimizer") == "rmsprop" else ""
    if why and source.node(key) is None:
        source.remark(key, why)
    source.taken(key, "algorithm.weight_decay", why)
    section |= _penalty(source)
    source.left("alg.args.verbose", "progress is shown on stderr")
    for key, why in POLICY_LEFT.items():
        source.left(f"alg.policy.args.{key}", why)
    return section | (_mask(source) if kind == "nlpo" else {})


def _alone(source: Source, kind: str, known: set[str]) -> dict[str, Any]:
    """The arguments of one algorithm: the KL at which PPO ends an update, and A2C's optimizer."""
    section: dict[str, Any] = {}
    stop = source.get("alg.args.target_kl", float, None)
    if stop is not None and "stop_kl" in known:
        section["stop_kl"] = 1.5 * stop
        why = "an update ends at 1.5 times this value, as in RL4LMs"
        source.taken("alg.args.target_kl", "algorithm.stop_kl", why)
    elif stop is not None:
        source.left("alg.args.target_kl", f"{kind} makes one step of the policy in an update")
    if kind == "a2c" and "optimizer" in known:
        by_rmsprop = source.get("alg.args.use_rms_prop", bool, True)
        section["optimizer"] = "rmsprop" if by_rmsprop else "adamw"
        source.taken("alg.args.use_rms_prop", "algorithm.optimizer")
    if kind == "trpo" and source.get("alg.args.sub_sampling_factor", int, 1) != 1:
        source.changed("alg.args.sub_sampling_factor", "the step is computed from all tokens")
    for key in ("use_rms_prop", "sub_sampling_factor", *TRPO):
        source.left(f"alg.args.{key}", f"{kind} does not use it")
    source.left("alg.args.rms_prop_eps", "ε of RMSprop is 1e-5, as in stable-baselines3")
    return section


def _penalty(source: Source) -> dict[str, Any]:
    """The coefficient of the KL penalty and its target, from `alg.kl_div`."""
    section = {
        "beta": source.get("alg.kl_div.coeff", float, 0.0),
        "kl_target": source.get("alg.kl_div.target_kl", float, None),
        "kl_gain": 0.1,
    }
    target = section["kl_target"]
    if target is not None and (section["beta"] == 0 or not math.isfinite(target)):
        section["kl_target"] = None
    source.taken("alg.kl_div.coeff", "algorithm.beta")
    source.taken("alg.kl_div.target_kl", "algorithm.kl_target")
    key = "alg.kl_div.norm_reward"
    if source.get(key, bool, False):
        source.changed(
            key, "rewards are not normalised over the tokens of a collection, with its zeros and KL penalties"
        )
    source.same(key)
    return section


def _settings(algorithm: str) -> set[str]:
    return {field.name for field in dataclasses.fields(registry.find("algorithm", algorithm).Config)}


def _mask(source: Source) -> dict[str, Any]:
    """The masking policy of NLPO.

    The released code never updates it; the recipe does, as the paper says.
    """
    key = "alg.policy.args"
    mode, top = source.get(f"{key}.mask_type", str, MASKS[0]), source.get(f"{key}.top_mask", float, low=0)
    if mode not in MASKS:
        place = source.place(f"{key}.mask_type")
        raise BadSetting(f"{place}: {UnknownName('mask type of RL4LMs', mode, MASKS)}")
    if mode != "learned_top_p" and (top < 1 or top != int(top)):
        default = "" if source.node(f"{key}.mask_type") else " (the default)"
        raise BadSetting(
            f"{source.place(f'{key}.top_mask')}: {key}.top_mask must be a whole number of at least 1, got "
            f"{top:g}: mask_type {mode}{default} keeps so many of the likeliest tokens. To keep a share of "
            "the probability, set mask_type to learned_top_p"
        )
    share = mode == "learned_top_p"
    section: dict[str, Any] = {"top_p": top, "top_k": 0} if share else {"top_p": 1.0, "top_k": int(top)}
    source.taken(f"{key}.top_mask", "algorithm.top_p" if share else "algorithm.top_k")
    own = "the mask is the current policy's own: mu 1 updates it before each collection"
    source.taken(f"{key}.mask_type", "algorithm.top_p, algorithm.top_k", own if mode == "topk" else "")
    section["mu"] = 1 if mode == "topk" else source.get(f"{key}.target_update_iterations", int, 1000)
    frozen = (
        "the released code never updates its mask, and masks in evaluation too; algorithm.preset: "
        "rl4lms does the same"
    )
    source.taken(f"{key}.target_update_iterations", "algorithm.mu", frozen)
    section["min_keep"] = max(1, source.get(f"{key}.min_tokens_to_keep", int, 100))
    more = "the released code keeps one token more of an encoder-decoder" if encoder_decoder(source) else ""
    if source.node(f"{key}.min_tokens_to_keep") is None:
        source.remark(
            f"{key}.min_tokens_to_keep", "was not set: RL4LMs then keeps 100; " + (more or "so here")
        )
    source.taken(f"{key}.min_tokens_to_keep", "algorithm.min_keep", more)
    return section


def supervised(source: Source) -> dict[str, Any]:
    """`alg.training_args`: the arguments of Hugging Face's Trainer that have a counterpart."""
    key = "alg.training_args"
    source.taken("alg.id", "algorithm.kind")
    rows = source.get(f"{key}.per_device_train_batch_size", int, 8, 1)
    batches = source.get(f"{key}.gradient_accumulation_steps", int, 1, 1)
    schedule = source.get(f"{key}.lr_scheduler_type", str, "linear")
    ours = SCHEDULES.get(schedule, "cosine")
    section: dict[str, Any] = {
        "kind": "supervised",
        "minibatch": rows * batches,
        "learning_rate": source.get(f"{key}.learning_rate", float, 5e-5),
        "weight_decay": source.get(f"{key}.weight_decay", float, 0.0),
        "max_grad_norm": source.get(f"{key}.max_grad_norm", float, 1.0),
        "schedule": ours,
        # an encoder-decoder model reads its prompts and learns its answers
        "learn_on": "answer" if encoder_decoder(source) else "all",
        "warmup": 0 if schedule == "constant" else source.get(f"{key}.warmup_steps", int, 0, 0),
    }
    if schedule == "constant":
        for name in ("warmup_steps", "warmup_ratio"):
            source.left(f"{key}.{name}", "Hugging Face's schedule constant has no warm-up")
    for name, setting in (
        ("per_device_train_batch_size", "minibatch"),
        ("gradient_accumulation_steps", "minibatch"),
        ("warmup_steps", "warmup"),
        ("learning_rate", "learning_rate"),
        ("weight_decay", "weight_decay"),
        ("max_grad_norm", "max_grad_norm"),
    ):
        source.taken(f"{key}.{name}", f"algorithm.{setting}")
    why = "" if schedule in SCHEDULES else f"Loquent has no schedule {schedule}; a cosine replaces it"
    source.taken(f"{key}.lr_scheduler_type", "algorithm.schedule", why)
    if source.node(f"{key}.lr_scheduler_type") is None:
        source.remark(f"{key}.lr_scheduler_type", "was not set: Hugging Face then comes down linearly")
    return section


def training(source: Source, kind: str, sections: dict[str, Any]) -> dict[str, Any]:
    """The length of the training, its seed and its evaluations.

    Args:
        source: the file.
        kind: the algorithm of RL4LMs.
        sections: the other sections of the recipe. The device of the model and settings of the algorithm that
            depend on the length are added to them.
    """
    seed_key = "alg.training_args.seed" if kind == "supervised" else "alg.args.seed"
    section: dict[str, Any] = {"seed": source.get(seed_key, int, 0)}
    for key in ("alg.args.seed", "alg.training_args.seed"):
        source.taken(key, "training.seed")
    device = source.get("alg.args.device", str, "auto").partition(":")[0]
    if device in ("auto", "cpu", "cuda"):
        sections["model"] |= {"device": device} if device != "auto" else {}
    else:
        source.left("alg.args.device", "Loquent knows the devices auto, cpu and cuda; auto replaces it")
    source.taken("alg.args.device", "model.device")
    supervised = kind == "supervised"
    section |= _epochs(source, sections) if supervised else _iterations(source, kind, sections)
    rows = _evaluated(source, sections["task"])
    return section | ({"evaluate_episodes": rows, "final_episodes": rows} if rows else {})


def _evaluated(source: Source, task: dict[str, Any]) -> int:
    """The rows of an evaluation: all, as in RL4LMs, where their number is known; else 0."""
    if task.get("dataset") == IMDB["dataset"]:
        why = (
            "all 5,000 held-out rows are played in every evaluation, as in RL4LMs; "
            "training.evaluate_episodes=200 is faster"
        )
        if source.get("datapool.id", str) == "imdb_seq2seq":
            why += "; evaluations in training are on positive reviews, in RL4LMs on all validation reviews"
        source.remark("train_evaluation", why)
        return 5000
    if task.get("dataset") == "constant":
        samples: int = source.get("datapool.args.n_samples", int, 100, 1)
        return samples
    why = (
        "RL4LMs evaluates all rows of a split; here training.evaluate_episodes are 200 and "
        "training.final_episodes are 400: set them to the rows of your splits"
    )
    source.remark("train_evaluation", why)
    return 0


def _iterations(source: Source, kind: str, sections: dict[str, Any]) -> dict[str, Any]:
    """Updates and episodes: a collection counts steps (tokens) in RL4LMs, and episodes in Loquent."""
    steps = source.get("alg.args.n_steps", int, 5 if kind == "a2c" else 2048, 1)
    tokens = source.get("env.n_envs", int, 1, 1) * steps
    batch = source.get("alg.args.batch_size", int, 64, 1)
    longest = max(1, sections["decoding"]["max_new_tokens"])
    episodes, minibatch = max(1, round(tokens / longest)), max(1, round(batch / longest))
    for key in ("env.n_envs", "alg.args.n_steps"):
        why = (
            f"{tokens} tokens an update are {episodes} answers of {longest}; RL4LMs collects more answers "
            "where answers are shorter"
        )
        source.taken(key, "training.episodes", why)
    algorithm = sections["algorithm"]
    if "minibatch" in _settings(algorithm["kind"]):
        algorithm["minibatch"] = minibatch
        why = f"{batch} tokens are {minibatch} answer(s) of {longest}; answers are not cut apart"
        source.taken("alg.args.batch_size", "algorithm.minibatch", why)
    if "critic_minibatch" in _settings(algorithm["kind"]):
        size = source.get("alg.args.batch_size", int, 128, 1)
        algorithm["critic_minibatch"] = max(1, round(size / longest))
        why = f"{size} tokens of a critic's minibatch; answers are not cut apart"
        source.taken("alg.args.batch_size", "algorithm.critic_minibatch", why)
    source.left("alg.args.batch_size", "the update learns from a whole collection at once")
    section = {
        "updates": source.get("train_evaluation.n_iters", int),
        "episodes": episodes,
        "priority": 0.0,  # with replacement
        "evaluate_every": source.get("train_evaluation.eval_every", int, 10),
        "evaluate_first": True,
        "checkpoint_every": source.get("train_evaluation.save_every", int, 20),
    }
    for name, setting in (
        ("n_iters", "updates"),
        ("eval_every", "evaluate_every"),
        ("save_every", "checkpoint_every"),
    ):
        source.taken(f"train_evaluation.{name}", f"training.{setting}")
    return section


def _epochs(source: Source, sections: dict[str, Any]) -> dict[str, Any]:
    """Epochs over the rows as updates of one minibatch each."""
    key, algorithm = "alg.training_args", sections["algorithm"]
    size, epochs = algorithm["minibatch"], source.get(f"{key}.num_train_epochs", float, 3.0, 0)
    section: dict[str, Any] = {
        "episodes": size,
        "evaluate_every": source.get(f"{key}.logging_steps", int, 500, 1),
        "evaluate_first": True,
        "checkpoint_every": source.get(f"{key}.save_steps", int, 500, 1),
    }
    why = "RL4LMs evaluates the validation split whenever Hugging Face's Trainer logs"
    source.taken(f"{key}.logging_steps", "training.evaluate_every", why)
    source.taken(f"{key}.save_steps", "training.checkpoint_every")
    pool = POOLS.get(source.get("datapool.id", str))
    rows = IMDB_ROWS if sections["task"].get("dataset") == IMDB["dataset"] else pool.rows if pool else 0
    if source.get("datapool.id", str) == "imdb_seq2seq":
        section["only"] = {"label": 1}
        rows = int(rows / 2 * source.get("datapool.args.positive_ratio", float, 1.0, 0))
    if rows:
        section["updates"] = math.ceil(epochs * math.ceil(rows / size))
    limit = source.get(f"{key}.max_steps", int, -1)
    if limit > 0:
        section["updates"] = limit
        source.taken(f"{key}.max_steps", "training.updates")
        source.left(f"{key}.num_train_epochs", "max_steps goes before it, as in RL4LMs")
    if rows:
        why = f"{section['updates']} updates of {size} of about {rows} rows"
        source.taken(f"{key}.num_train_epochs", "training.updates", why)
    else:
        why = f"set it: {epochs:g} epochs times the number of your rows, divided by training.episodes"
        source.missing(f"{key}.num_train_epochs", "training.updates", why)
    _warmup(source, algorithm, section.get("updates"))
    arguments = source.node(key)
    for name in arguments.mapping(key) if arguments else ():
        if name not in TRAINING_ARGS:
            source.left(f"{key}.{name}", "the training loop has no such setting")
    source.left(f"{key}.max_steps", "it sets no limit; training.updates is the length of the training")
    return section


def _warmup(source: Source, algorithm: dict[str, Any], updates: int | None) -> None:
    """Set the warm-up, of which a share depends on the number of updates; the schedule spans the run."""
    key = "alg.training_args.warmup_ratio"
    share = source.get(key, float, 0.0, 0)
    if algorithm["warmup"]:
        source.left(key, "warmup_steps goes before it, as in RL4LMs")
    elif share and key not in source.noted:
        if updates is None:
            source.missing(key, "algorithm.warmup", f"set it to {share:g} times training.updates")
        else:
            algorithm["warmup"] = math.ceil(share * updates)
    source.taken(key, "algorithm.warmup")
