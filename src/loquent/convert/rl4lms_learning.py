"""What an RL4LMs file learns by: its algorithm, its batches and how long it trains."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from loquent.convert.rl4lms_parts import IMDB, IMDB_ROWS, encoder_decoder
from loquent.convert.source import Source
from loquent.core import registry
from loquent.errors import BadSetting, UnknownName

ON_POLICY = {  # their name -> ours, type, the default of the library beneath (stable-baselines3)
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
A2C = {
    "learning_rate": 7e-4,
    "gae_lambda": 1.0,
    "n_epochs": 1,
    "normalize_advantage": False,
}  # where its defaults differ
OTHERS = {  # arguments of A2C and TRPO alone
    "cg_max_steps": "the step is a gradient step",
    "cg_damping": "the step is a gradient step",
    "line_search_shrinking_factor": "the step is a gradient step",
    "line_search_max_iter": "the step is a gradient step",
    "n_critic_updates": "policy and critic learn in the same steps",
    "sub_sampling_factor": "all tokens are learned from",
    "rms_prop_eps": "the optimizer is AdamW, as the policies there have it",
    "use_rms_prop": "the optimizer is AdamW, as the policies there have it",
}
POLICY_LEFT = {
    "apply_model_parallel": "one device holds the networks",
    "optimizer_kwargs": "AdamW has its usual betas and epsilon",
    "optimizer_class": "the optimizer is AdamW",
    "prompt_truncation_side": "long prompts lose their oldest tokens",
    "state_dict": "a model is loaded by model.path",
}
TRAINING_ARGS = {
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "num_train_epochs",
    "learning_rate",
    "weight_decay",
}
TRAINING_ARGS |= {"lr_scheduler_type", "warmup_steps", "warmup_ratio", "max_grad_norm", "seed", "max_steps"}
STANDS_IN = {
    "a2c": "with one pass over each collection",
    "trpo": "with a clipped ratio, without a trust region,",
}
MASKS = ("learned_top_k", "learned_top_p", "topk")  # the first is the library's default


def on_policy(source: Source, kind: str) -> dict[str, Any]:
    """`alg.args`, `alg.kl_div` and the masking policy.

    An algorithm that is not registered becomes PPO, which is a change.
    """
    ours = kind if kind in registry.names("algorithm") else "ppo"
    if ours == kind:
        source.taken("alg.id", "algorithm.kind")
    else:
        source.changed(
            "alg.id", f"{kind} is not here; PPO {STANDS_IN[kind]} stands in its place", "algorithm.kind"
        )
    made: dict[str, Any] = {"kind": ours}
    known = _settings(ours)
    for name, (own, value_type, default) in ON_POLICY.items():
        if own in known:
            made[own] = source.get(
                f"alg.args.{name}", value_type, A2C.get(name, default) if kind == "a2c" else default
            )
            source.taken(f"alg.args.{name}", f"algorithm.{own}")
        else:
            source.changed(f"alg.args.{name}", f"{ours} has no such setting here")
    for name, why in OTHERS.items():
        source.left(f"alg.args.{name}", why)
    stop = source.get("alg.args.target_kl", float, None)
    if kind == "trpo":
        source.left("alg.args.target_kl", "it is the trust region of TRPO; algorithm.stop_kl is nearest")
    elif stop is not None:
        made["stop_kl"] = 1.5 * stop
        source.taken("alg.args.target_kl", "algorithm.stop_kl", "an update ends at 1.5 times it, as there")
    source.taken("alg.args.target_kl", "algorithm.stop_kl")
    made["weight_decay"] = source.get("alg.policy.args.weight_decay", float, 1e-6)
    source.taken("alg.policy.args.weight_decay", "algorithm.weight_decay")
    made |= {
        "beta": source.get("alg.kl_div.coeff", float, 0.0),
        "kl_target": source.get("alg.kl_div.target_kl", float, None),
        "kl_gain": 0.1,
    }
    if made["kl_target"] is not None and (made["beta"] == 0 or not math.isfinite(made["kl_target"])):
        made["kl_target"] = None
    source.taken("alg.kl_div.coeff", "algorithm.beta")
    source.taken("alg.kl_div.target_kl", "algorithm.kl_target")
    if source.get("alg.kl_div.norm_reward", bool, False):
        source.changed(
            "alg.kl_div.norm_reward",
            "rewards are not normalised over the tokens of a collection, zeros and KL penalty included",
        )
    source.same("alg.kl_div.norm_reward")
    source.left("alg.args.verbose", "progress is shown on stderr")
    for name, why in POLICY_LEFT.items():
        source.left(f"alg.policy.args.{name}", why)
    return made | (_mask(source) if ours == "nlpo" else {})


def _settings(algorithm: str) -> set[str]:
    return {field.name for field in dataclasses.fields(registry.find("algorithm", algorithm).Config)}


def _place(source: Source, key: str) -> str:
    found = source.node(key)
    return found.place if found else source.root.file


def _mask(source: Source) -> dict[str, Any]:
    """NLPO's masking policy.

    The released code never brings it up to date; the recipe does, as the paper says.
    """
    key = "alg.policy.args"
    mode, top = source.get(f"{key}.mask_type", str, MASKS[0]), source.get(f"{key}.top_mask", float, low=0)
    if mode not in MASKS:
        raise BadSetting(
            f"{_place(source, f'{key}.mask_type')}: {UnknownName('mask type of RL4LMs', mode, MASKS)}"
        )
    if mode != "learned_top_p" and (top < 1 or top != int(top)):
        told = "" if source.node(f"{key}.mask_type") else " (which none stands for)"
        raise BadSetting(
            f"{_place(source, f'{key}.top_mask')}: {key}.top_mask = {top:g}: mask_type {mode}{told} "
            "keeps so many of the likeliest tokens, so a whole number of at least 1 is right; "
            "learned_top_p keeps a share of the probability"
        )
    made: dict[str, Any] = (
        {"top_p": top, "top_k": 0} if mode == "learned_top_p" else {"top_p": 1.0, "top_k": int(top)}
    )
    source.taken(f"{key}.top_mask", "algorithm.top_p" if mode == "learned_top_p" else "algorithm.top_k")
    why = (
        "the mask is the current policy's own: mu 1 brings it up to date before each collection"
        if mode == "topk"
        else ""
    )
    source.taken(f"{key}.mask_type", "algorithm.top_p, algorithm.top_k", why)
    made["mu"] = 1 if mode == "topk" else source.get(f"{key}.target_update_iterations", int, 1000)
    frozen = (
        "the released code never brings its mask up to date; algorithm.preset: rl4lms, or mu: 0, is "
        "what it ran"
    )
    source.taken(f"{key}.target_update_iterations", "algorithm.mu", frozen)
    made["min_keep"] = max(1, source.get(f"{key}.min_tokens_to_keep", int, 100))
    source.taken(f"{key}.min_tokens_to_keep", "algorithm.min_keep")
    return made


def supervised(source: Source) -> dict[str, Any]:
    """`alg.training_args`: those of Hugging Face's Trainer that have a counterpart."""
    key = "alg.training_args"
    source.taken("alg.id", "algorithm.kind")
    size = source.get(f"{key}.per_device_train_batch_size", int, 8, 1) * source.get(
        f"{key}.gradient_accumulation_steps", int, 1, 1
    )
    schedule = source.get(f"{key}.lr_scheduler_type", str, "linear")
    made: dict[str, Any] = {
        "kind": "supervised",
        "minibatch": size,
        "learning_rate": source.get(f"{key}.learning_rate", float, 5e-5),
    }
    made |= {
        "weight_decay": source.get(f"{key}.weight_decay", float, 0.0),
        "max_grad_norm": source.get(f"{key}.max_grad_norm", float, 1.0),
    }
    made |= {"schedule": "constant" if schedule.startswith("constant") else "cosine"}
    made["learn_on"] = (
        "answer" if encoder_decoder(source) else "all"
    )  # an encoder-decoder model reads its prompts and learns its answers
    made["warmup"] = source.get(f"{key}.warmup_steps", int, 0, 0)
    for name, ours in (
        ("per_device_train_batch_size", "minibatch"),
        ("gradient_accumulation_steps", "minibatch"),
        ("warmup_steps", "warmup"),
    ):
        source.taken(f"{key}.{name}", f"algorithm.{ours}")
    for name in ("learning_rate", "weight_decay", "max_grad_norm"):
        source.taken(f"{key}.{name}", f"algorithm.{name}")
    near = (
        ""
        if schedule in ("constant", "cosine", "constant_with_warmup")
        else f"{schedule} is not here; a cosine stands in its place"
    )
    source.taken(f"{key}.lr_scheduler_type", "algorithm.schedule", near)
    if source.node(f"{key}.lr_scheduler_type") is None:
        source.remark(
            f"{key}.lr_scheduler_type",
            "was not set: Hugging Face then comes down linearly, which is not here; a cosine stands "
            "in its place",
        )
    return made


def training(source: Source, kind: str, made: dict[str, Any]) -> dict[str, Any]:
    """How long and how it is watched."""
    found: dict[str, Any] = {
        "seed": source.get("alg.training_args.seed" if kind == "supervised" else "alg.args.seed", int, 0)
    }
    for key in ("alg.args.seed", "alg.training_args.seed"):
        source.taken(key, "training.seed")
    device = source.get("alg.args.device", str, "auto").partition(":")[0]
    if device in ("auto", "cpu", "cuda"):
        made["model"] |= {"device": device} if device != "auto" else {}
    else:
        source.left("alg.args.device", "auto, cpu and cuda are known here; auto stands in its place")
    source.taken("alg.args.device", "model.device")
    found |= _epochs(source, made) if kind == "supervised" else _iterations(source, kind, made)
    if made["task"].get("name") == IMDB["name"]:
        found |= {"evaluate_episodes": 5000, "final_episodes": 5000}
        source.remark(
            "train_evaluation",
            "all 5,000 held-out rows are played in every evaluation, as there; "
            "training.evaluate_episodes=200 is quicker",
        )
    return found


def _iterations(source: Source, kind: str, made: dict[str, Any]) -> dict[str, Any]:
    """Steps there are tokens; episodes here are whole answers."""
    tokens = source.get("env.n_envs", int, 1, 1) * source.get(
        "alg.args.n_steps", int, 5 if kind == "a2c" else 2048, 1
    )
    batch, longest = source.get("alg.args.batch_size", int, 64, 1), max(1, made["decoding"]["max_new_tokens"])
    episodes, minibatch = max(1, round(tokens / longest)), max(1, round(batch / longest))
    for key in ("env.n_envs", "alg.args.n_steps"):
        source.taken(
            key, "training.episodes", f"{tokens} tokens an update are {episodes} answers of {longest}"
        )
    if "minibatch" in _settings(made["algorithm"]["kind"]):
        made["algorithm"]["minibatch"] = episodes if kind == "a2c" else minibatch
        why = f"{batch} tokens are {minibatch} answer(s) of {longest}; answers are not cut apart"
        source.taken("alg.args.batch_size", "algorithm.minibatch", why)
    source.left("alg.args.batch_size", "a collection is learned from as a whole")
    found = {"updates": source.get("train_evaluation.n_iters", int), "episodes": episodes}
    found |= {
        "evaluate_every": source.get("train_evaluation.eval_every", int, 10),
        "checkpoint_every": source.get("train_evaluation.save_every", int, 20),
    }
    for name, ours in (
        ("n_iters", "updates"),
        ("eval_every", "evaluate_every"),
        ("save_every", "checkpoint_every"),
    ):
        source.taken(f"train_evaluation.{name}", f"training.{ours}")
    return found


def _epochs(source: Source, made: dict[str, Any]) -> dict[str, Any]:
    """Epochs over the rows as updates of one minibatch each."""
    size, epochs = (
        made["algorithm"]["minibatch"],
        source.get("alg.training_args.num_train_epochs", float, 3.0, 0),
    )
    found: dict[str, Any] = {"episodes": size, "evaluate_every": 0}
    rows = IMDB_ROWS if made["task"].get("name") == IMDB["name"] else 0
    if source.get("datapool.id", str) == "imdb_seq2seq":
        found["only"] = {"label": 1}
        rows = int(rows / 2 * source.get("datapool.args.positive_ratio", float, 1.0, 0))
    if rows:
        found["updates"] = math.ceil(epochs * rows / max(1, size))
    most = source.get("alg.training_args.max_steps", int, -1)
    if most > 0:
        found["updates"] = most
        source.taken("alg.training_args.max_steps", "training.updates")
        source.left("alg.training_args.num_train_epochs", "max_steps goes before it, there too")
    why = (
        f"{found['updates']} updates of {size} of about {rows} rows"
        if rows
        else f"set it: {epochs:g} epochs times the number of your rows, divided by training.episodes"
    )
    if rows:
        source.taken("alg.training_args.num_train_epochs", "training.updates", why)
    else:
        source.missing("alg.training_args.num_train_epochs", "training.updates", why)
    share = source.get("alg.training_args.warmup_ratio", float, 0.0, 0)
    updates = found.get("updates", 50)
    if made["algorithm"]["warmup"]:
        source.left("alg.training_args.warmup_ratio", "warmup_steps goes before it, there too")
    elif share:
        made["algorithm"]["warmup"] = math.ceil(share * updates)
    source.taken("alg.training_args.warmup_ratio", "algorithm.warmup")
    if made["algorithm"]["schedule"] == "cosine":
        made["algorithm"]["total_steps"] = max(updates, made["algorithm"]["warmup"] + 1)
    inside = source.node("alg.training_args")
    for name in inside.mapping("alg.training_args") if inside else ():
        if name not in TRAINING_ARGS:
            source.left(f"alg.training_args.{name}", "the training loop has no such setting")
    source.left("alg.training_args.max_steps", "it sets no limit; training.updates says how long")
    return found
