"""The task, the model and the decoding of an RL4LMs file, one function for each section of a recipe."""

from __future__ import annotations

from typing import Any

from loquent.convert.source import Source
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.options import Node

IMDB = {
    "source": "hub",
    "name": "stanfordnlp/imdb",
    "revision": "e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
    "prompt_fraction": 0.5,
}
IMDB_ROWS = 20_000  # of train, when a fifth is set aside for validation; half of them are positive
ROWS = {  # what the rows of a data pool hold, where it is more than prompts and references
    "commongen": "`prompt` (prefix, concepts, end token), `references` and `concepts`",
    "cnn_daily_mail": "`prompt` (prefix, article) and `references` (the highlights)",
    "daily_dialog": "`prompt` (the last utterances, each with <EOU> behind it), "
    "`references` and `intent` (1 to 4)",
    "dummy_pool": "`prompt` and any text in `references`",
    "iwslt2017en_de": "`prompt` (prefix, English) and `references` (German)",
    "narrative_qa": "`prompt` (question, text) and `references` (answers)",
    "totto": "`prompt` (the table as text), `references`, and `table`, `table_page_title` and so on, which "
    "parent and bleu_totto read",
}
GENERATION = {"temperature": float, "top_p": float}
UNSAID = {
    "min_new_tokens": 0,
    "temperature": 1.0,
    "top_p": 1.0,
}  # what Hugging Face's generate does where its arguments do not say it


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
    made: dict[str, Any] = {"kind": DEFAULT_TASK}
    if pool in ("imdb", "imdb_seq2seq"):
        made |= IMDB
        source.taken(
            "datapool.id", "task.source, task.name", "splits are cut by a hash of the ids, not by a shuffle"
        )
        source.left("datapool.args.seed", "splits are cut by a hash of the ids")
        if source.get("datapool.args.positive_ratio", float, 1.0, 0) == 1:
            source.same("datapool.args.positive_ratio")
        else:
            source.changed(
                "datapool.args.positive_ratio",
                "all positive reviews of the training split are learned from; task.limit keeps a "
                "part of all rows",
            )
    else:
        made |= {"source": "path", "path": pool}
        held = ROWS.get(pool, "`prompt` and `references`")
        source.missing(
            "datapool.id",
            "task.path",
            f"this data pool is not built in: put rows with {held} into the file or folder {pool}",
        )
        found = source.node("datapool.args")
        for name, node in (
            found.mapping("datapool.args").items() if found is not None and found.value is not None else ()
        ):
            source.left(
                f"datapool.args.{name}", f"your rows come with their prompts whole, made with {node.bare()!r}"
            )
    source.left(
        "env.args.context_start_token", "it belongs to encoder-decoder models, which are not trained here"
    )
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
    place = "alg.model_type" if kind == "supervised" else "alg.policy.id"
    if encoder_decoder(source):
        source.missing(
            place,
            "model.path",
            f"encoder-decoder models are not trained here: name a causal one in the place of {path}",
        )
    elif kind == "supervised":
        whole = (
            "the loss is on prompt and answer (learn_on: all), as there; the end token is learned too, "
            "which it is not there"
        )
        source.taken(place, "algorithm.learn_on", whole)
    source.taken("alg.model_type", "algorithm.learn_on")
    source.taken("alg.policy.id", "model.critic, model.reference")
    return (
        {"path": path, "critic": "none", "reference": "none"}
        if kind == "supervised"
        else {"path": path, "critic": "network", "reference": "copy"}
    )


def encoder_decoder(source: Source) -> bool:
    """Whether the file trains an encoder-decoder model."""
    return source.get("alg.model_type", str, "causal") == "seq2seq" or "seq2seq" in source.get(
        "alg.policy.id", str, ""
    )


def _side(source: Source, key: str) -> None:
    if source.get(key, str, "left") == "left":
        source.same(key)
    else:
        source.left(key, "a prompt that is too long loses its oldest tokens, on the left")


def decoding(source: Source, kind: str) -> dict[str, Any]:
    """How answers are drawn in collection: `generation_kwargs` and the lengths of `env`."""
    key = "alg.generation_kwargs" if kind == "supervised" else "alg.policy.args.generation_kwargs"
    sampled = _draws(source, key) or kind != "supervised"
    made = _generation(source, key, sampled)
    if sampled and not _draws(source, key):
        source.remark(f"{key}.do_sample", "learning from one's own play needs sampling: it is on")
    longest = source.get("env.args.max_episode_length", int, None, 1)
    if longest is not None:
        given = made.setdefault("max_new_tokens", longest)
        differs = (
            f"answers have at most {given} tokens, as generation_kwargs say; there an answer cut before "
            f"{longest} had no reward"
        )
        source.taken(
            "env.args.max_episode_length", "decoding.max_new_tokens", differs if given != longest else ""
        )
    prompt = (
        "env.args.max_prompt_length" if source.node("env.args.max_prompt_length") else "tokenizer.max_length"
    )
    most = source.get(prompt, int, None)
    if most is not None:
        made["max_prompt_tokens"] = most
        source.taken(prompt, "decoding.max_prompt_tokens")
    source.left("tokenizer.max_length", "env.args.max_prompt_length says it")
    made.setdefault("max_new_tokens", 20)
    _side(source, "env.args.prompt_truncation_side")
    ends, goes_on = (
        "env.args.terminate_on_eos",
        "an answer ends with its end token here; decoding.min_new_tokens keeps it from that",
    )
    if kind != "supervised" and source.node(ends) is None:
        source.remark(ends, f"was not set: answers then go on after their end token there; {goes_on}")
    source.taken(ends, "(as here)", "" if source.get(ends, bool, False) else goes_on)
    if source.get("env.args.priority_scale", float, 0.0) == 0:
        source.same("env.args.priority_scale")
    else:
        source.left(
            "env.args.priority_scale",
            "all rows weigh 1 there, so they are drawn equally often; rows of yours with weights: "
            "training.priority",
        )
    return made


def evaluation(source: Source, base: dict[str, Any]) -> dict[str, Any]:
    """How answers are drawn in evaluation, where it differs.

    Arguments of its own replace those of collection as a whole, there.
    """
    made: dict[str, Any] = {}
    key = "train_evaluation.generation_kwargs"
    if source.node(key) is not None and source.get(key, dict, None):
        given = {name: value for name, value in UNSAID.items() if name in base} | _generation(
            source, key, _draws(source, key)
        )
        made = {name: value for name, value in given.items() if base.get(name) != value}
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
    """The keyword arguments of Hugging Face's generate, with its defaults: 50 likeliest tokens when
    sampling.
    """
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
            source.remark(
                f"{key}.top_k", "was not set: Hugging Face then draws from 50 tokens, and so does this recipe"
            )
        source.taken(f"{key}.top_k", "top_k")
        for name, kind in GENERATION.items():
            if source.node(f"{key}.{name}") is not None:
                made[name] = source.get(f"{key}.{name}", kind)
                source.taken(f"{key}.{name}", name)
    for name, ours in (("min_length", "min_new_tokens"), ("max_new_tokens", "max_new_tokens")):
        if source.get(f"{key}.{name}", int, None) is not None:
            made[ours] = source.get(f"{key}.{name}", int, low=1 if ours == "max_new_tokens" else None)
            source.taken(f"{key}.{name}", ours)
    found = source.node(key)
    for name, node in found.mapping(key).items() if found and found.value is not None else ():
        if node.value is None:
            source.same(f"{key}.{name}")
        source.left(
            f"{key}.{name}",
            "no text is worked on after it was drawn"
            if name == "post_processing_fn"
            else f"decoding has no {name} here",
        )
    return made
