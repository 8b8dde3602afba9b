"""`loquent study`: statistics of people's judgements, and blinded sheets for judging runs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loquent.bench.study import filled, key, page, sheets
from loquent.bench.study.judgements import CHOICE, Judgements
from loquent.bench.study.summary import Score, Study, Wins, study
from loquent.core.guards.terminal import line
from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.statistics.intervals import LEVEL
from loquent.statistics.of_groups import Anova, Pairwise
from loquent.statistics.repeated import Repeated
from loquent.statistics.resampling import Bounds, Resampling

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
    _print(found)
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


def _print(found: Study) -> None:
    for question, rated in found.ratings.items():
        alphas = ", ".join(f"{level} {_number(value)}" for level, value in rated.alpha.items())
        print(f"{line(question)}: Krippendorff's alpha {alphas}")
        for system, mean in rated.systems.items():
            size = f"{mean.n} ratings of {mean.items} items"
            print(f"  {line(system)}: {mean.mean:.4g} ({page.interval(mean.bounds)}), {size}")
        if rated.repeated:
            _print_repeated(rated.repeated)
        else:
            _print_tests(page.MEANS, rated.items_anova, rated.items_tukey)
        if rated.tests_pooled:
            _print_tests(page.POOLED, rated.anova, rated.tukey)
        _caution([mean.bounds for mean in rated.systems.values()])
    for question, wins in found.wins.items():
        print(f"{line(question)}: preferences")
        for won in wins:
            print(f"  {line(won.first)} against {line(won.second)}: items {_score(won.items)}")
            if not won.judged_once:
                print(f"    judgements {_score(won)}, as if each were independent")
            print(f"    share of wins {_number(won.share)} ({page.interval(won.bounds)})")
        _caution([won.bounds for won in wins])


def _print_repeated(found: Repeated) -> None:
    """The tests of systems within items."""
    print(f"  {page.WITHIN}: {' '.join(page.within_items(found))}")
    for one in found.pairs:
        ends = "no interval" if one.ends is None else f"{one.ends[0]:.4g} to {one.ends[1]:.4g}"
        print(
            f"    {line(one.second)} - {line(one.first)}: {one.difference:.4g} ({ends}), "
            f"p {page.probability(one.p)} (paired t, Bonferroni), "
            f"p {page.probability(one.rank_p)} (signed ranks, Holm), {one.items:,} items"
        )


def _print_tests(unit: str, anova: Anova | None, tukey: Sequence[Pairwise]) -> None:
    """The tests of a question, with `unit` as what a number of them stands for."""
    print(f"  {unit}: {page.variance(anova)}")
    for one in tukey:
        print(
            f"    {line(one.second)} - {line(one.first)}: {one.difference:.4g} "
            f"({one.low:.4g} to {one.high:.4g}), p {page.probability(one.p)} (Tukey HSD)"
        )


def _score(counted: Score | Wins) -> str:
    counts = f"{counted.wins} to {counted.losses}, {counted.ties} ties"
    return f"{counts}, p {page.probability(counted.p)} (binomial, two-sided)"


def _caution(bounds: list[Bounds]) -> None:
    for caution in page.cautions(bounds):
        print(f"  caution: {caution}")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
