"""Annotation forms: how a sample is shown, corrected by lines of input, and counted in decisions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.task import Row, Task
from loquent.errors import BadSetting, nearest

Annotation = tuple[str, ...]
Fields = Mapping[str, Any]
CORRECTION = re.compile(r"(\d+)(?:-(\d+))?\s+(.+)")


class Form(ABC):
    """The annotations of one kind of task, as tuples of strings."""

    help: str

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def blank(self, fields: Fields) -> Row:
        """A row without an annotation, for the agent to play.

        Raises:
            BadRow: the fields are not a sample of this task.
        """

    @abstractmethod
    def suggestion(self, fields: Fields) -> Annotation:
        """The agent's annotation, from the fields of the last observation of its episode."""

    @abstractmethod
    def annotation(self, row: Row) -> Annotation:
        """The annotation of an annotated row."""

    @abstractmethod
    def annotate(self, row: Row, annotation: Annotation) -> Row:
        """The row with this annotation and the same id."""

    @abstractmethod
    def render(self, row: Row, annotation: Annotation) -> str:
        """The sample and its annotation as lines of text."""

    @abstractmethod
    def change(self, row: Row, annotation: Annotation, line: str) -> Annotation:
        """The annotation after a line of input.

        Raises:
            ValueError: the line is not a correction; the message says what is allowed.
        """

    @abstractmethod
    def corrections(self, suggestion: Annotation, annotation: Annotation) -> int:
        """The number of decisions in a suggestion that were corrected."""

    @abstractmethod
    def decisions(self, annotation: Annotation) -> int:
        """The number of decisions that the annotation takes without a suggestion."""

    def accepts(self, row: Row, line: str) -> bool:
        """Whether a line that could be a command is an annotation of this sample, which takes precedence."""
        return False

    def _label(self, text: str, labels: Sequence[str]) -> str:
        """The label that a text names; letter case is ignored if only one label matches."""
        if text in labels:
            return text
        matches = [label for label in labels if label.strip().lower() == text.lower()]
        if len(matches) == 1:
            return matches[0]
        near = nearest(text, labels)
        raise ValueError(f"{text!r} is no label{f'; did you mean {near}?' if near else ''} (? lists them)")


class Tags(Form):
    """A label for every token."""

    help = "Enter accepts the annotation; `3 LABEL` or `3-5 LABEL` corrects tokens; ? lists the labels"

    def blank(self, fields: Fields) -> Row:
        tokens = fields.get("tokens", fields.get("text", ()))
        count = (
            len([piece for piece in tokens.split(" ") if piece])
            if isinstance(tokens, str)
            else len(_items(tokens))
        )
        return self.task.row_from({**fields, "labels": self._labels[:1] * count})

    def suggestion(self, fields: Fields) -> Annotation:
        return tuple(label or self._labels[0] for label in fields["labels"])

    def annotation(self, row: Row) -> Annotation:
        return tuple(row["labels"])

    def annotate(self, row: Row, annotation: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "labels": annotation})

    def render(self, row: Row, annotation: Annotation) -> str:
        width = max(map(len, row["tokens"]))
        return "\n".join(
            f"{i:>4}  {token:<{width}}  {label}"
            for i, (token, label) in enumerate(zip(row["tokens"], annotation, strict=True), 1)
        )

    def change(self, row: Row, annotation: Annotation, line: str) -> Annotation:
        if line == "?":
            raise ValueError(_listed(self._labels))
        match = CORRECTION.fullmatch(line)
        if not match:
            raise ValueError(f"{line!r:.60} is neither `3 LABEL` nor `3-5 LABEL`")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= len(annotation):
            place = f"{match[1]}{f'-{match[2]}' if match[2] else ''}"
            raise ValueError(f"the sample has the tokens 1 to {len(annotation)}, not {place}")
        label = self._label(match[3], self._labels)
        return (*annotation[: first - 1], *(label,) * (last - first + 1), *annotation[last:])

    def corrections(self, suggestion: Annotation, annotation: Annotation) -> int:
        return sum(a != b for a, b in zip(suggestion, annotation, strict=True))

    def decisions(self, annotation: Annotation) -> int:
        return len(annotation)

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.task.labels


class Labels(Form):
    """A set of labels for a text."""

    help = "Enter accepts the annotation; `+LABEL` adds a label, `-LABEL` removes it; ? lists the labels"

    def blank(self, fields: Fields) -> Row:
        return self.task.row_from({**fields, "labels": ()})

    def suggestion(self, fields: Fields) -> Annotation:
        return tuple(dict.fromkeys(label for label in fields["labels"] if label in self._labels))

    def annotation(self, row: Row) -> Annotation:
        return tuple(row["labels"])

    def annotate(self, row: Row, annotation: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "labels": annotation})

    def render(self, row: Row, annotation: Annotation) -> str:
        return f"{row['text']}\n  labels: {', '.join(annotation) or '(none)'}"

    def change(self, row: Row, annotation: Annotation, line: str) -> Annotation:
        if line == "?":
            raise ValueError(_listed(self._labels))
        if line[:1] not in ("+", "-"):
            raise ValueError(f"{line!r:.60} is neither `+LABEL` nor `-LABEL`")
        label = self._label(line[1:].strip(), self._labels)
        adds = line[0] == "+"
        if (label in annotation) == adds:
            raise ValueError(f"{label} is {'there already' if adds else 'not there'}")
        return (*annotation, label) if adds else tuple(other for other in annotation if other != label)

    def corrections(self, suggestion: Annotation, annotation: Annotation) -> int:
        return len(set(suggestion) ^ set(annotation))

    def decisions(self, annotation: Annotation) -> int:
        return len(annotation)

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.task.labels


class Choice(Form):
    """The id of one of the choices of a question."""

    help = "Enter accepts the marked choice; the id of another choice selects that choice; ? lists the ids"

    def blank(self, fields: Fields) -> Row:
        id = _first_id(fields)
        return self.task.row_from({**fields, "answer": id, "answerKey": id})

    def suggestion(self, fields: Fields) -> Annotation:
        return (fields["selected"] or fields["ids"][-1],)

    def annotation(self, row: Row) -> Annotation:
        return (row["answer"],)

    def annotate(self, row: Row, annotation: Annotation) -> Row:
        return self.task.row_from({**row.fields, "id": row.id, "answer": annotation[0]})

    def render(self, row: Row, annotation: Annotation) -> str:
        lines = [row["question"], *(f"  fact: {fact}" for fact in row["facts"])]
        for id, text in zip(row["ids"], row["choices"], strict=True):
            lines.append(f"{'>' if id == annotation[0] else ' '} {id}  {text}")
        return "\n".join(lines)

    def change(self, row: Row, annotation: Annotation, line: str) -> Annotation:
        if line == "?" and not self.accepts(row, line):
            raise ValueError(_listed(row["ids"]))
        return (self._label(line, row["ids"]),)

    def accepts(self, row: Row, line: str) -> bool:
        """Whether a choice has this id."""
        return line in row["ids"]

    def corrections(self, suggestion: Annotation, annotation: Annotation) -> int:
        return int(suggestion != annotation)

    def decisions(self, annotation: Annotation) -> int:
        return 1


FORMS: dict[str, type[Form]] = {"tags": Tags, "labels": Labels, "choice": Choice}


def form_of(task: Task) -> Form:
    """The form that annotates samples of a task.

    Raises:
        BadSetting: the task's class names no form.
    """
    if task.annotation not in FORMS:
        raise BadSetting(
            f"rows of {task.identity} cannot be annotated: its class has annotation = {task.annotation!r}. "
            f"{', '.join(FORMS)} are the forms that the class can name"
        )
    return FORMS[task.annotation](task)


def _listed(names: Sequence[str]) -> str:
    """The names on one line, or one name a line if a name contains spaces."""
    return ("\n" if any(len(name.split()) > 1 for name in names) else " ").join(names)


def _first_id(fields: Fields) -> str:
    """The id of a choice, in any form in which a question is read.

    A wrong id is refused when the row is made.
    """
    question = fields.get("question")
    choices = question.get("choices", ()) if isinstance(question, Mapping) else fields.get("choices", ())
    if fields.get("ids") is not None:
        return str(next(iter(_items(fields["ids"])), ""))
    if isinstance(choices, Mapping):
        return str(next(iter(_items(choices.get("label", choices))), ""))
    first = next(iter(_items(choices)), "")
    if isinstance(first, Mapping):
        return str(first.get("label", ""))
    return str(first[0]) if isinstance(first, list | tuple) and first else "A"


def _items(value: Any) -> Any:
    """The value if it is a collection, else an empty tuple; the error is raised when the row is made."""
    return value if isinstance(value, list | tuple | Mapping) else ()
