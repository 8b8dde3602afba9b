"""`loquent study`: statistics of people's judgements, and blinded sheets for judging runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.cli.grammar.options import Seeded, argument, option
from loquent.core.guards.terminal import line
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.statistics.intervals import LEVEL
from loquent.statistics.resampling import Resampling

if TYPE_CHECKING:
    from loquent.data.preferences.judgements import Judgements

PREPARE = "prepare"
OF_PREPARE = ("rows", "raters", "question", "pairs", "salt")  # options that reading judgements has no use for


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of `loquent study`."""

    examples = (
        "loquent study ratings.csv --out study.html",
        "loquent study prepare runs/ppo runs/nlpo --out study --question coherence --question sentiment",
        "loquent study study --out study.html",
    )
    files: tuple[str, ...] = argument(
        "FILE",
        "judgements (.jsonl or .csv), or a prepared folder; or the word prepare and the folders of runs",
    )
    out: str | None = option(None, "PATH", "the page to write; of prepare: the folder for the sheets")
    level: float | None = option(None, "P", "the level of intervals (default 0.95)", low=0.5, high=0.999)
    rows: int | None = option(None, "N", "of prepare: rows to judge (default 100)", low=1)
    raters: int | None = option(None, "N", "of prepare: sheets, one a rater (default 3)", low=1)
    question: tuple[str, ...] = option(
        (),
        "NAME",
        "of prepare: a column to fill in; may be repeated (default rating, with --pairs preference)",
    )
    salt: str | None = option(
        None,
        "TEXT",
        "of prepare: the salt in the key.json of a study, for its orders and sides (default: random)",
    )
    pairs: bool = option(False, "", "of prepare: two answers side by side, to choose between")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Write sheets (`prepare RUN ...`), or print the statistics of files and write their page."""
    from loquent.bench.study import page
    from loquent.bench.study.summary import study

    if options.files[0] == PREPARE:
        return _prepare(options)
    given = next((name for name in OF_PREPARE if getattr(options, name)), None)
    if given is not None:
        raise BadSetting(f"--{given} belongs to `loquent study prepare`; leave it out to read judgements")
    level = LEVEL if options.level is None else options.level
    judged = _read([Path(name) for name in options.files])
    settings = Resampling(level=level, seed=options.seed)
    found = study(judged, settings)
    print(page.markdown(found, level), end="")
    if options.out:
        atomic.write_text(Path(options.out), page.html(found, level))
        print(f"the page is in {line(options.out)}; any browser opens it")
    return 0, found.as_json()


def _prepare(options: Options) -> tuple[int, dict[str, Any]]:
    """Write the sheets of runs, and print where they are."""
    from loquent.bench.study import sheets
    from loquent.data.preferences import key
    from loquent.data.preferences.judgements import CHOICE

    if len(options.files) < 2 or not options.out:
        raise BadSetting("name the runs and --out: loquent study prepare RUN ... --out DIR")
    if options.level is not None:
        raise BadSetting("prepare does not read --level; give it when you read the judgements")
    usual = sheets.Plan()
    plan = sheets.Plan(
        rows=options.rows or usual.rows,
        raters=options.raters or usual.raters,
        questions=tuple(options.question) or ((CHOICE,) if options.pairs else usual.questions),
        pairs=options.pairs,
        seed=options.seed,
        salt=options.salt or "",
    )
    folder = sheets.prepare([Path(name) for name in options.files[1:]], Path(options.out), plan)
    where = line(str(folder / key.SHEETS))
    print(f"sheets for {plan.raters} raters are in {where}; {key.KEY} stays with you")
    print(f"when they are filled in: loquent study {line(str(folder))} --out study.html")
    return 0, {"folder": str(folder), "raters": plan.raters}


def _read(paths: list[Path]) -> Judgements:
    """The judgements of files and of folders of sheets."""
    from loquent.data.preferences import sheet_files

    found, cells = sheet_files.read_all(paths)
    for folder, empty in cells.items():
        if empty:
            print(f"{line(str(folder))}: {empty:,} cells are still empty")
    if not found.ratings and not found.preferences:
        raise BadSetting("there is no judgement yet; fill in the sheets, or name a file with judgements")
    return found
