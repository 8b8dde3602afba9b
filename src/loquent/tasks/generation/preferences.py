"""Records of files of preferences, in the forms of TRL's data sets, as rows with one answer each.

A record has `chosen` and `rejected`, each a text or a list of messages, with a `prompt` or with the common
beginning of both as the prompt; or it has `prompt`, `completion` and a `label`, which is true or false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.agent import before_first
from loquent.core.task import Row
from loquent.core.values import Record, freeze
from loquent.data.tables import forms
from loquent.errors import BadSetting
from loquent.tasks.generation.rows import Options, cut_row

LABELS = {"true": True, "false": False}  # as tables of texts write them
GOOD, BAD = 1.0, 0.0  # the scores of answers


def answers(options: Options, id: str, record: Mapping[str, Any]) -> list[tuple[Row, float]]:
    """The answers of a record, as rows that have the answer as their reference, each with its score.

    Raises:
        ValueError: a column is missing or wrong, or the two answers are not to the same prompt.
        BadSetting: another agent speaks in the episodes of the task.
    """
    for name in ("user", "judge"):
        if getattr(options, name):
            raise BadSetting(
                f"task.{name} = {getattr(options, name)!r:.60}: files of preferences have answers of the "
                f"agent alone; leave out task.{name}, or collect episodes (`loquent collect`) and score them"
            )
    named = options.text_source.reader.own_names(record)
    given = {name: value for name, value in named.items() if value is not None}
    if "chosen" in given and "rejected" in given:
        turned = {**given, "chosen": given["rejected"], "rejected": given["chosen"]}
        good, bad = (_row(options, id, one, ("chosen", "rejected")) for one in (given, turned))
        if _before(good, options) != _before(bad, options):
            raise ValueError(
                "'chosen' and 'rejected' differ before their last message, so they are not answers to one "
                "prompt; write equal messages before the last answer, or learn from all answers of such "
                "conversations with task.turns of at least their number"
            )
        return [(good, GOOD), (bad, BAD)]
    if "completion" in given and "label" in given:
        score = GOOD if _label(given["label"]) else BAD
        return [(_row(options, id, given, ("completion",)), score)]
    raise ValueError(_missing(given))


def _row(options: Options, id: str, given: Mapping[str, Any], answers: tuple[str, ...]) -> Row:
    read = ("prompt", "tools", *answers)
    fields = forms.prompt_fields({name: value for name, value in given.items() if name in read})
    if fields is None:
        raise ValueError(_missing(given))
    both = {**given, **fields}
    row = cut_row(Row(id, Record({str(name): freeze(value) for name, value in both.items()})), options)
    if row["references"] != tuple(before_first(text, options.stop) for text in fields["references"]):
        raise ValueError(
            f"the conversation ends after task.turns = {options.turns} answers, before the judged one; set "
            "task.turns to the answers of the longest conversation, or to 1 to learn the last answer alone"
        )
    return row


def _before(row: Row, options: Options) -> Any:
    """What the agent reads before the answer; in a conversation of several answers, before the first one."""
    if options.reads_script:
        return row["prompt"]
    return row.fields.get("messages", row["prompt"])


def _label(value: Any) -> bool:
    found = LABELS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError(f"the field 'label' is {value!r:.40}; it must be true or false")
    return found


def _missing(given: Mapping[str, Any]) -> str:
    """What a record lacks, and the line for the task that names its columns, if they can be guessed."""
    labelled = not {"chosen", "rejected"} & set(given) and bool({"completion", "label"} & set(given))
    needed = ("prompt", "completion", "label") if labelled else ("prompt", "chosen", "rejected")
    implicit = {"prompt"} if "chosen" in given else set()
    lacking = [name for name in needed if name not in given and name not in implicit]
    guesses = forms.guesses([str(name) for name in given], lacking)
    line = ", ".join(f"{column}: {name}" for column, name in guesses.items())
    advice = f"; add to the task: columns: {{{line}}}" if set(guesses.values()) == set(lacking) else ""
    return (
        f"this record has no {', '.join(map(repr, lacking))}; a pair has 'prompt', 'chosen' and 'rejected', "
        "and a labelled answer 'prompt', 'completion' and 'label'. Fields here: "
        f"{', '.join(map(str, given)) or 'none'}{advice}"
    )
