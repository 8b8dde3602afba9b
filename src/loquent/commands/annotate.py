"""`loquent annotate`: the agent suggests, you correct (or an oracle does), the sample joins the pool, the agent learns on."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent import named, recipe, resuming
from loquent.annotation.forms import Annotation
from loquent.annotation.session import Session
from loquent.commands.printed import scores
from loquent.data.readers import jsonl
from loquent.errors import BadRow, BadSetting
from loquent.start import make_task
from loquent.task import Row, Task
from loquent.values import escaped

ANNOTATED = ("labels", "answer", "answerKey")  # the fields that are an annotation

LEAVE = "q"


class Left(Exception):
    """The person has had enough for now."""


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Annotate what is due, and say what was saved; a session that is there goes on."""
    named.search_here()
    whole = recipe.load(arguments.recipe, arguments.overrides, profile=arguments.profile)
    samples, right = _samples(arguments, whole)
    folder = Path(arguments.out or f"runs/{whole.name}-annotation")
    with resuming.alone(folder):
        return 0, _held(arguments, Session(whole, folder, samples, weight=arguments.weight), right)


def _held(arguments: Namespace, session: Session, right: Mapping[str, Annotation]) -> dict[str, Any]:
    """The session, in a folder where nobody else writes."""
    if arguments.oracle and (unknown := [row.id for row in session.samples if row.id not in right]):
        raise BadSetting(f"--oracle: the sample {unknown[0]!r} has no annotation; samples that have theirs are right, or a person")
    here = len(session.given)
    left = False
    try:
        while (row := session.pending) is not None and (not arguments.limit or len(session.given) - here < arguments.limit):
            _one(session, row, right[row.id] if arguments.oracle else None)
    except Left:
        left = True
    except KeyboardInterrupt:
        _told(session)
        raise
    effort = _told(session)
    evaluation = None if left or session.pending is not None else session.evaluate()
    if evaluation:
        scores(evaluation)
    return {"run": str(session.folder), "left": len(session.samples) - len(session.given), **effort, "evaluation": evaluation}


def _samples(arguments: Namespace, whole: recipe.Recipe) -> tuple[list[Row], dict[str, Annotation]]:
    """What is to be annotated without its annotations, and the right ones by id where there are any."""
    from loquent.annotation.forms import form_of

    task = make_task(whole)
    form = form_of(task)
    given = _from_file(task, arguments.samples) if arguments.samples else [row.fields.with_(id=row.id) for row in task.rows(whole.training.split)]
    rows: dict[str, Row] = {}
    lines: dict[str, int] = {}
    right: dict[str, Annotation] = {}
    for line, fields in enumerate(given, 1):
        try:
            row = form.blank(fields)
            if row.id in lines:
                raise BadRow(f"the sample {row.id!r} stands already in line {lines[row.id]}; an id of its own for each is right")
            if any(name in fields for name in ANNOTATED):
                right[row.id] = form.right(task.row_from({**fields, "id": row.id}))
        except BadRow as error:
            raise BadRow(str(error), file=arguments.samples, line=line) from error
        rows[row.id], lines[row.id] = row, line
    if arguments.oracle and not right:
        raise BadSetting("--oracle: no sample has an annotation of its own; samples that have theirs are right, or a person")
    return list(rows.values()), right


def _from_file(task: Task, path: str) -> Sequence[Mapping[str, Any]]:
    place = Path(path)
    if not place.is_file():
        raise BadSetting(f"--samples {path}: there is no such file; JSON lines with the fields of {task.spec.id} are right")
    return [record for _, record in jsonl(place)]


def _one(session: Session, row: Row, right: Annotation | None) -> None:
    """Annotate one sample."""
    suggested = session.suggested(row)
    given = right
    if given is None:
        given = _asked(session, row, suggested)
    logs = session.give(row, suggested, given)
    corrected, of = int(logs["annotation/corrected"]), int(logs["annotation/decisions"])
    _show(f"{len(session.given)}/{len(session.samples)}: {corrected} of {of} corrected; saved {logs['annotation/saved']:.0%} so far\n")


def _asked(session: Session, row: Row, suggested: Annotation) -> Annotation:
    """What a person makes of a suggestion."""
    form = session.form
    leaves = "the end of the input (Ctrl-D)" if form.names(row, LEAVE) else LEAVE
    draft = session.draft(row)
    given = suggested if draft is None else draft
    _show(f"\nsample {len(session.given) + 1} of {len(session.samples)} ({row.id})\n{form.help}; {leaves} leaves\n{form.shown(row, given)}\n")
    while True:
        _show("> ")
        line = _line()
        ended, line = not line, line.strip()
        if ended or (line == LEAVE and not form.names(row, line)):
            raise Left
        if not line:
            return given
        try:
            given = form.changed(row, given, line)
        except ValueError as error:
            _show(f"{error}\n")
            continue
        session.keep_draft(row, given)
        _show(f"{form.shown(row, given)}\n")


def _line() -> str:
    """What is typed next; bytes that are no text are spelled out, so that no line is told as another or ends the session."""
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is None:
        return sys.stdin.readline()
    raw: bytes = buffer.readline()
    return raw.decode(sys.stdin.encoding or "utf-8", "backslashreplace")


def _told(session: Session) -> dict[str, Any]:
    """Print the effort so far."""
    effort = session.effort
    _show(
        f"\n{effort.samples} samples: {effort.corrected} corrections in place of {effort.decisions} decisions, {effort.saved:.1%} of the work saved\n"
    )
    if session.pending is not None:
        _show(f"{len(session.samples) - effort.samples} are left; the same command goes on with them\n")
    return {"samples": effort.samples, "corrected": effort.corrected, "decisions": effort.decisions, "saved": effort.saved}


def _show(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(escaped(text).encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
