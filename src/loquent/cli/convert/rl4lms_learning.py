"""How an RL4LMs file learns: its algorithm, its batches and the length of its training."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from loquent.cli.convert.rl4lms_parts import IMDB, IMDB_ROWS, encoder_decoder
from loquent.cli.convert.source import Source
from loquent.cli.convert.tables import TABLES, WHY
from loquent.core import registry
from loquent.core.values import EMPTY
from loquent.errors import BadSetting, UnknownName

TRPO = TABLES.trpo
OTHERS = ("sub_sampling_factor", "rms_prop_eps", "use_rms_prop")  # arguments of A2C and TRPO alone
POLICY_LEFT = ("apply_model_parallel", "optimizer_kwargs", "optimizer_class", "state_dict")
PRODUCT = {  # the first two are multiplied
    "per_device_train_batch_size": "minibatch",
    "gradient_accumulation_steps": "minibatch",
    "warmup_steps": "warmup",
}
MASKS = ("learned_top_k", "learned_top_p", "topk")  # the first is RL4LMs' default


def on_policy(source: Source, kind: str) -> dict[str, Any]:
    """`alg.args`, `alg.kl_div` and the masking policy."""
    source.note_taken("alg.id", "algorithm.kind")
    section: dict[str, Any] = {"kind": kind}
    known = _settings(kind)
    defaults = TABLES.defaults.get(kind, EMPTY)
    for key, row in {**TABLES.on_policy, **(TRPO if kind == "trpo" else {})}.items():
        if row.to in known:
            section |= source.settings("alg.args", {key: row}, "algorithm", defaults)
        else:
            source.note_change(f"alg.args.{key}", f"{kind} has no such setting in Loquent")
    section |= _alone(source, kind, known)
    if "ratio" in known:
        section["ratio"] = "raw"  # RL4LMs scores tokens by the full softmax, whatever they are drawn from
    key = "alg.policy.args.weight_decay"
    section["weight_decay"] = source.get(key, float, 1e-6)
    why = WHY[key] if section.get("optimizer") == "rmsprop" else ""
    if why and source.node(key) is None:
        source.remark(key, why)
    source.note_taken(key, "algorithm.weight_decay", why)
    section |= _penalty(source)
    for key in ("alg.args.verbose", *(f"alg.policy.args.{name}" for name in POLICY_LEFT)):
        source.note_left(key)
    return section | (_mask(source) if kind == "nlpo" else {})


def _alone(source: Source, kind: str, known: set[str]) -> dict[str, Any]:
    """The arguments of one algorithm: the KL at which PPO ends an update, and A2C's optimizer."""
    section: dict[str, Any] = {}
    stop = source.get("alg.args.target_kl", float, None)
    if stop is not None and "stop_kl" in known:
        section["stop_kl"] = 1.5 * stop
        source.note_taken("alg.args.target_kl", "algorithm.stop_kl", WHY["alg.args.target_kl"])
    elif stop is not None:
        source.note_left("alg.args.target_kl", f"{kind} makes one step of the policy in an update")
    if kind == "a2c" and "optimizer" in known:
        by_rmsprop = source.get("alg.args.use_rms_prop", bool, True)
        section["optimizer"] = "rmsprop" if by_rmsprop else "adamw"
        source.note_taken("alg.args.use_rms_prop", "algorithm.optimizer")
    if kind == "trpo" and source.get("alg.args.sub_sampling_factor", int, 1) != 1:
        source.note_change("alg.args.sub_sampling_factor")
    for key in ("use_rms_prop", "sub_sampling_factor", *TRPO):
        source.note_left(f"alg.args.{key}", f"{kind} does not use it")
    source.note_left("alg.args.rms_prop_eps")
    return section


def _penalty(source: Source) -> dict[str, Any]:
    """The coefficient of the KL penalty and its target, from `alg.kl_div`."""
    section = source.settings("alg.kl_div", TABLES.penalty, "algorithm") | {"kl_gain": 0.1}
    target = section["kl_target"]
    if target is not None and (section["beta"] == 0 or not math.isfinite(target)):
        section["kl_target"] = None
    key = "alg.kl_div.norm_reward"
    if source.get(key, bool, False):
        source.note_change(key)
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
    source.note_taken(f"{key}.top_mask", "algorithm.top_p" if share else "algorithm.top_k")
    why = WHY[f"{key}.mask_type"] if mode == "topk" else ""
    source.note_taken(f"{key}.mask_type", "algorithm.top_p, algorithm.top_k", why)
    section["mu"] = 1 if mode == "topk" else source.get(f"{key}.target_update_iterations", int, 1000)
    key_of_mu = f"{key}.target_update_iterations"
    source.note_taken(key_of_mu, "algorithm.mu", WHY[key_of_mu])
    section["min_keep"] = max(1, source.get(f"{key}.min_tokens_to_keep", int, 100))
    more = "the released code keeps one token more of an encoder-decoder" if encoder_decoder(source) else ""
    if source.node(f"{key}.min_tokens_to_keep") is None:
        source.remark(
            f"{key}.min_tokens_to_keep", "was not set: RL4LMs then keeps 100; " + (more or "so here")
        )
    source.note_taken(f"{key}.min_tokens_to_keep", "algorithm.min_keep", more)
    return section


def supervised_settings(source: Source) -> dict[str, Any]:
    """`alg.training_args`: the arguments of Hugging Face's Trainer that have a counterpart."""
    key = "alg.training_args"
    source.note_taken("alg.id", "algorithm.kind")
    rows = source.get(f"{key}.per_device_train_batch_size", int, 8, 1)
    batches = source.get(f"{key}.gradient_accumulation_steps", int, 1, 1)
    schedule = source.get(f"{key}.lr_scheduler_type", str, "linear")
    if schedule == "constant":
        for name in ("warmup_steps", "warmup_ratio"):
            source.note_left(f"{key}.{name}", "Hugging Face's schedule constant has no warm-up")
    for name, setting in PRODUCT.items():
        source.note_taken(f"{key}.{name}", f"algorithm.{setting}")
    section: dict[str, Any] = {
        "kind": "supervised",
        "minibatch": rows * batches,
        **source.settings(key, TABLES.supervised, "algorithm"),
        "schedule": TABLES.schedules.get(schedule, "cosine"),
        # an encoder-decoder model reads its prompts and learns its answers
        "learn_on": "answer" if encoder_decoder(source) else "all",
        "warmup": 0 if schedule == "constant" else source.get(f"{key}.warmup_steps", int, 0, 0),
    }
    why = "" if schedule in TABLES.schedules else f"Loquent has no schedule {schedule}; a cosine replaces it"
    source.note_taken(f"{key}.lr_scheduler_type", "algorithm.schedule", why)
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
        source.note_taken(key, "training.seed")
    device = source.get("alg.args.device", str, "auto").partition(":")[0]
    if device in ("auto", "cpu", "cuda"):
        sections["model"] |= {"device": device} if device != "auto" else {}
    else:
        source.note_left("alg.args.device")
    source.note_taken("alg.args.device", "model.device")
    supervised = kind == "supervised"
    section |= _epochs(source, sections) if supervised else _iterations(source, kind, sections)
    rows = _evaluated(source, sections["task"])
    return section | ({"evaluate_episodes": rows, "final_episodes": rows} if rows else {})


def _evaluated(source: Source, task: dict[str, Any]) -> int:
    """The rows of an evaluation: all, as in RL4LMs, where their number is known; else 0."""
    if task.get("dataset") == IMDB["dataset"]:
        pool = "imdb_seq2seq" if source.get("datapool.id", str) == "imdb_seq2seq" else "imdb"
        source.remark("train_evaluation", WHY[f"rows.{pool}"])
        return 5000
    if task.get("dataset") == "constant":
        samples: int = source.get("datapool.args.n_samples", int, 100, 1)
        return samples
    source.remark("train_evaluation", WHY["rows"])
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
        source.note_taken(key, "training.episodes", why)
    algorithm = sections["algorithm"]
    if "minibatch" in _settings(algorithm["kind"]):
        algorithm["minibatch"] = minibatch
        why = f"{batch} tokens are {minibatch} answer(s) of {longest}; answers are not cut apart"
        source.note_taken("alg.args.batch_size", "algorithm.minibatch", why)
    if "critic_minibatch" in _settings(algorithm["kind"]):
        size = source.get("alg.args.batch_size", int, 128, 1)
        algorithm["critic_minibatch"] = max(1, round(size / longest))
        why = f"{size} tokens of a critic's minibatch; answers are not cut apart"
        source.note_taken("alg.args.batch_size", "algorithm.critic_minibatch", why)
    source.note_left("alg.args.batch_size")
    counts = source.settings("train_evaluation", TABLES.iterations, "training")
    return {
        "updates": counts["updates"],
        "episodes": episodes,
        "priority": 0.0,  # with replacement
        "evaluate_every": counts["evaluate_every"],
        "evaluate_first": True,
        "checkpoint_every": counts["checkpoint_every"],
    }


def _epochs(source: Source, sections: dict[str, Any]) -> dict[str, Any]:
    """Epochs over the rows as updates of one minibatch each."""
    key, algorithm = "alg.training_args", sections["algorithm"]
    size, epochs = algorithm["minibatch"], source.get(f"{key}.num_train_epochs", float, 3.0, 0)
    counts = source.settings(key, TABLES.epochs, "training")
    section: dict[str, Any] = {
        "episodes": size,
        "evaluate_every": counts["evaluate_every"],
        "evaluate_first": True,
        "checkpoint_every": counts["checkpoint_every"],
    }
    pool = TABLES.pools.get(source.get("datapool.id", str))
    rows = IMDB_ROWS if sections["task"].get("dataset") == IMDB["dataset"] else pool.rows if pool else 0
    if source.get("datapool.id", str) == "imdb_seq2seq":
        section["only"] = {"label": 1}
        rows = int(rows / 2 * source.get("datapool.args.positive_ratio", float, 1.0, 0))
    if rows:
        section["updates"] = math.ceil(epochs * math.ceil(rows / size))
    limit = source.get(f"{key}.max_steps", int, -1)
    if limit > 0:
        section["updates"] = limit
        source.note_taken(f"{key}.max_steps", "training.updates")
        source.note_left(f"{key}.num_train_epochs", "max_steps goes before it, as in RL4LMs")
    if rows:
        why = f"{section['updates']} updates of {size} of about {rows} rows"
        source.note_taken(f"{key}.num_train_epochs", "training.updates", why)
    else:
        why = f"set it: {epochs:g} epochs times the number of your rows, divided by training.episodes"
        source.missing(f"{key}.num_train_epochs", "training.updates", why)
    _warmup(source, algorithm, section.get("updates"))
    arguments = source.node(key)
    for name in arguments.mapping(key) if arguments else ():
        if name not in TABLES.training_args:
            source.note_left(f"{key}.{name}", "the training loop has no such setting")
    source.note_left(f"{key}.max_steps")
    return section


def _warmup(source: Source, algorithm: dict[str, Any], updates: int | None) -> None:
    """Set the warm-up, of which a share depends on the number of updates; the schedule spans the run."""
    key = "alg.training_args.warmup_ratio"
    share = source.get(key, float, 0.0, 0)
    if algorithm["warmup"]:
        source.note_left(key, "warmup_steps goes before it, as in RL4LMs")
    elif share and key not in source.noted:
        if updates is None:
            source.missing(key, "algorithm.warmup", f"set it to {share:g} times training.updates")
        else:
            algorithm["warmup"] = math.ceil(share * updates)
    source.note_taken(key, "algorithm.warmup")
