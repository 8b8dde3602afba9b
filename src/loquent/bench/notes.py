"""Notes on a suite's results, which its page and its files share: what the numbers are, and cautions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import BOTH, SEEDS
from loquent.bench.results import Results
from loquent.files import final_evaluation
from loquent.statistics.intervals import FEWEST, LEVEL


def start_note(results: Results) -> str:
    """What the runs start and learn from, and whether it varies with the seed; empty if from nothing."""
    stages, runs = results.suite.stages, results.starts.runs
    alike = [name for name in runs if results.seeds == 1 or (name in stages and stages[name].shared)]
    varying = [name for name in runs if name not in alike]
    same = [f"one {name}" for name in alike] + [f"the given {name}" for name in results.starts.models]
    texts = []
    if varying:
        texts.append(
            f"Seed k of a run starts from seed k of {_listed(varying)}: intervals over seeds hold what "
            "another start changes."
        )
    if same:
        texts.append(
            f"All seeds start from {_listed(same)}: the intervals leave out what another start would change."
        )
    if results.starts.data:
        texts.append(
            f"All seeds learn from the same recorded episodes ({_listed(results.starts.data)}): the "
            "intervals leave out what another recording would change."
        )
    return " ".join(texts)


def _listed(names: Sequence[str]) -> str:
    """Names as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


WRONG_MORE_OFTEN = 6, 14
"""The least and the largest per cent of tables with a decided claim where the rule does not keep 5."""


def number_caution(results: Results) -> str:
    """What the verdicts' errors are: the correction for the number of tests, and claims about rows alone."""
    texts = []
    if results.verdicts:
        least, largest = WRONG_MORE_OFTEN
        counts = ", ".join(f"{tests} of {table}" for table, tests in results.family_sizes.items())
        texts.append(
            f"Holm's method corrects the tests of one table together ({counts}): if no two cells of a table "
            f"differed, at most {1 - LEVEL:.0%} of such tables would have a decided claim. This does not "
            "hold where the values of seeds are skewed and some cells vary much more than others: with four "
            f"times the deviation {least} to {largest}% of tables have a wrong decision (docs/evidence.md). "
            "Uncorrected verdicts are about one comparison alone."
        )
        if results.suite.whole:
            texts.append("The claims of the suite that --only or the profile leaves out are counted.")
    if any(verdict.over == SEEDS for verdict in results.verdicts):
        texts.append(
            'Verdicts "on these rows" rest on seeds alone, as the column has no values by row, or a cell '
            f"fewer than {FEWEST} seeds: other rows may decide otherwise."
        )
    if results.single:
        texts.append(
            f"{results.single} claims have one seed: they are tested over the rows that were played, and "
            "decided about these rows, never about methods. A rare outcome that none of the rows shows is in "
            "no test."
        )
    return " ".join(texts)


def both_note(results: Results) -> str:
    """What the intervals over seeds and rows are, or why there is none."""
    if any(row.both for row in results.rows.values()):
        fewer = "".join(
            f" {row.label}, {column}: on the {count} of {row.rows} rows that all its runs have a number on."
            for row in results.rows.values()
            for column in row.both
            if (count := row.count_shared(column)) < row.rows
        )
        where = f"in the columns 'over {BOTH}', for means over episodes."
        return f"Intervals of all seeds and rows stand {where}{fewer}"
    return (
        f"No column has an interval over {BOTH}, which takes {FEWEST} seeds, a mean over episodes that the "
        "runs keep, rows that all of them played about equally often, and numbers that vary."
    )


def decoding_note(rows: Iterable[Row]) -> str:
    """The decoding of evaluation of the rows of a table, in a sentence; it says so where they differ."""
    return final_evaluation.decoding_note((row.label, row.decoding) for row in rows if row.n)


def visible_note(results: Results, title: str) -> str:
    """What the last line of a table is."""
    tests = results.family_sizes.get(title, 1)
    tested = f"{tests} tests are corrected together" if tests > 1 else "one test is made"
    return (
        f"The last line is the true difference of two cells that is decided with 80% power where {tested}; "
        "smaller differences are mostly missed."
    )


def claims_title(results: Results) -> str:
    """The heading of the claims: those of a paper if the suite names one or a place in one, or its own."""
    cited = results.suite.paper or any(verdict.ordering.place for verdict in results.verdicts)
    return "Claims of the paper" if cited else "Claims of the suite"


def tally_note(results: Results) -> str:
    """What a win is, which counts are corrected, and what counts of one seed are about."""
    text = (
        "A win is a difference that the test of its task alone decides at 5%, so that chance makes some wins "
        "and losses. The number after Holm's correction for all comparisons of a claim is "
        "above 0 for at most 5% of claims about methods that are equal on all tasks."
    )
    if any(found.single for found in results.claim_tallies):
        text += (
            " With one seed all of it is over the test rows and about these runs: it decides nothing about "
            "the methods."
        )
    elif any(found.on_rows for found in results.claim_tallies):
        text += ' "On these rows": a task has no values by row, and its test rests on seeds alone.'
    return text


def error_note(results: Results) -> str:
    """A sentence on the number behind ±; empty if no number of one run has an error."""
    has_error = any(
        row.error(column) is not None for row in results.rows.values() for column in results.suite.columns
    )
    return " The number behind ± is the standard error over the rows of one run." if has_error else ""
