"""`loquent study`: statistics of people's judgements, and blinded sheets for judging runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.bench.study import filled, key, page, sheets
from loquent.bench.study.judgements import CHOICE, Judgements
from loquent.bench.study.summary import study
from loquent.core.guards.terminal import line
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.statistics.intervals import LEVEL
from loquent.statistics.resampling import Resampling

PREPARE = "prepare"
OF_PREPARE = ("rows", "raters", "question", "pairs", "salt")  # options that reading judgements has no use for


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write sheets (`prepare RUN ...`), or print the statistics of files and write their page."""
    if arguments.files[0] == PREPARE:
        return _prepare(arguments)
    given = next((name for name in OF_PREPARE if getattr(arguments, name)), None)
    if given is not None:
        raise BadSetting(f"--{given} belongs to `loquent study prepare`; leave it out to read judgements")
    level = LEVEL if arguments.level is None else arguments.level
    judged = _read([Path(name) for name in arguments.files])
    settings = Resampling(level=level, seed=arguments.seed)
    found = study(judged, settings)
    print(page.markdown(found, level), end="")
    if arguments.out:
        atomic.write_text(Path(arguments.out), page.html(found, level))
        print(f"the page is in {line(arguments.out)}; any browser opens it")
    return 0, found.as_json()


def _prepare(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    if len(arguments.files) < 2 or not arguments.out:
        raise BadSetting("name the runs and --out: loquent study prepare RUN ... --out DIR")
    if arguments.level is not None:
        raise BadSetting("prepare does not read --level; give it when you read the judgements")
    usual = sheets.Plan()
    plan = sheets.Plan(
        rows=arguments.rows or usual.rows,
        raters=arguments.raters or usual.raters,
        questions=tuple(arguments.question) or ((CHOICE,) if arguments.pairs else usual.questions),
        pairs=arguments.pairs,
        seed=arguments.seed,
        salt=arguments.salt or "",
    )
    folder = sheets.prepare([Path(name) for name in arguments.files[1:]], Path(arguments.out), plan)
    where = line(str(folder / key.SHEETS))
    print(f"sheets for {plan.raters} raters are in {where}; {key.KEY} stays with you")
    print(f"when they are filled in: loquent study {line(str(folder))} --out study.html")
    return 0, {"folder": str(folder), "raters": plan.raters}


def _read(paths: list[Path]) -> Judgements:
    """The judgements of files and of folders of sheets."""
    found, cells = filled.read_all(paths)
    for folder, empty in cells.items():
        if empty:
            print(f"{line(str(folder))}: {empty:,} cells are still empty")
    if not found.ratings and not found.preferences:
        raise BadSetting("there is no judgement yet; fill in the sheets, or name a file with judgements")
    return found
