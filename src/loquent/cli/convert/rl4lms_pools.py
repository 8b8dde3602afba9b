"""The data pools of RL4LMs that are datasets of text generation here, with their prompts."""

from __future__ import annotations

from typing import Any

from loquent.cli.convert.source import Source
from loquent.cli.convert.tables import TABLES, WHY, Pool

KEY = "datapool.args"
GPT2_END = "<|endoftext|>"


def task(source: Source, pool: str, pair: bool) -> dict[str, Any]:
    """The options of the task for a data pool of the tables; `pair`: the model is an encoder-decoder."""
    found = TABLES.pools[pool]
    section: dict[str, Any] = {"dataset": found.dataset}
    if found.dataset == "constant":
        return section | _constant(source, pair)
    if found.pinned:
        source.note_taken("datapool.id", "task.dataset, task.source", found.remark)
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
    section |= source.settings(KEY, found.options, "task")
    if pool == "commongen" and source.get(f"{KEY}.concept_separator_token", str, " ") != " ":
        source.note_change(f"{KEY}.concept_separator_token")
    source.same(f"{KEY}.concept_separator_token")
    return section


def _prompt(source: Source, found: Pool) -> str:
    """The form of the prompts, with its part in braces."""
    texts = []
    for option, default in (found.prefix, found.suffix):
        texts.append(source.get(f"{KEY}.{option}", str, default) if option else "")
        if option:
            source.note_taken(f"{KEY}.{option}", "task.prompt")
    return found.part.join(texts)


def _constant(source: Source, pair: bool) -> dict[str, Any]:
    """One prompt. GPT-2's end token alone is the start token, which a prompt without a text has too."""
    source.note_taken("datapool.id", "task.dataset")
    prompt = source.get(f"{KEY}.prompt", str)
    if prompt == GPT2_END and not pair:
        source.note_taken(f"{KEY}.prompt", "task.prompt", WHY[f"{KEY}.prompt"])
        prompt = ""
    source.note_taken(f"{KEY}.prompt", "task.prompt")
    source.note_left(f"{KEY}.n_samples")
    return {"prompt": prompt}
