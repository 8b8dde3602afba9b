"""The task, the model and the decoding of an RL4LMs file, one function for each section of a recipe."""

from __future__ import annotations

from typing import Any

from loquent.cli.convert import rl4lms_pools
from loquent.cli.convert.source import Source
from loquent.cli.convert.tables import TABLES, WHY
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.options import Node
from loquent.errors import BadSetting, UnknownName
from loquent.models.decoding_settings import SIDES

IMDB = {"dataset": "imdb", "source": "hub", "prompt_fraction": 0.5}
IMDB_ROWS = 20_000  # rows of train after a fifth is set aside for validation; half of them are positive
GENERATION = {"temperature": float, "top_p": float}
DEFAULTS = {"min_new_tokens": 0, "temperature": 1.0, "top_p": 1.0}  # of Hugging Face's generate
SIDE = "prompt_truncation_side"
T5_LENGTH = 512  # the longest text of T5's tokenizer in transformers 4.18


def expand(source: Source) -> None:
    """Replace a sweep (`expand`, `values`) by its first value."""
    for name, node in list(source.root.value.items()):
        section = node.value if isinstance(node.value, dict) else {}
        values = section.get("values")
        if values is not None and isinstance(values.value, list) and values.value:
            first = values.value[0]
            source.note_left(f"{name}.expand", "a sweep is a suite in Loquent (loquent bench)")
            source.note_left(f"{name}.values", f"the first of {len(values.value)} values of a sweep is taken")
            source.root.value[name] = Node(first.value, first.file, first.line)


def task(source: Source, kind: str) -> dict[str, Any]:
    """`datapool` and the parts of `env` that belong to the task."""
    pool = source.get("datapool.id", str)
    section: dict[str, Any] = {"kind": DEFAULT_TASK}
    if pool in ("imdb", "imdb_seq2seq"):
        section |= IMDB
        _imdb(source)
    elif pool in TABLES.pools:
        section |= rl4lms_pools.task(source, pool, encoder_decoder(source))
    else:
        section |= {"source": "path", "path": pool}
        _own_rows(source, pool)
    source.note_left("env.args.context_start_token")
    section["horizon"] = "terminal"
    return section


def _imdb(source: Source) -> None:
    """Note what becomes of the data pool of IMDB."""
    why = WHY["datapool." + source.get("datapool.id", str)]
    source.note_taken("datapool.id", "task.dataset, task.source", why)
    source.note_left("datapool.args.seed")
    key = "datapool.args.positive_ratio"
    if source.get(key, float, 1.0, 0) == 1:
        source.same(key)
    else:
        source.note_change(key)


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
        source.note_left(f"datapool.args.{name}", why)


def model(source: Source, kind: str) -> dict[str, Any]:
    """The policy's model, `tokenizer`, the critic and the reference model."""
    key = "alg.model_name" if kind == "supervised" else "alg.policy.args.model_name"
    path = source.get(key, str)
    has_options = "bart" in path or "blenderbot" in path  # the configurations of GPT-2 and T5 have none
    source.note_taken(key, "model.path", WHY["own options"] if has_options else "")
    tokenizer = source.get("tokenizer.model_name", str, path)
    if tokenizer == path:
        source.note_taken("tokenizer.model_name", "model.path")
    else:
        why = (
            f"a model brings its own tokenizer; this one is that of {path}: if it has none, add the files of "
            f"{tokenizer}'s to a copy of it"
        )
        source.note_left("tokenizer.model_name", why)
    source.note_left("tokenizer.padding_side")
    source.note_left("tokenizer.pad_token_as_eos_token")
    place = "alg.model_type" if kind == "supervised" else "alg.policy.id"
    if encoder_decoder(source):
        source.note_taken(place, "model.path", WHY["alg.model_type"])
    elif kind == "supervised":
        source.note_taken(place, "algorithm.learn_on", WHY["supervised"])
    source.note_taken("alg.model_type", "algorithm.learn_on")
    source.note_taken("alg.policy.id", "model.critic, model.reference")
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


def decoding(source: Source, kind: str) -> dict[str, Any]:
    """How the answers of a rollout are drawn: `generation_kwargs` and the lengths of `env`."""
    key = "alg.generation_kwargs" if kind == "supervised" else "alg.policy.args.generation_kwargs"
    sampled = _draws(source, key) or kind != "supervised"
    section = _generation(source, key, sampled, "decoding")
    if sampled and not _draws(source, key):
        source.remark(f"{key}.do_sample", "learning from the policy's own episodes needs sampling: it is on")
    _lengths(source, section)
    section |= _learned_prompts(source) if kind == "supervised" else _prompts(source)
    _end_token(source, kind)
    if source.get("env.args.priority_scale", float, 0.0) == 0 and kind != "supervised":
        source.note_taken("env.args.priority_scale", "training.priority")
    else:
        source.note_left("env.args.priority_scale")
    return section


def _lengths(source: Source, section: dict[str, Any]) -> None:
    """Put the most tokens of an answer into the section."""
    longest = source.get("env.args.max_episode_length", int, None, 1)
    if longest is not None:
        most = section.setdefault("max_new_tokens", longest)
        differs = (
            f"answers have at most {most} tokens, as generation_kwargs say; in RL4LMs an answer cut before "
            f"{longest} had no reward"
        )
        why = differs if most != longest else ""
        source.note_taken("env.args.max_episode_length", "decoding.max_new_tokens", why)
    section.setdefault("max_new_tokens", 20)


def _prompts(source: Source) -> dict[str, Any]:
    """The most tokens of a prompt, and the side of the cut, which RL4LMs' environment decides alone."""
    key, side = "env.args.max_prompt_length", f"env.args.{SIDE}"
    source.note_left("tokenizer.truncation_side", f"{side} decides, on the left if it is not set")
    source.note_left("tokenizer.max_length", f"{key} decides")
    section = {"truncation_side": _side(source, side)}
    source.note_taken(side, "decoding.truncation_side")
    return section | _most(source, key, "decoding")


def _learned_prompts(source: Source) -> dict[str, Any]:
    """The cut of the texts that are learned from: where the tokenizer itself cuts, not at max_length."""
    side, key = _side(source, "tokenizer.truncation_side"), "tokenizer.max_length"
    source.note_taken("tokenizer.truncation_side", "decoding.truncation_side")
    if not encoder_decoder(source):
        _most(source, key, "evaluation", "; learning reads whole texts, as far as the context goes")
        return {"truncation_side": side}
    name = source.get("tokenizer.model_name", str, source.get("alg.model_name", str))
    known = name.rpartition("/")[2].startswith("t5-")
    why = (
        f"in learning a prompt has at most {T5_LENGTH} tokens, the longest text of T5's tokenizer in RL4LMs"
        if known
        else f"in learning RL4LMs cuts prompts where the tokenizer of {name} does; set "
        "decoding.max_prompt_tokens to that length"
    )
    if source.node(key) is None:
        source.remark(key, why)
    _most(source, key, "evaluation", why)
    return {"truncation_side": side} | ({"max_prompt_tokens": T5_LENGTH} if known else {})


def _side(source: Source, key: str) -> str:
    """The side at a key, the left one by default."""
    side: str = source.get(key, str, SIDES[0])
    if side not in SIDES:
        raise BadSetting(f"{source.place(key)}: {UnknownName('side of truncation', side, SIDES)}")
    return side


def _most(source: Source, key: str, section: str, more: str = "") -> dict[str, Any]:
    """The most tokens of a prompt at a key; empty if it is not set. `more`: a further remark."""
    prompt = source.get(key, int, None, 1)
    if prompt is None:
        return {}
    start = 0 if encoder_decoder(source) else 1
    why = f"with the start token, which RL4LMs does not put before the {prompt} tokens" if start else ""
    source.note_taken(key, f"{section}.max_prompt_tokens", why + more)
    return {"max_prompt_tokens": prompt + start}


def _end_token(source: Source, kind: str) -> None:
    """Note that an answer ends with its end token, which RL4LMs leaves to `terminate_on_eos`."""
    key = "env.args.terminate_on_eos"
    ends = WHY[key]
    if kind != "supervised" and source.node(key) is None:
        source.remark(key, f"was not set: in RL4LMs answers then go on after their end token; {ends}")
    source.note_taken(key, "(same in Loquent)", "" if source.get(key, bool, False) else ends)


def evaluation(source: Source, base: dict[str, Any], kind: str) -> dict[str, Any]:
    """How answers are drawn in evaluation, if that differs from `base`, the decoding of a rollout.

    In RL4LMs the arguments of the evaluation replace those of the rollout as a whole.
    """
    section: dict[str, Any] = {}
    key = "train_evaluation.generation_kwargs"
    if source.node(key) is not None and source.get(key, dict, None):
        defaults = {name: value for name, value in DEFAULTS.items() if name in base}
        settings = defaults | _generation(source, key, _draws(source, key), "evaluation")
        section = {name: value for name, value in settings.items() if base.get(name) != value}
    else:
        source.note_taken(key, "evaluation")
    section |= _most(source, "tokenizer.max_length", "evaluation") if kind == "supervised" else {}
    section |= _evaluated_side(source, base) if kind != "supervised" else {}
    return section | source.settings("train_evaluation", TABLES.evaluation, "evaluation")


def _evaluated_side(source: Source, base: dict[str, Any]) -> dict[str, Any]:
    """The side of the cut in evaluation, where the policy's argument decides."""
    key, side = f"alg.policy.args.{SIDE}", base["truncation_side"]
    if source.node(key) is None and side != SIDES[0]:
        why = (
            f"was not set: RL4LMs then cuts prompts of evaluations on the left; here they are cut as in "
            f"rollouts, on the {side}. evaluation.truncation_side: left does as RL4LMs"
        )
        source.remark(key, why)
        return {}
    source.note_taken(key, "evaluation.truncation_side")
    own = _side(source, key)
    return {"truncation_side": own} if own != side else {}


def _draws(source: Source, key: str) -> bool:
    return bool(source.get(f"{key}.do_sample", bool, False))


def _generation(source: Source, key: str, draws: bool, section: str) -> dict[str, Any]:
    """The keyword arguments of Hugging Face's generate, with its default of the top 50 tokens in sampling.

    `section`: the section of the recipe that has them.
    """
    beams = source.get(f"{key}.num_beams", int, 1)
    settings: dict[str, Any] = {"method": "sample" if draws else "beam" if beams > 1 else "greedy"}
    source.note_taken(f"{key}.do_sample", f"{section}.method")
    if settings["method"] == "beam":
        settings["beams"] = beams
        source.note_taken(f"{key}.num_beams", f"{section}.beams")
    else:
        why = "Loquent does not sample from beams" if beams > 1 else ""
        source.note_taken(f"{key}.num_beams", f"{section}.method", why)
    if draws:
        settings["top_k"] = source.get(f"{key}.top_k", int, 50)
        if source.node(f"{key}.top_k") is None:
            source.remark(f"{key}.top_k", WHY["top_k"])
        source.note_taken(f"{key}.top_k", f"{section}.top_k")
        for name, kind in GENERATION.items():
            if source.node(f"{key}.{name}") is not None:
                settings[name] = source.get(f"{key}.{name}", kind)
                source.note_taken(f"{key}.{name}", f"{section}.{name}")
    settings |= _answer_lengths(source, key, section)
    node = source.node(key)
    for name, item in node.mapping(key).items() if node and node.value is not None else ():
        if item.value is None:
            source.same(f"{key}.{name}")
        known = name in ("post_processing_fn", "length_penalty")
        source.note_left(f"{key}.{name}", WHY[name] if known else f"decoding has no {name} in Loquent")
    return settings


def _answer_lengths(source: Source, key: str, section: str) -> dict[str, Any]:
    """The least and the most tokens of an answer."""
    settings = {}
    least, most = f"{key}.min_length", f"{key}.max_new_tokens"
    if source.get(least, int, None) is not None:
        begun = _begun(source)
        settings["min_new_tokens"] = max(0, source.get(least, int) - begun)
        why = f"Hugging Face counts what a decoder reads before an answer too; it is {begun} token(s) here"
        source.note_taken(least, f"{section}.min_new_tokens", why if begun else "")
    if source.get(most, int, None) is not None:
        settings["max_new_tokens"] = source.get(most, int, low=1)
        source.note_taken(most, f"{section}.max_new_tokens")
    else:
        source.remark(most, WHY["max_new_tokens"])
    return settings
