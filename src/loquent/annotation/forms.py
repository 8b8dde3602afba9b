"""How a sample of each task is annotated: what is shown, what a line of input changes, and how much work a
correction is.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.task import Row, Task
from loquent.errors import BadSetting, nearest

Annotation = tuple[str, ...]
Fields = Mapping[str, Any]
PLACE = re.compile(r"(\d+)(?:-(\d+))?\s+(.+)")


class Form(ABC):
    """The annotations of one kind of task, as tuples of strings."""

    help: str

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def blank(self, fields: Fields) -> Row:
        """A row of a sample that has no annotation yet, for the agent to play.

        BadRow where it is no sample of this task.
        """

    @abstractmethod
    def played(self, seen: Fields) -> Annotation:
        """What an agent said, from the last observation of its game."""

    @abstractmethod
    def right(self, row: Row) -> Annotation:
        """The annotation of a row that has one."""

    @abstractmethod
    def filled(self, row: Row, given: Annotation) -> Row:
        """The row of an annotated sample, under its id."""

    @abstractmethod
    def shown(self, row: Row, given: Annotation) -> str:
        """The sample and its annotation as lines."""

    @abstractmethod
    def changed(self, row: Row, given: Annotation, line: str) -> Annotation:
        """The annotation after a line of input.

        ValueError, saying what would be right, where the line makes no sense.
        """

    @abstractmethod
    def edits(self, suggested: Annotation, given: Annotation) -> int:
        """How many decisions of a suggestion were corrected."""

    @abstractmethod
    def decisions(self, given: Annotation) -> int:
        """How many decisions the annotation takes without a suggestion."""

    def names(self, row: Row, line: str) -> bool:
        """Whether a line that could be a command is an annotation of this sample, which comes first."""
        return False

    def _known(self, label: str, labels: Sequence[str]) -> str:
        if label in labels:
            return label
        folded = [known for known in labels if known.strip().lower() == label.lower()]
        if len(folded) == 1:
            return folded[0]
        near = nearest(label, labels)
        raise ValueError(f"{label!r} is no label{f'; did you mean {near}?' if near else ''} (? lists them)")


class Tags(Form):
    """A label for every token."""

    help = "Enter takes it as it stands; `3 LABEL` or `3-5 LABEL` corrects tokens; ? lists the labels"

    def blank(self, fields: Fields) -> Row:
        tokens = fields.get("tokens", fields.get("text", ()))
        count = (
            len([piece for piece in tokens.split(" ") if piece])
            if isinstance(tokens, str)
            else len(_many(tokens))
        )
        return self.task.row_from({**fields, "labels": self._labels[:1] * count})

    def played(self, seen: Fields) -> Annotation:
        return tuple(label or self._labels[0] for label in seen["labels"])

    def right(self, row: Row) -> Annotation:
        return tuple(row["labels"])

    def filled(self, row: Row, given: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "labels": given})

    def shown(self, row: Row, given: Annotation) -> str:
        width = max(map(len, row["tokens"]))
        return "\n".join(
            f"{i:>4}  {token:<{width}}  {label}"
            for i, (token, label) in enumerate(zip(row["tokens"], given, strict=True), 1)
        )

    def changed(self, row: Row, given: Annotation, line: str) -> Annotation:
        if line == "?":
            raise ValueError(_listed(self._labels))
        found = PLACE.fullmatch(line)
        if not found:
            raise ValueError(f"{line!r:.60} is neither `3 LABEL` nor `3-5 LABEL`")
        first, last = int(found[1]), int(found[2] or found[1])
        if not 1 <= first <= last <= len(given):
            raise ValueError(
                f"there are the tokens 1 to {len(given)}, not {found[1]}{f'-{found[2]}' if found[2] else ''}"
            )
        label = self._known(found[3], self._labels)
        return (*given[: first - 1], *(label,) * (last - first + 1), *given[last:])

    def edits(self, suggested: Annotation, given: Annotation) -> int:
        return sum(a != b for a, b in zip(suggested, given, strict=True))

    def decisions(self, given: Annotation) -> int:
        return len(given)

    @property
    def _labels(self) -> tuple[str, ...]:
        labels: Any = self.task
        return tuple(labels.labels)


class Labels(Form):
    """A set of labels for a text."""

    help = "Enter takes it as it stands; `+LABEL` adds, `-LABEL` takes away; ? lists the labels"

    def blank(self, fields: Fields) -> Row:
        return self.task.row_from({**fields, "labels": ()})

    def played(self, seen: Fields) -> Annotation:
        return tuple(dict.fromkeys(label for label in seen["labels"] if label in self._labels))

    def right(self, row: Row) -> Annotation:
        return tuple(row["labels"])

    def filled(self, row: Row, given: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "labels": given})

    def shown(self, row: Row, given: Annotation) -> str:
        return f"{row['text']}\n  labels: {', '.join(given) or '(none)'}"

    def changed(self, row: Row, given: Annotation, line: str) -> Annotation:
        if line == "?":
            raise ValueError(_listed(self._labels))
        if line[:1] not in ("+", "-"):
            raise ValueError(f"{line!r:.60} is neither `+LABEL` nor `-LABEL`")
        label = self._known(line[1:].strip(), self._labels)
        if (label in given) == (line[0] == "+"):
            raise ValueError(f"{label} is {'there already' if line[0] == '+' else 'not there'}")
        return (*given, label) if line[0] == "+" else tuple(other for other in given if other != label)

    def edits(self, suggested: Annotation, given: Annotation) -> int:
        return len(set(suggested) ^ set(given))

    def decisions(self, given: Annotation) -> int:
        return len(given)

    @property
    def _labels(self) -> tuple[str, ...]:
        labels: Any = self.task
        return tuple(labels.labels)


class Choice(Form):
    """The id of one of the choices of a question."""

    help = "Enter takes the marked choice; the id of another takes that one; ? lists the ids"

    def blank(self, fields: Fields) -> Row:
        id = _first_id(fields)
        return self.task.row_from({**fields, "answer": id, "answerKey": id})

    def played(self, seen: Fields) -> Annotation:
        return (seen["selected"] or seen["ids"][-1],)

    def right(self, row: Row) -> Annotation:
        return (row["answer"],)

    def filled(self, row: Row, given: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "answer": given[0]})

    def shown(self, row: Row, given: Annotation) -> str:
        lines = [row["question"], *(f"  fact: {fact}" for fact in row["facts"])]
        return "\n".join(
            [
                *lines,
                *(
                    f"{'>' if id == given[0] else ' '} {id}  {text}"
                    for id, text in zip(row["ids"], row["choices"], strict=True)
                ),
            ]
        )

    def changed(self, row: Row, given: Annotation, line: str) -> Annotation:
        if line == "?" and not self.names(row, line):
            raise ValueError(_listed(row["ids"]))
        return (self._known(line, row["ids"]),)

    def names(self, row: Row, line: str) -> bool:
        """Whether a choice has this id."""
        return line in row["ids"]

    def edits(self, suggested: Annotation, given: Annotation) -> int:
        return int(suggested != given)

    def decisions(self, given: Annotation) -> int:
        return 1


FORMS: dict[str, type[Form]] = {"tags": Tags, "labels": Labels, "choice": Choice}


def form_of(task: Task) -> Form:
    """How samples of a task are annotated; BadSetting where nobody has said so."""
    if task.annotation not in FORMS:
        raise BadSetting(
            f"rows of {task.identity} cannot be annotated: its class says annotation = {task.annotation!r}; "
            f"{', '.join(FORMS)} are the forms there are"
        )
    return FORMS[task.annotation](task)


def _listed(names: Sequence[str]) -> str:
    """Names behind each other, or one a line where one of them has spaces inside."""
    return ("\n" if any(len(name.split()) > 1 for name in names) else " ").join(names)


def _first_id(fields: Fields) -> str:
    """The id of some choice, in any of the forms in which a question is read.

    A wrong one is refused when the row is made.
    """
    inside = fields.get("question")
    choices = inside.get("choices", ()) if isinstance(inside, Mapping) else fields.get("choices", ())
    if fields.get("ids") is not None:
        return str(next(iter(_many(fields["ids"])), ""))
    if isinstance(choices, Mapping):
        return str(next(iter(_many(choices.get("label", choices))), ""))
    first = next(iter(_many(choices)), "")
    if isinstance(first, Mapping):
        return str(first.get("label", ""))
    return str(first[0]) if isinstance(first, list | tuple) and first else "A"


def _many(given: Any) -> Any:
    """What is given where it is several things, none otherwise: what is wrong with it is told when the row is
    made.
    """
    return given if isinstance(given, list | tuple | Mapping) else ()
