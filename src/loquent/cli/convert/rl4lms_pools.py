"""The data pools of RL4LMs that are datasets of text generation here, with their prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.convert.source import Source

KEY = "datapool.args"
GPT2_END = "<|endoftext|>"


@dataclass(frozen=True)
class Pool:
    """The counterpart of a data pool.

    Attributes:
        dataset: the name of the dataset.
        prefix, part, suffix: the option before the prompt's part in braces, the part, and the option behind.
        pinned: whether the dataset names a copy of the hub and its commit.
        remark: how the rows differ.
        rows: of the training split of the pinned copy; 0: they are not known.
    """

    dataset: str
    prefix: tuple[str, str] = ("", "")
    part: str = ""
    suffix: tuple[str, str] = ("", "")
    pinned: bool = False
    remark: str = ""
    rows: int = 0


POOLS = {
    "commongen": Pool(
        "commongen",
        ("prefix", "summarize: "),
        "{concepts}",
        ("concept_end_token", " "),
        remark="outside train a row has all sentences of its set; RL4LMs has one of them",
    ),
    "cnn_daily_mail": Pool(
        "cnn_daily_mail",
        ("prompt_prefix", ""),
        "{article}",
        ("prompt_suffix", ""),
        pinned=True,
        rows=287_113,
    ),
    "totto": Pool("totto"),
    "narrative_qa": Pool(
        "narrative_qa",
        pinned=True,
        remark="rows are those of the hub's copy; task.source: path reads UnifiedQA's, which RL4LMs has",
    ),
    "iwslt2017en_de": Pool("iwslt2017", ("prompt_prefix", ""), "{source}"),
    "daily_dialog": Pool(
        "daily_dialog", remark="utterances keep the white space of the published files, as in RL4LMs"
    ),
    "dummy_pool": Pool("constant"),
}
SAME = {"representation": (str, "subtable"), "context_size": (int, 5)}  # with RL4LMs' default
NAMES = {"context_size": "context"}
OF = {"totto": "representation", "daily_dialog": "context_size"}


def task(source: Source, pool: str, pair: bool) -> dict[str, Any]:
    """The options of the task for a data pool of `POOLS`; `pair`: the model is an encoder-decoder."""
    found = POOLS[pool]
    section: dict[str, Any] = {"dataset": found.dataset}
    if found.dataset == "constant":
        return section | _constant(source, pair)
    if found.pinned:
        source.taken("datapool.id", "task.dataset, task.source", found.remark)
        section["source"] = "hub"
    else:
        section |= {"source": "path", "path": pool}
        why = (
            f"put the published files of {found.dataset} into the folder {pool}, or set task.source to hub "
            "with the task.revision of a copy"
        )
        source.missing("datapool.id", "task.path", f"{why}; {found.remark}" if found.remark else why)
    if found.part:
        section["prompt"] = _prompt(source, found)
    if pool in OF:
        option = OF[pool]
        kind, default = SAME[option]
        name = NAMES.get(option, option)
        section[name] = source.get(f"{KEY}.{option}", kind, default)
        source.taken(f"{KEY}.{option}", f"task.{name}")
    if pool == "commongen" and source.get(f"{KEY}.concept_separator_token", str, " ") != " ":
        source.changed(f"{KEY}.concept_separator_token", "concepts are joined by a space")
    source.same(f"{KEY}.concept_separator_token")
    if pool == "cnn_daily_mail":
        section |= _sizes(source)
    return section


def _prompt(source: Source, found: Pool) -> str:
    """The form of the prompts, with its part in braces."""
    texts = []
    for option, default in (found.prefix, found.suffix):
        texts.append(source.get(f"{KEY}.{option}", str, default) if option else "")
        if option:
            source.taken(f"{KEY}.{option}", "task.prompt")
    return found.part.join(texts)


def _sizes(source: Source) -> dict[str, Any]:
    """The lengths of the articles and the number of rows."""
    section = {}
    for option, name, why in (
        ("truncate_article", "source_words", "words are between white space; RL4LMs splits off punctuation"),
        ("max_size", "limit", "rows are chosen by a hash of their ids, in each split"),
    ):
        number = source.get(f"{KEY}.{option}", int, None, 1)
        if number is not None:
            section[name] = number
            source.taken(f"{KEY}.{option}", f"task.{name}", why)
    return section


def _constant(source: Source, pair: bool) -> dict[str, Any]:
    """One prompt. GPT-2's end token alone is the start token, which a prompt without a text has too."""
    source.taken("datapool.id", "task.dataset")
    prompt = source.get(f"{KEY}.prompt", str)
    if prompt == GPT2_END and not pair:
        why = "the start token alone: GPT-2's tokenizer reads this text as that token"
        source.taken(f"{KEY}.prompt", "task.prompt", why)
        prompt = ""
    source.taken(f"{KEY}.prompt", "task.prompt")
    source.left(
        f"{KEY}.n_samples", "each split has 100 equal rows; evaluations have as many episodes as here"
    )
    return {"prompt": prompt}
