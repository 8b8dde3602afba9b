"""`loquent annotate`: the agent suggests, you correct (or an oracle does), the sample joins the pool, the
agent learns on.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent import recipes
from loquent.annotation.forms import Annotation
from loquent.annotation.session import Session
from loquent.cli.commands.printed import scores
from loquent.core.guards.terminal import read_line
from loquent.core.task import Row, Task
from loquent.data.readers import jsonl
from loquent.errors import BadRow, BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training.start import make_task

ANNOTATED = ("labels", "answer", "answerKey")  # the fields that are an annotation

LEAVE = "q"
UNDO = ("u", "undo", "undo!")  # the first that is no label of the sample


class Left(Exception):
    """The person has had enough for now."""


class Back(Exception):
    """The person wants the sample before this one again."""


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Annotate what is due, and say what was saved; a session that is there goes on."""
    whole = recipes.load(
        arguments.recipe,
        arguments.overrides,
        profile=arguments.profile,
        imports="all" if arguments.allow_imports else "trusted",
    )
    samples, right = _samples(arguments, whole)
    folder = Path(arguments.out or f"runs/{whole.name}-annotation")
    with RunFolder(folder).alone():
        return 0, _held(arguments, Session(whole, folder, samples, weight=arguments.weight), right)


def _held(arguments: Namespace, session: Session, right: Mapping[str, Annotation]) -> dict[str, Any]:
    """The session, in a folder where nobody else writes."""
    if arguments.oracle and (unknown := [row.id for row in session.samples if row.id not in right]):
        raise BadSetting(
            f"--oracle: the sample {unknown[0]!r} has no annotation; samples that have theirs are "
            "right, or a person"
        )
    here = len(session.annotations)
    left = False
    try:
        while (row := session.pending) is not None and (
            not arguments.limit or len(session.annotations) - here < arguments.limit
        ):
            try:
                _one(session, row, right[row.id] if arguments.oracle else None)
            except Back:
                session = session.undo()
    except Left:
        left = True
    except KeyboardInterrupt:
        _told(session)
        raise
    effort = _told(session)
    evaluation = None if left or session.pending is not None else session.evaluate()
    if evaluation:
        scores(evaluation)
    return {
        "run": str(session.folder),
        "left": len(session.samples) - len(session.annotations),
        **effort,
        "evaluation": evaluation,
    }


def _samples(arguments: Namespace, whole: recipes.Recipe) -> tuple[list[Row], dict[str, Annotation]]:
    """What is to be annotated without its annotations, and the right ones by id where there are any."""
    from loquent.annotation.forms import form_of

    task = make_task(whole)
    form = form_of(task)
    given = (
        _from_file(task, arguments.samples)
        if arguments.samples
        else [row.fields.with_(id=row.id) for row in task.rows(whole.training.split)]
    )
    rows: dict[str, Row] = {}
    lines: dict[str, int] = {}
    right: dict[str, Annotation] = {}
    for line, fields in enumerate(given, 1):
        try:
            row = form.blank(fields)
            if row.id in lines:
                raise BadRow(
                    f"the sample {row.id!r} stands already in line {lines[row.id]}; an id of its own "
                    "for each is right"
                )
            if any(name in fields for name in ANNOTATED):
                right[row.id] = form.annotation(task.row_from({**fields, "id": row.id}))
        except BadRow as error:
            raise BadRow(str(error), file=arguments.samples, line=line) from error
        rows[row.id], lines[row.id] = row, line
    if arguments.oracle and not right:
        raise BadSetting(
            "--oracle: no sample has an annotation of its own; samples that have theirs are right, "
            "or a person"
        )
    return list(rows.values()), right


def _from_file(task: Task, path: str) -> Sequence[Mapping[str, Any]]:
    place = Path(path)
    if not place.is_file():
        raise BadSetting(
            f"--samples {path}: there is no such file; JSON lines with the fields of {task.spec.id} are right"
        )
    return [record for _, record in jsonl(place)]


def _one(session: Session, row: Row, right: Annotation | None) -> None:
    """Annotate one sample."""
    suggested = session.suggest(row)
    given = right
    if given is None:
        given = _asked(session, row, suggested)
    logs = session.annotate(row, suggested, given)
    corrected, of = int(logs["annotation/corrected"]), int(logs["annotation/decisions"])
    _show(
        f"{len(session.annotations)}/{len(session.samples)}: {corrected} of {of} corrected; saved "
        f"{logs['annotation/saved']:.0%} so far\n"
    )


def _asked(session: Session, row: Row, suggested: Annotation) -> Annotation:
    """What a person makes of a suggestion."""
    form = session.form
    leaves = "the end of the input (Ctrl-D)" if form.accepts(row, LEAVE) else LEAVE
    undo = next(word for word in UNDO if not form.accepts(row, word))
    draft = session.draft(row)
    given = suggested if draft is None else draft
    place = f"sample {len(session.annotations) + 1} of {len(session.samples)} ({row.id})"
    _show(f"\n{place}\n{form.help}; {undo} undoes; {leaves} leaves\n{form.render(row, given)}\n")
    before = [] if draft is None else [suggested]
    while True:
        typed = read_line("> ")
        line = (typed or "").strip()
        if typed is None or (line == LEAVE and not form.accepts(row, line)):
            raise Left
        if not line:
            return given
        if line == undo:
            if not before and session.annotations:
                raise Back
            if not before:
                _show("there is nothing to undo\n")
                continue
            given = before.pop()
        else:
            try:
                changed = form.change(row, given, line)
            except ValueError as error:
                _show(f"{error}\n")
                continue
            before.append(given)
            given = changed
        session.keep_draft(row, given)
        _show(f"{form.render(row, given)}\n")


def _told(session: Session) -> dict[str, Any]:
    """Print the effort so far."""
    effort = session.effort
    _show(
        f"\n{effort.samples} samples: {effort.corrected} corrections in place of {effort.decisions} "
        f"decisions, {effort.saved:.1%} of the work saved\n"
    )
    if session.pending is not None:
        _show(f"{len(session.samples) - effort.samples} are left; the same command goes on with them\n")
    return {
        "samples": effort.samples,
        "corrected": effort.corrected,
        "decisions": effort.decisions,
        "saved": effort.saved,
    }


def _show(text: str) -> None:
    print(text, end="", flush=True)
