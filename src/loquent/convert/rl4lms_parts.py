"""The task, the model and the decoding of an RL4LMs file, one function for each section of a recipe."""

from __future__ import annotations

from typing import Any

from loquent.convert import rl4lms_pools
from loquent.convert.source import Source
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.options import Node

IMDB = {
    "source": "hub",
    "name": "stanfordnlp/imdb",
    "revision": "e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
    "prompt_fraction": 0.5,
}
IMDB_ROWS = 20_000  # rows of train after a fifth is set aside for validation; half of them are positive
GENERATION = {"temperature": float, "top_p": float}
DEFAULTS = {"min_new_tokens": 0, "temperature": 1.0, "top_p": 1.0}  # of Hugging Face's generate


def expand(source: Source) -> None:
    """Replace a sweep (`expand`, `values`) by its first value."""
    for name, node in list(source.root.value.items()):
        section = node.value if isinstance(node.value, dict) else {}
        values = section.get("values")
        if values is not None and isinstance(values.value, list) and values.value:
            first = values.value[0]
            source.left(f"{name}.expand", "a sweep is a suite in Loquent (loquent bench)")
            source.left(f"{name}.values", f"the first of {len(values.value)} values of a sweep is taken")
            source.root.value[name] = Node(first.value, first.file, first.line)


def task(source: Source) -> dict[str, Any]:
    """`datapool` and the parts of `env` that belong to the task."""
    pool = source.get("datapool.id", str)
    section: dict[str, Any] = {"kind": DEFAULT_TASK}
    if pool in ("imdb", "imdb_seq2seq"):
        section |= IMDB
        _imdb(source)
    elif pool in rl4lms_pools.POOLS:
        section |= rl4lms_pools.task(source, pool)
    else:
        section |= {"source": "path", "path": pool}
        _own_rows(source, pool)
    source.left(
        "env.args.context_start_token", "the model's configuration names the first token of its decoder"
    )
    section["horizon"] = "terminal"
    return section


def _imdb(source: Source) -> None:
    """Note what becomes of the data pool of IMDB."""
    why = "splits are cut by a hash of the ids, not by a shuffle"
    source.taken("datapool.id", "task.source, task.name", why)
    source.left("datapool.args.seed", "splits are cut by a hash of the ids")
    key = "datapool.args.positive_ratio"
    if source.get(key, float, 1.0, 0) == 1:
        source.same(key)
    else:
        source.changed(
            key,
            "the run learns from all positive reviews of the training split; task.limit keeps a part of all "
            "rows",
        )


def _own_rows(source: Source, pool: str) -> None:
    """Note that the user has to give the rows of a data pool, and with which fields."""
    why = (
        "this data pool is not built in: put rows with `prompt` and `references` into the file or folder "
        f"{pool}"
    )
    source.missing("datapool.id", "task.path", why)
    options = source.node("datapool.args")
    if options is None or options.value is None:
        return
    for name, node in options.mapping("datapool.args").items():
        why = f"give your rows with complete prompts, made with {node.bare()!r}"
        source.left(f"datapool.args.{name}", why)


def model(source: Source, kind: str) -> dict[str, Any]:
    """The policy's model, `tokenizer`, the critic and the reference model."""
    key = "alg.model_name" if kind == "supervised" else "alg.policy.args.model_name"
    path = source.get(key, str)
    source.taken(key, "model.path")
    if source.get("tokenizer.model_name", str, path) == path:
        source.taken("tokenizer.model_name", "model.path")
    else:
        source.left("tokenizer.model_name", f"a model brings its own tokenizer; this one is that of {path}")
    source.left("tokenizer.padding_side", "decoding and learning each choose the side they need")
    source.left("tokenizer.pad_token_as_eos_token", "padding is never seen by a model")
    _side(source, "tokenizer.truncation_side")
    place = "alg.model_type" if kind == "supervised" else "alg.policy.id"
    if encoder_decoder(source):
        source.taken(place, "model.path", "an encoder-decoder is known by its configuration")
    elif kind == "supervised":
        why = (
            "the loss is on prompt and answer (learn_on: all), as in RL4LMs; unlike RL4LMs, Loquent also "
            "learns the end token"
        )
        source.taken(place, "algorithm.learn_on", why)
    source.taken("alg.model_type", "algorithm.learn_on")
    source.taken("alg.policy.id", "model.critic, model.reference")
    if kind == "supervised":
        return {"path": path, "critic": "none", "reference": "none"}
    return {"path": path, "critic": "network", "reference": "copy"}


def encoder_decoder(source: Source) -> bool:
    """Whether the file trains an encoder-decoder model."""
    model_type, policy = source.get("alg.model_type", str, "causal"), source.get("alg.policy.id", str, "")
    return model_type == "seq2seq" or "seq2seq" in policy


def _begun(source: Source) -> int:
    """The tokens that `min_length` counts and that an answer of ours does not have.

    They are the start token of a decoder, and the first token that models of BART's family force.
    """
    if not encoder_decoder(source):
        return 0
    names = [source.get(key, str, "") for key in ("alg.model_name", "alg.policy.args.model_name")]
    return 2 if "bart" in "".join(names).lower() else 1


def _side(source: Source, key: str) -> None:
    if source.get(key, str, "left") == "left":
        source.same(key)
    else:
        source.left(key, "a prompt that is too long loses its oldest tokens, on the left")


def decoding(source: Source, kind: str) -> dict[str, Any]:
    """How the answers of a rollout are drawn: `generation_kwargs` and the lengths of `env`."""
    key = "alg.generation_kwargs" if kind == "supervised" else "alg.policy.args.generation_kwargs"
    sampled = _draws(source, key) or kind != "supervised"
    section = _generation(source, key, sampled)
    if sampled and not _draws(source, key):
        source.remark(f"{key}.do_sample", "learning from the policy's own episodes needs sampling: it is on")
    _lengths(source, section)
    _side(source, "env.args.prompt_truncation_side")
    _end_token(source, kind)
    if source.get("env.args.priority_scale", float, 0.0) == 0:
        source.same("env.args.priority_scale")
    else:
        source.left(
            "env.args.priority_scale",
            "all rows weigh 1 in RL4LMs, so they are drawn equally often; for rows of yours with weights "
            "set training.priority",
        )
    return section


def _lengths(source: Source, section: dict[str, Any]) -> None:
    """Put the most tokens of an answer and of a prompt into the section."""
    longest = source.get("env.args.max_episode_length", int, None, 1)
    if longest is not None:
        most = section.setdefault("max_new_tokens", longest)
        differs = (
            f"answers have at most {most} tokens, as generation_kwargs say; in RL4LMs an answer cut before "
            f"{longest} had no reward"
        )
        why = differs if most != longest else ""
        source.taken("env.args.max_episode_length", "decoding.max_new_tokens", why)
    key = "env.args.max_prompt_length"
    key = key if source.node(key) else "tokenizer.max_length"
    prompt = source.get(key, int, None)
    if prompt is not None:
        section["max_prompt_tokens"] = prompt
        source.taken(key, "decoding.max_prompt_tokens")
    source.left("tokenizer.max_length", "env.args.max_prompt_length replaces it")
    section.setdefault("max_new_tokens", 20)


def _end_token(source: Source, kind: str) -> None:
    """Note that an answer ends with its end token, which RL4LMs leaves to `terminate_on_eos`."""
    key = "env.args.terminate_on_eos"
    ends = "in Loquent an answer ends with its end token; decoding.min_new_tokens delays the end"
    if kind != "supervised" and source.node(key) is None:
        source.remark(key, f"was not set: in RL4LMs answers then go on after their end token; {ends}")
    source.taken(key, "(same in Loquent)", "" if source.get(key, bool, False) else ends)


def evaluation(source: Source, base: dict[str, Any]) -> dict[str, Any]:
    """How answers are drawn in evaluation, if that differs from `base`, the decoding of a rollout.

    In RL4LMs the arguments of the evaluation replace those of the rollout as a whole.
    """
    section: dict[str, Any] = {}
    key = "train_evaluation.generation_kwargs"
    if source.node(key) is not None and source.get(key, dict, None):
        defaults = {name: value for name, value in DEFAULTS.items() if name in base}
        settings = defaults | _generation(source, key, _draws(source, key))
        section = {name: value for name, value in settings.items() if base.get(name) != value}
    else:
        source.taken(key, "evaluation")
    size = source.get("train_evaluation.eval_batch_size", int, None)
    if size is not None:
        section["live"] = size
        source.taken("train_evaluation.eval_batch_size", "evaluation.live")
    return section


def _draws(source: Source, key: str) -> bool:
    return bool(source.get(f"{key}.do_sample", bool, False))


def _generation(source: Source, key: str, draws: bool) -> dict[str, Any]:
    """The keyword arguments of Hugging Face's generate, with its default of the top 50 tokens in sampling."""
    beams = source.get(f"{key}.num_beams", int, 1)
    settings: dict[str, Any] = {"method": "sample" if draws else "beam" if beams > 1 else "greedy"}
    source.taken(f"{key}.do_sample", "method")
    if settings["method"] == "beam":
        settings["beams"] = beams
        source.taken(f"{key}.num_beams", "beams")
    else:
        why = "Loquent does not sample from beams" if beams > 1 else ""
        source.taken(f"{key}.num_beams", "method", why)
    if draws:
        settings["top_k"] = source.get(f"{key}.top_k", int, 50)
        if source.node(f"{key}.top_k") is None:
            why = "was not set: Hugging Face then draws from 50 tokens, and so does this recipe"
            source.remark(f"{key}.top_k", why)
        source.taken(f"{key}.top_k", "top_k")
        for name, kind in GENERATION.items():
            if source.node(f"{key}.{name}") is not None:
                settings[name] = source.get(f"{key}.{name}", kind)
                source.taken(f"{key}.{name}", name)
    if source.get(f"{key}.max_new_tokens", int, None) is not None:
        settings["max_new_tokens"] = source.get(f"{key}.max_new_tokens", int, low=1)
        source.taken(f"{key}.max_new_tokens", "max_new_tokens")
    shortest = source.get(f"{key}.min_length", int, None)
    if shortest is not None:
        begun = _begun(source)
        settings["min_new_tokens"] = max(0, shortest - begun)
        why = f"Hugging Face counts what a decoder reads before an answer too; it is {begun} token(s) here"
        source.taken(f"{key}.min_length", "min_new_tokens", why if begun else "")
    node = source.node(key)
    for name, item in node.mapping(key).items() if node and node.value is not None else ():
        if item.value is None:
            source.same(f"{key}.{name}")
        post = "Loquent does not change a text after it is drawn"
        why = post if name == "post_processing_fn" else f"decoding has no {name} in Loquent"
        source.left(f"{key}.{name}", why)
    return settings
