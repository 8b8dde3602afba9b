"""What records of docs/results say about the claims of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from loquent.bench.evidence import verdicts
from loquent.bench.evidence.texts import p_text
from loquent.statistics import comparing
from loquent.statistics.tables import number
from tools.known.records import ON_ROWS, Known, Record, costs_text, of_entry

Runs = Sequence[Mapping[str, float]]


def of_study(entry: Mapping[str, Any], all_records: Sequence[Record]) -> list[Known]:
    """What is known of the claims of a study."""
    record = of_entry(entry, all_records)
    if "stored" in entry:
        return [_of_node(claim, path, entry, record) for claim, path in entry["stored"].items()]
    made = "verdicts computed from the values of the seeds by `loquent.statistics.comparing`"
    record = replace(record, made=made)
    pairs = {claim: [record.at((*path, "runs")) for path in paths] for claim, paths in entry["runs"].items()}
    found = [_difference(pair, entry["value"]) for pair in pairs.values()]
    corrected = comparing.holm([difference.p for difference in found])
    return [
        _of_study(
            claim, pair, _decision(difference, p), (difference.mean, difference.error, p), entry, record
        )
        for (claim, pair), difference, p in zip(pairs.items(), found, corrected, strict=True)
    ]


def _difference(pair: Sequence[Runs], value: str) -> comparing.Difference:
    """The difference of two methods, with equal seeds subtracted."""
    low, high = ({seed: run[value] for seed, run in enumerate(runs)} for runs in pair)
    return comparing.between(low, high, paired=True)


def _decision(difference: comparing.Difference, p: float) -> str:
    found, alone = (verdicts.decide(value, difference.mean > 0) for value in (p, difference.p))
    text = found if found == verdicts.UNDECIDED else f"{found}, {ON_ROWS}"
    return text if alone == found else f"{text} (uncorrected: {alone})"


def _of_node(claim: str, path: Sequence[Any], entry: Mapping[str, Any], record: Record) -> Known:
    """A difference `from LOW` that a method's node holds beside its runs."""
    *above, name, key = path
    step = record.at(path)
    words = {"better": verdicts.HOLDS, "worse": verdicts.CONTRADICTED}
    pair = [record.at((*above, method, "runs")) for method in (key.removeprefix("from "), name)]
    numbers = step["difference"], step["error"], step["p"]
    return _of_study(claim, pair, words.get(step["verdict"], verdicts.UNDECIDED), numbers, entry, record)


def _of_study(
    claim: str,
    pair: Sequence[Runs],
    verdict: str,
    numbers: tuple[float, float, float],
    entry: Mapping[str, Any],
    record: Record,
) -> Known:
    mean, error, p = numbers
    return Known(
        claim,
        verdict,
        record,
        f"{number(mean)} ± {number(error)}",
        p_text(p),
        min(map(len, pair)),
        str(entry["rows"]),
        entry["shared"],
        costs_text(fmean(run["seconds"] for run in runs) for runs in pair),
        entry["settings"],
    )
