"""DailyDialog (arXiv:1710.03957): the next utterance of a dialogue, with its emotion and its intent.

The published files hold a dialogue a line, utterances ended by `__eou__`; beside them stand files of the acts
(1 inform, 2 question, 3 directive, 4 commissive) and the emotions. A record of the hub has `dialog`, `act`
and `emotion`. Utterance i of a dialogue is a row if `context` utterances stand before it. Utterances keep the
white space around them, as in RL4LMs: "Hi . __eou__ Hello . __eou__" has "Hi . " and " Hello . ".
"""

from __future__ import annotations

from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, numbers, texts

END = "<EOU>"
LABELS = {"emotion": "emotion", "intent": "act"}  # the field of a row, and the field of a record


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """A row for each utterance with enough context, with `emotion` and `intent` as lists of one number.

    A built-in record has `responses` too: other answers in place of the last utterance.
    """
    said = texts(record.get("dialog"), "the utterances")
    labels: dict[str, tuple[int, ...]] = {}
    for field, name in LABELS.items():
        if name in record:
            labels[field] = numbers(record[name], f"the numbers in {name!r}")
            if len(labels[field]) != len(said):
                raise ValueError(
                    f"the dialogue has {len(said)} utterances and {len(labels[field])} numbers in {name!r}; "
                    "there must be one for each"
                )
    others = texts(record.get("responses", ()), "the other answers")
    rows = []
    for i in range(form.context, len(said)):
        answers = (said[i], *others) if i == len(said) - 1 else (said[i],)
        rows.append(
            Example(
                {"context": END.join(said[i - form.context : i])},
                tuple(answer + END for answer in answers),
                {field: (values[i],) for field, values in labels.items()},
            )
        )
    return rows
