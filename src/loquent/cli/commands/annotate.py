"""`loquent annotate`: a person, or an oracle, corrects an agent's suggestions while it learns.

Each corrected sample joins the pool that the agent learns from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.bench.annotation.sheets import Annotation
from loquent.cli.commands.printing import print_scores
from loquent.cli.grammar.options import Importing, Overriding, argument, option
from loquent.core.guards.terminal import read_line
from loquent.core.task import Row, Task
from loquent.data.readers import jsonl
from loquent.errors import BadRow, BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training import recipes

if TYPE_CHECKING:
    from loquent.bench.annotation.session import Session

ANNOTATED = ("labels", "answer", "answerKey")  # fields that hold an annotation

LEAVE = "q"
UNDO = ("u", "undo", "undo!")  # the first one that is not a label of the sample


class Left(Exception):
    """The person leaves the session."""


class Back(Exception):
    """The person goes back to the sample before this one."""


@dataclass(frozen=True, kw_only=True)
class Options(Overriding, Importing):
    """Options of `loquent annotate`."""

    examples = ("loquent annotate tagging_ppo --samples sentences.jsonl --out runs/annotated",)
    recipe: str = argument(
        "RECIPE", "a recipe whose algorithm chooses actions (algorithm.kind sb3/...): a name or a YAML file"
    )
    samples: str | None = option(
        None,
        "FILE",
        "the samples to annotate, as JSON lines (default: the rows of training.split, labels hidden)",
    )
    oracle: bool = option(False, "", "correct with the samples' own annotations, not with a person")
    weight: float = option(1.0, "W", "the weight of annotated samples, for training.priority", low=0)
    limit: int | None = option(None, "N", "stop after N samples", low=1)
    out: str | None = option(
        None, "DIR", "the session's folder (default runs/RECIPE-annotation); an existing session continues"
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Annotate the pending samples and print the effort saved; an existing session continues."""
    from loquent.bench.annotation.session import Session

    recipe = recipes.load(
        options.recipe,
        options.overrides,
        profile=options.profile,
        imports="all" if options.allow_imports else "trusted",
    )
    samples, annotations = _samples(options, recipe)
    folder = Path(options.out or f"runs/{recipe.name}-annotation")
    with RunFolder(folder).alone():
        return 0, _session(options, Session(recipe, folder, samples, weight=options.weight), annotations)


def _session(options: Options, session: Session, annotations: Mapping[str, Annotation]) -> dict[str, Any]:
    """Hold the session in a folder where no other process writes, and return its results."""
    if options.oracle and (unknown := [row.id for row in session.samples if row.id not in annotations]):
        raise BadSetting(
            f"--oracle: the sample {unknown[0]!r} has no annotation; give samples that all have one, or "
            "leave out --oracle"
        )
    before = len(session.annotations)
    left = False
    try:
        while (row := session.pending) is not None and (
            not options.limit or len(session.annotations) - before < options.limit
        ):
            try:
                _annotate(session, row, annotations[row.id] if options.oracle else None)
            except Back:
                session = session.undo()
    except Left:
        left = True
    except KeyboardInterrupt:
        _print_effort(session)
        raise
    effort = _print_effort(session)
    evaluation = None if left or session.pending is not None else session.evaluate()
    if evaluation:
        print_scores(evaluation)
    return {
        "run": str(session.folder),
        "left": len(session.samples) - len(session.annotations),
        **effort,
        "evaluation": evaluation,
    }


def _samples(options: Options, recipe: recipes.Recipe) -> tuple[list[Row], dict[str, Annotation]]:
    """The samples without their annotations, and the annotations of those that have one, by id."""
    from loquent.bench.annotation.sheets import form_of
    from loquent.training.start import make_task

    task = make_task(recipe)
    form = form_of(task)
    records = (
        _from_file(task, options.samples)
        if options.samples
        else [row.fields.with_(id=row.id) for row in task.rows(recipe.training.split)]
    )
    rows: dict[str, Row] = {}
    lines: dict[str, int] = {}
    annotations: dict[str, Annotation] = {}
    for line, fields in enumerate(records, 1):
        try:
            row = form.blank(fields)
            if row.id in lines:
                raise BadRow(
                    f"the sample {row.id!r} stands already in line {lines[row.id]}; give each sample an id "
                    "of its own"
                )
            if any(name in fields for name in ANNOTATED):
                annotations[row.id] = form.annotation(task.row_from({**fields, "id": row.id}))
        except BadRow as error:
            raise BadRow(str(error), file=options.samples, line=line) from error
        rows[row.id], lines[row.id] = row, line
    if options.oracle and not annotations:
        raise BadSetting(
            "--oracle: no sample has an annotation; give samples that all have one, or leave out --oracle"
        )
    return list(rows.values()), annotations


def _from_file(task: Task, path: str) -> Sequence[Mapping[str, Any]]:
    place = Path(path)
    if not place.is_file():
        raise BadSetting(
            f"--samples {path}: there is no such file; give JSON lines with the fields of {task.spec.id}"
        )
    return [record for _, record in jsonl(place)]


def _annotate(session: Session, row: Row, annotation: Annotation | None) -> None:
    """Annotate one sample, with a person if no annotation is given."""
    suggested = session.suggest(row)
    if annotation is None:
        annotation = _ask(session, row, suggested)
    logs = session.annotate(row, suggested, annotation)
    corrected, of = int(logs["annotation/corrected"]), int(logs["annotation/decisions"])
    _show(
        f"{len(session.annotations)}/{len(session.samples)}: {corrected} of {of} corrected; saved "
        f"{logs['annotation/saved']:.0%} so far\n"
    )


def _ask(session: Session, row: Row, suggested: Annotation) -> Annotation:
    """The annotation that a person makes of a suggestion."""
    form = session.form
    leaves = "the end of the input (Ctrl-D)" if form.accepts(row, LEAVE) else LEAVE
    undo = next(word for word in UNDO if not form.accepts(row, word))
    draft = session.draft(row)
    annotation = suggested if draft is None else draft
    place = f"sample {len(session.annotations) + 1} of {len(session.samples)} ({row.id})"
    _show(f"\n{place}\n{form.help}; {undo} undoes; {leaves} leaves\n{form.render(row, annotation)}\n")
    before = [] if draft is None else [suggested]
    while True:
        text = read_line("> ")
        line = (text or "").strip()
        if text is None or (line == LEAVE and not form.accepts(row, line)):
            raise Left
        if not line:
            return annotation
        if line == undo:
            if not before and session.annotations:
                raise Back
            if not before:
                _show("there is nothing to undo\n")
                continue
            annotation = before.pop()
        else:
            try:
                changed = form.change(row, annotation, line)
            except ValueError as error:
                _show(f"{error}\n")
                continue
            before.append(annotation)
            annotation = changed
        session.keep_draft(row, annotation)
        _show(f"{form.render(row, annotation)}\n")


def _print_effort(session: Session) -> dict[str, Any]:
    """Print and return the effort so far."""
    effort = session.effort
    _show(
        f"\n{effort.samples} samples: {effort.corrected} corrections in place of {effort.decisions} "
        f"decisions, {effort.saved_share:.1%} of the work saved\n"
    )
    if session.pending is not None:
        _show(f"{len(session.samples) - effort.samples} are left; the same command goes on with them\n")
    return {
        "samples": effort.samples,
        "corrected": effort.corrected,
        "decisions": effort.decisions,
        "saved": effort.saved_share,
    }


def _show(text: str) -> None:
    print(text, end="", flush=True)
