"""The sections of an RL4LMs file, one function for each section of a recipe."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from loquent import registry
from loquent.convert.source import Source
from loquent.errors import BadSetting, UnknownName
from loquent.fill import Node

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
POLICY_LEFT = {
    "apply_model_parallel": "one device holds the networks",
    "optimizer_kwargs": "AdamW has its usual betas and epsilon",
    "optimizer_class": "the optimizer is AdamW",
    "prompt_truncation_side": "long prompts lose their oldest tokens",
    "state_dict": "a model is loaded by model.path",
}
TRAINING_ARGS = {"per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "learning_rate", "weight_decay"}
TRAINING_ARGS |= {"lr_scheduler_type", "warmup_steps", "warmup_ratio", "max_grad_norm", "seed", "max_steps"}
MASKS = ("learned_top_k", "learned_top_p", "topk")  # the first is the library's default
IMDB = {"source": "hub", "name": "stanfordnlp/imdb", "revision": "e6281661ce1c48d982bc483cf8a173c1bbeb5d31", "prompt_fraction": 0.5}
IMDB_ROWS = 20_000  # of train, when a fifth is set aside for validation; half of them are positive
GENERATION = {"temperature": float, "top_p": float}
NAMES = {
    "learned_reward": "sentiment",
    "causal_perplexity": "perplexity",
    "sacre_bleu": "sacrebleu",
    "parent_totto": "parent",
    "summaCZS": "summac_zs",
    "summaCConv": "summac_conv",
}
NEEDED = {"spice": ("jar",)}  # options with a default of their own, without which nothing can be measured on most machines
OPTIONS = {"model_name": "classifier", "label_ix": "label", "include_prompt_for_eval": "include_prompt", "window_size": "window"}
OPTION_LEFT = {
    "batch_size": "texts are batched by length",
    "tokenizer_id": "the policy's own tokenizer is used",
    "model_type": "the policy's own kind",
    "use_text_from_meta_data": "references are scored after their prompts",
}


def expand(source: Source) -> None:
    """A sweep (`expand`, `values`) stands for its first value."""
    for name, node in list(source.root.value.items()):
        inside = node.value if isinstance(node.value, dict) else {}
        several = inside.get("values")
        if several is not None and isinstance(several.value, list) and several.value:
            kept = several.value[0]
            source.left(f"{name}.expand", "a sweep is a suite here (loquent bench)")
            source.left(f"{name}.values", f"the first of {len(several.value)} values of a sweep is taken")
            source.root.value[name] = Node(kept.value, kept.file, kept.line)


def task(source: Source) -> dict[str, Any]:
    """`datapool` and the parts of `env` that belong to the task."""
    pool = source.get("datapool.id", str)
    made: dict[str, Any] = {"kind": "generation"}
    if pool in ("imdb", "imdb_seq2seq"):
        made |= IMDB
        source.taken("datapool.id", "task.source, task.name", "splits are cut by a hash of the ids, not by a shuffle")
        source.left("datapool.args.seed", "splits are cut by a hash of the ids")
        source.left("datapool.args.positive_ratio", "training.limit is for all rows; positives are chosen by training.only")
    else:
        made |= {"source": "path", "path": pool}
        source.taken("datapool.id", "task.path", f"this data pool is not built in: put rows with `prompt` and `references` at {pool}")
        source.left("datapool.args", "rows of one's own come with their prompts whole")
    source.left("env.args.context_start_token", "for encoder-decoder models, which are not trained here")
    made["horizon"] = "terminal"
    return made


def model(source: Source, kind: str) -> dict[str, Any]:
    """The policy's model, `tokenizer`, and what stands beside it."""
    key = "alg.model_name" if kind == "supervised" else "alg.policy.args.model_name"
    path = source.get(key, str)
    source.taken(key, "model.path")
    own = source.get("tokenizer.model_name", str, path)
    if own == path:
        source.taken("tokenizer.model_name", "model.path")
    else:
        source.left("tokenizer.model_name", f"a model brings its own tokenizer, here that of {path}")
    source.left("tokenizer.padding_side", "padding stands where decoding and learning need it")
    source.left("tokenizer.pad_token_as_eos_token", "padding is never seen by a model")
    _side(source, "tokenizer.truncation_side")
    encoder = source.get("alg.model_type", str, "causal") == "seq2seq" or "seq2seq" in source.get("alg.policy.id", str, "")
    why = "encoder-decoder models are not trained here: model.path must name a causal one" if encoder else ""
    whole = "the loss is on prompt and answer (learn_on: all), as there; the end token is learned too, which it is not there"
    source.taken("alg.model_type", "algorithm.learn_on", why or whole)
    source.taken("alg.policy.id", "model.critic, model.reference", why)
    return {"path": path, "critic": "none", "reference": "none"} if kind == "supervised" else {"path": path, "critic": "network", "reference": "copy"}


def _side(source: Source, key: str) -> None:
    if source.get(key, str, "left") == "left":
        source.same(key)
    else:
        source.left(key, "a prompt that is too long loses its oldest tokens, on the left")


def rewards(source: Source) -> dict[str, Any]:
    """`reward_fn`, by a counterpart or by a registered name."""
    if source.node("reward_fn") is None:
        return {}
    name = source.get("reward_fn.id", str)
    ours = NAMES.get(name, name)
    if ours not in {*registry.names("reward"), *registry.names("metric")} - {"perplexity", "diversity"}:
        source.left("reward_fn", f"there is no reward {name!r} here; loquent list rewards shows what there is")
        return {}
    kind = "reward" if ours in registry.names("reward") else "metric"
    if needed := _needed(kind, ours):
        source.left("reward_fn", f"{ours} needs {needed}, which is not said there; name it in the recipe")
        return {}
    source.taken("reward_fn.id", f"rewards.{ours}")
    return {ours: {"weight": 1.0, **_options(source, "reward_fn.args", kind, ours)}}


def metrics(source: Source) -> dict[str, Any]:
    """`train_evaluation.metrics`, likewise."""
    made: dict[str, Any] = {}
    for number in range(len(source.get("train_evaluation.metrics", list, []))):
        key = f"train_evaluation.metrics[{number}]"
        name = source.get(f"{key}.id", str)
        ours = NAMES.get(name, name)
        if ours not in registry.names("metric"):
            source.left(key, f"there is no metric {name!r} here; loquent list metrics shows what there is")
        elif needed := _needed("metric", ours):
            source.left(key, f"{ours} needs {needed}, which is not said there; name it in the recipe")
        else:
            made[ours] = _options(source, f"{key}.args", "metric", ours)
            source.taken(f"{key}.id", f"metrics.{ours}")
    source.same("train_evaluation.metrics")
    return made


def _needed(kind: str, ours: str) -> str:
    """The options without which it cannot be made, as words; no file of RL4LMs has them."""
    schema = getattr(registry.find(kind, ours), "Options", None)
    bare = [field.name for field in dataclasses.fields(schema) if field.default is dataclasses.MISSING] if schema else []
    return ", ".join((*bare, *NEEDED.get(ours, ())))


def _options(source: Source, key: str, kind: str, ours: str) -> dict[str, Any]:
    """The options under `key` that our reward or metric knows, by its names."""
    schema = getattr(registry.find(kind, ours), "Options", None)
    known = {field.name for field in dataclasses.fields(schema)} if schema else set()
    found = source.node(key)
    made: dict[str, Any] = {}
    for name, node in found.mapping(key).items() if found else ():
        own = OPTIONS.get(name, name)
        if own in known:
            made[own] = node.bare()
            source.taken(f"{key}.{name}", f"{kind}s.{ours}.{own}")
        else:
            source.left(f"{key}.{name}", OPTION_LEFT.get(name, f"{ours} has no such option here"))
    return made


def decoding(source: Source, kind: str) -> dict[str, Any]:
    """How answers are drawn in collection: `generation_kwargs` and the lengths of `env`."""
    key = "alg.generation_kwargs" if kind == "supervised" else "alg.policy.args.generation_kwargs"
    sampled = _draws(source, key) or kind != "supervised"
    made = _generation(source, key, sampled)
    if sampled and not _draws(source, key):
        source.remark(f"{key}.do_sample", "learning from one's own play needs sampling: it is on")
    longest = source.get("env.args.max_episode_length", int, None)
    if longest is not None:
        given = made.setdefault("max_new_tokens", longest)
        differs = f"answers have at most {given} tokens, as generation_kwargs say; there an answer cut before {longest} had no reward"
        source.taken("env.args.max_episode_length", "decoding.max_new_tokens", differs if given != longest else "")
    prompt = "env.args.max_prompt_length" if source.node("env.args.max_prompt_length") else "tokenizer.max_length"
    most = source.get(prompt, int, None)
    if most is not None:
        made["max_prompt_tokens"] = most
        source.taken(prompt, "decoding.max_prompt_tokens")
    source.left("tokenizer.max_length", "env.args.max_prompt_length says it")
    made.setdefault("max_new_tokens", 20)
    _side(source, "env.args.prompt_truncation_side")
    ends = source.get("env.args.terminate_on_eos", bool, False)
    source.taken(
        "env.args.terminate_on_eos", "(as here)", "" if ends else "an answer ends with its end token here; decoding.min_new_tokens keeps it from that"
    )
    if source.get("env.args.priority_scale", float, 0.0) == 0:
        source.same("env.args.priority_scale")
    else:
        source.left("env.args.priority_scale", "all rows are drawn equally often")
    return made


def evaluation(source: Source, base: dict[str, Any]) -> dict[str, Any]:
    """How answers are drawn in evaluation, where it differs."""
    made: dict[str, Any] = {}
    key = "train_evaluation.generation_kwargs"
    if source.node(key) is not None and source.get(key, dict, None):
        made = {name: value for name, value in _generation(source, key, _draws(source, key)).items() if base.get(name) != value}
    else:
        source.taken(key, "evaluation")
    size = source.get("train_evaluation.eval_batch_size", int, None)
    if size is not None:
        made["live"] = size
        source.taken("train_evaluation.eval_batch_size", "evaluation.live")
    return made


def _draws(source: Source, key: str) -> bool:
    return bool(source.get(f"{key}.do_sample", bool, False))


def _generation(source: Source, key: str, draws: bool) -> dict[str, Any]:
    """The keyword arguments of Hugging Face's generate, with its defaults: 50 likeliest tokens when sampling."""
    beams = source.get(f"{key}.num_beams", int, 1)
    made: dict[str, Any] = {"method": "sample" if draws else "beam" if beams > 1 else "greedy"}
    source.taken(f"{key}.do_sample", "method")
    if made["method"] == "beam":
        made["beams"] = beams
        source.taken(f"{key}.num_beams", "beams")
    else:
        source.taken(f"{key}.num_beams", "method", "sampled beams are not drawn here" if beams > 1 else "")
    if draws:
        made["top_k"] = source.get(f"{key}.top_k", int, 50)
        if source.node(f"{key}.top_k") is None:
            source.remark(f"{key}.top_k", "was not set: Hugging Face then draws from 50 tokens, and so does this recipe")
        source.taken(f"{key}.top_k", "top_k")
        for name, kind in GENERATION.items():
            if source.node(f"{key}.{name}") is not None:
                made[name] = source.get(f"{key}.{name}", kind)
                source.taken(f"{key}.{name}", name)
    for name, ours in (("min_length", "min_new_tokens"), ("max_new_tokens", "max_new_tokens")):
        if source.get(f"{key}.{name}", int, None) is not None:
            made[ours] = source.get(f"{key}.{name}", int)
            source.taken(f"{key}.{name}", ours)
    found = source.node(key)
    for name, node in found.mapping(key).items() if found and found.value is not None else ():
        if node.value is None:
            source.same(f"{key}.{name}")
        source.left(f"{key}.{name}", "no text is worked on after it was drawn" if name == "post_processing_fn" else f"decoding has no {name} here")
    return made


def on_policy(source: Source, kind: str) -> dict[str, Any]:
    """`alg.args`, `alg.kl_div` and the masking policy, for PPO and NLPO; A2C and TRPO become PPO."""
    ours = kind if kind in registry.names("algorithm") else "ppo"
    source.taken("alg.id", "algorithm.kind", "" if ours == kind else f"{kind} is not here; PPO with the same settings stands in its place")
    made: dict[str, Any] = {"kind": ours}
    for name, (own, value_type, default) in ON_POLICY.items():
        made[own] = source.get(f"alg.args.{name}", value_type, default)
        source.taken(f"alg.args.{name}", f"algorithm.{own}")
    stop = source.get("alg.args.target_kl", float, None)
    made |= {"stop_kl": 1.5 * stop} if stop is not None else {}
    source.taken("alg.args.target_kl", "algorithm.stop_kl", "an update ends at 1.5 times it, as there" if stop is not None else "")
    made["weight_decay"] = source.get("alg.policy.args.weight_decay", float, 1e-6)
    source.taken("alg.policy.args.weight_decay", "algorithm.weight_decay")
    made |= {"beta": source.get("alg.kl_div.coeff", float, 0.0), "kl_target": source.get("alg.kl_div.target_kl", float, None), "kl_gain": 0.1}
    if made["kl_target"] is not None and (made["beta"] == 0 or not math.isfinite(made["kl_target"])):
        made["kl_target"] = None
    source.taken("alg.kl_div.coeff", "algorithm.beta")
    source.taken("alg.kl_div.target_kl", "algorithm.kl_target")
    if source.get("alg.kl_div.norm_reward", bool, False):
        source.left("alg.kl_div.norm_reward", "rewards are not normalised")
    source.same("alg.kl_div.norm_reward")
    source.left("alg.args.verbose", "progress is shown on stderr")
    for name, why in POLICY_LEFT.items():
        source.left(f"alg.policy.args.{name}", why)
    return made | (_mask(source) if ours == "nlpo" else {})


def _place(source: Source, key: str) -> str:
    found = source.node(key)
    return found.place if found else source.root.file


def _mask(source: Source) -> dict[str, Any]:
    """NLPO's masking policy. The released code never brings it up to date; the recipe does, as the paper says."""
    key = "alg.policy.args"
    mode, top = source.get(f"{key}.mask_type", str, MASKS[0]), source.get(f"{key}.top_mask", float)
    if mode not in MASKS:
        raise BadSetting(f"{_place(source, f'{key}.mask_type')}: {UnknownName('mask type of RL4LMs', mode, MASKS)}")
    if mode != "learned_top_p" and (top < 1 or top != int(top)):
        told = "" if source.node(f"{key}.mask_type") else " (which none stands for)"
        raise BadSetting(
            f"{_place(source, f'{key}.top_mask')}: {key}.top_mask = {top:g}: mask_type {mode}{told} keeps so many of the likeliest tokens, so a "
            "whole number of at least 1 is right; learned_top_p keeps a share of the probability"
        )
    why = "" if mode != "topk" else "masks by the current policy are not there: mu 1 is nearest"
    made: dict[str, Any] = {"top_p": top, "top_k": 0} if mode == "learned_top_p" else {"top_p": 1.0, "top_k": int(top)}
    source.taken(f"{key}.top_mask", "algorithm.top_p" if mode == "learned_top_p" else "algorithm.top_k")
    source.taken(f"{key}.mask_type", "algorithm.top_p, algorithm.top_k", why)
    made["mu"] = 1 if mode == "topk" else source.get(f"{key}.target_update_iterations", int, 1000)
    frozen = "the released code never brings its mask up to date; algorithm.preset: rl4lms, or mu: 0, is what it ran"
    source.taken(f"{key}.target_update_iterations", "algorithm.mu", frozen)
    made["min_keep"] = max(1, source.get(f"{key}.min_tokens_to_keep", int, 100))
    source.taken(f"{key}.min_tokens_to_keep", "algorithm.min_keep")
    return made


def supervised(source: Source) -> dict[str, Any]:
    """`alg.training_args`: those of Hugging Face's Trainer that have a counterpart."""
    key = "alg.training_args"
    source.taken("alg.id", "algorithm.kind")
    size = source.get(f"{key}.per_device_train_batch_size", int, 8) * source.get(f"{key}.gradient_accumulation_steps", int, 1)
    schedule = source.get(f"{key}.lr_scheduler_type", str, "linear")
    made: dict[str, Any] = {"kind": "supervised", "minibatch": size, "learning_rate": source.get(f"{key}.learning_rate", float, 5e-5)}
    made |= {"weight_decay": source.get(f"{key}.weight_decay", float, 0.0), "max_grad_norm": source.get(f"{key}.max_grad_norm", float, 1.0)}
    made |= {"schedule": "constant" if schedule.startswith("constant") else "cosine", "learn_on": "all"}
    made["warmup"] = source.get(f"{key}.warmup_steps", int, 0)
    for name, ours in (("per_device_train_batch_size", "minibatch"), ("gradient_accumulation_steps", "minibatch"), ("warmup_steps", "warmup")):
        source.taken(f"{key}.{name}", f"algorithm.{ours}")
    for name in ("learning_rate", "weight_decay", "max_grad_norm"):
        source.taken(f"{key}.{name}", f"algorithm.{name}")
    near = "" if schedule in ("constant", "cosine", "constant_with_warmup") else f"{schedule} is not here; a cosine stands in its place"
    source.taken(f"{key}.lr_scheduler_type", "algorithm.schedule", near)
    if source.node(f"{key}.lr_scheduler_type") is None:
        source.remark(
            f"{key}.lr_scheduler_type", "was not set: Hugging Face then comes down linearly, which is not here; a cosine stands in its place"
        )
    return made


def training(source: Source, kind: str, made: dict[str, Any]) -> dict[str, Any]:
    """How long and how it is watched."""
    found: dict[str, Any] = {"seed": source.get("alg.training_args.seed" if kind == "supervised" else "alg.args.seed", int, 0)}
    for key in ("alg.args.seed", "alg.training_args.seed"):
        source.taken(key, "training.seed")
    device = source.get("alg.args.device", str, "auto").partition(":")[0]
    made["model"] |= {"device": device} if device in ("cpu", "cuda") else {}
    source.taken("alg.args.device", "model.device")
    found |= _epochs(source, made) if kind == "supervised" else _iterations(source, made)
    if made["task"].get("name") == IMDB["name"]:
        found |= {"evaluate_episodes": 5000, "final_episodes": 5000}
        source.remark(
            "train_evaluation", "all 5,000 held-out rows are played in every evaluation, as there; training.evaluate_episodes=200 is quicker"
        )
    return found


def _iterations(source: Source, made: dict[str, Any]) -> dict[str, Any]:
    """Steps there are tokens; episodes here are whole answers."""
    tokens = source.get("env.n_envs", int, 1) * source.get("alg.args.n_steps", int, 2048)
    batch, longest = source.get("alg.args.batch_size", int, 64), made["decoding"]["max_new_tokens"]
    episodes, minibatch = max(1, round(tokens / longest)), max(1, round(batch / longest))
    for key in ("env.n_envs", "alg.args.n_steps"):
        source.taken(key, "training.episodes", f"{tokens} tokens an update are {episodes} answers of {longest}")
    made["algorithm"]["minibatch"] = minibatch
    source.taken("alg.args.batch_size", "algorithm.minibatch", f"{batch} tokens are {minibatch} answer(s) of {longest}; answers are not cut apart")
    found = {"updates": source.get("train_evaluation.n_iters", int), "episodes": episodes}
    found |= {
        "evaluate_every": source.get("train_evaluation.eval_every", int, 10),
        "checkpoint_every": source.get("train_evaluation.save_every", int, 20),
    }
    for name, ours in (("n_iters", "updates"), ("eval_every", "evaluate_every"), ("save_every", "checkpoint_every")):
        source.taken(f"train_evaluation.{name}", f"training.{ours}")
    return found


def _epochs(source: Source, made: dict[str, Any]) -> dict[str, Any]:
    """Epochs over the rows as updates of one minibatch each."""
    size, epochs = made["algorithm"]["minibatch"], source.get("alg.training_args.num_train_epochs", float, 3.0)
    found: dict[str, Any] = {"episodes": size, "evaluate_every": 0}
    rows = IMDB_ROWS if made["task"].get("name") == IMDB["name"] else 0
    if source.get("datapool.id", str) == "imdb_seq2seq":
        found["only"] = {"label": 1}
        rows = int(rows / 2 * source.get("datapool.args.positive_ratio", float, 1.0))
    if rows:
        found["updates"] = math.ceil(epochs * rows / size)
    why = (
        f"{found['updates']} updates of {size} of about {rows} rows"
        if rows
        else "set training.updates: epochs times rows, divided by training.episodes"
    )
    source.taken("alg.training_args.num_train_epochs", "training.updates", why)
    share = source.get("alg.training_args.warmup_ratio", float, 0.0)
    updates = found.get("updates", 50)
    if share:
        made["algorithm"]["warmup"] = round(share * updates)
    source.taken("alg.training_args.warmup_ratio", "algorithm.warmup")
    if made["algorithm"]["schedule"] == "cosine":
        made["algorithm"]["total_steps"] = max(updates, made["algorithm"]["warmup"] + 1)
    inside = source.node("alg.training_args")
    for name in inside.mapping("alg.training_args") if inside else ():
        if name not in TRAINING_ARGS:
            source.left(f"alg.training_args.{name}", "the training loop has no such setting")
    source.left("alg.training_args.max_steps", "training.updates says it")
    return found
