"""What records of docs/results say about the claims of a suite."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from loquent.bench.evidence import tallies, verdicts
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.texts import p_text
from loquent.bench.exports import verdict_as_json
from loquent.bench.schema.suite_schema import Ordering, Suite, Tally
from loquent.statistics.tables import NONE, number
from tools.known.records import ON_ROWS, ONE_SEED, Known, Record, costs_text, of_entry

NO_VERSION = "version not recorded"


def of_suite(
    suite: Suite,
    all_records: Sequence[Record],
    entries: Sequence[Mapping[str, Any]],
    remarks: Mapping[str, str] = MappingProxyType({}),
) -> list[Known]:
    """What is known of each claim of a suite: a row for each settings that a record answers it with.

    Of several records with equal settings the one of the suite's version counts, and one without a version
    last; then the one with the most seeds, then one of all cells, then that of the latest date. A record
    without a date is older than one with it; of several the one that stands last counts.

    Args:
        remarks: by suite, what is known of its records without a version.
    """
    own = [record for record in all_records if _is_of(record, suite.name)]
    own += [_judged(suite, entry, all_records) for entry in entries if entry["suite"] == suite.name]
    remark = remarks.get(suite.name, "")
    found = [known for record in own for known in _answers(suite, _with_version(record, suite, remark))]
    rows = []
    for claim in (item.claim for item in (*suite.orderings, *suite.tallies)):
        best: dict[str, Known] = {}
        for known in (known for known in found if known.claim == claim):
            if known.settings not in best or known.rank > best[known.settings].rank:
                best[known.settings] = known
        plain = suite.profile(None)[0]
        shown = sorted(best.values(), key=lambda known: known.settings != plain)
        rows += shown or [Known(claim, verdicts.MISSING)]
    return rows


def _is_of(record: Record, name: str) -> bool:
    """Whether a record is of `loquent bench NAME`."""
    is_command = re.match(rf"loquent bench {re.escape(name)}(?!\S)", str(record.content["command"]))
    return record.content.get("suite") == name or bool(is_command)


def _version(record: Record) -> int | None:
    """The version of the suite that a record is of; None where it does not say."""
    found: int | None = record.content.get("version", record.content.get("suite_version"))
    return found


def _with_version(record: Record, suite: Suite, remark: str) -> Record:
    """The record; one of another version of the suite, or of an unknown one, says so."""
    version = _version(record)
    if version == suite.version:
        return record
    if version is None:
        text = f"{NO_VERSION} (it is {suite.version} now)" + f": {remark}" * bool(remark)
        return replace(record, made=f"{record.made}, {text}")
    return replace(
        record, made=f"{record.made}, in version {version} of the suite, which is {suite.version} now"
    )


def _judged(suite: Suite, entry: Mapping[str, Any], all_records: Sequence[Record]) -> Record:
    """The record of an entry, with the verdicts that the suite gives its cells."""
    record = of_entry(entry, all_records)
    rows = {name: _row(suite, name, entry, record) for name in suite.cells}
    judged = [verdict_as_json(verdict) for verdict in verdicts.judge(suite, rows)]
    key = entry.get("seconds")
    seconds = {name: record.at(path).get(key) for name, path in entry["cells"].items()} if key else {}
    cells = {name: {"n": 1, "seconds": own} for name, own in seconds.items()}
    content = {**record.content, "verdicts": judged, "settings": entry["settings"], "cells": cells}
    return replace(
        record, content=content, made="verdicts computed from the values by `loquent.bench.evidence`"
    )


def _row(suite: Suite, name: str, entry: Mapping[str, Any], record: Record) -> Row:
    """A cell with one run, as far as the record has it."""
    values: dict[str, dict[int, float]] = {column: {} for column in suite.columns}
    errors: dict[str, dict[int, float]] = {}
    if name in entry["cells"]:
        cell = record.at(entry["cells"][name])
        for column, place in entry["columns"].items():
            value, error = _measured(cell, place, entry["rows"])
            values[column] = {0: value}
            errors |= {} if error is None else {column: {0: error}}
    return Row(
        name, name, "", 1, entry["rows"], entry["rows"], values, {}, {}, "", None, {}, 0.0, errors=errors
    )  # fmt: skip


def _measured(cell: Any, place: Mapping[str, Any], rows: int) -> tuple[float, float | None]:
    """The value of a cell and its error over rows; a share is a part of `share`, and has that of a share."""
    if "share" in place:
        share = cell / place["share"]
        return share, math.sqrt(share * (1 - share) / (rows - 1))
    return cell[place["value"]], cell.get(place["error"])


def _answers(suite: Suite, record: Record) -> Iterator[Known]:
    """What a record says of the claims of a suite."""
    by_claim = {ordering.claim: ordering for ordering in suite.orderings}
    for verdict in record.content.get("verdicts", ()):
        ordering = by_claim.get(verdict["claim"])
        if ordering is not None and _measures(ordering, verdict):
            yield _of_verdict(suite, verdict, record)
    counts = _counts(record)
    for tally in suite.tallies:
        tasks = [task for task in counts.get(tally.claim, ()) if task["outcome"] != tallies.MISSING]
        if tasks:
            yield _of_tally(suite, tally, tasks, record)


def _measures(ordering: Ordering, verdict: Mapping[str, Any]) -> bool:
    """Whether a verdict is about these cells, and has all of them."""
    steps = verdict["steps"]
    cells = (steps[0]["low"], *(step["high"] for step in steps))
    return cells == ordering.rising and all(step["difference"] for step in steps)


def _of_verdict(suite: Suite, verdict: Mapping[str, Any], record: Record) -> Known:
    steps, effect = verdict["steps"], verdict["ends"] or verdict["steps"][0]
    seeds = min(step["difference"]["n"] for step in steps)
    error = effect.get("error") or effect["difference"].get("error")
    text = f"{number(effect['difference']['mean'])}" + (f" ± {number(error)}" if error else "")
    return Known(
        verdict["claim"],
        decision(verdict),
        record,
        f"{text} `{verdict['column']}`",
        _p(verdict),
        seeds,
        _rows_of(steps, record.content.get("rows")),
        shared_things(suite, record) if seeds > 1 else NONE,
        _seconds(record, effect["low"], effect["high"]),
        settings(suite, record),
        _rank(suite, record, seeds),
    )


def _p(verdict: Mapping[str, Any]) -> str:
    p = verdict.get("p_corrected")
    return NONE if p is None else p_text(p)


def decision(verdict: Mapping[str, Any]) -> str:
    """A verdict with what it is about.

    It is about other rows too where all steps were tested over seeds and rows; without values by row, it is
    about the rows that were played.
    """
    steps = verdict["steps"]
    if any(step["difference"]["n"] == 1 for step in steps):
        on_rows = verdict.get("on_these_rows") or "no test"
        return f"{ONE_SEED}; {ON_ROWS}: {on_rows}"
    found, alone = verdict["verdict"], verdict.get("uncorrected")
    if found == verdicts.UNDECIDED:
        return found if alone in (found, "", None) else f"{found} (uncorrected: {alone})"
    return f"{found}{_on_rows(steps)}"


def _on_rows(steps: Sequence[Mapping[str, Any]]) -> str:
    """What a decision of comparisons over several seeds is about; nothing if it is about other rows too."""
    return "" if all(step.get("over") == verdicts.BOTH for step in steps) else f", {ON_ROWS}"


def settings(suite: Suite, record: Record) -> str:
    """The profile of a record and the settings that its command changed."""
    content = record.content
    if "settings" in content:
        return str(content["settings"])
    words = shlex.split(re.split(r" \(|;", content["command"])[0])
    asked = words[words.index("--profile") + 1] if "--profile" in words else None
    profile = content.get("profile") or asked or suite.profile(None)[0]
    return ", ".join([profile, *(word for word in words if "=" in word and not word.startswith("--"))])


def shared_things(suite: Suite, record: Record) -> str:
    """What all seeds of a record share beside the rows."""
    cautions = record.content.get("cautions")
    if cautions is None and suite.stages:
        return "not recorded"
    base = ["the base"] if any("All seeds start from" in caution for caution in cautions or ()) else []
    return " and ".join(base + (["the recordings"] if suite.data else [])) or "nothing"


def _seconds(record: Record, *names: str) -> str:
    """The seconds of a run of each cell."""
    cells = [record.content["cells"].get(name, {}) for name in names]
    known = all(cell.get("seconds") and cell.get("n") for cell in cells)
    return costs_text(cell["seconds"] / cell["n"] for cell in cells) if known else NONE


def _rank(suite: Suite, record: Record, seeds: int) -> tuple[Any, ...]:
    """What decides between records of equal settings: the larger one counts."""
    version, is_whole = _version(record), "--only" not in record.content["command"]
    age = record.content.get("date", ""), record.file, record.line
    return version == suite.version, version is not None, seeds, is_whole, *age


def _counts(record: Record) -> dict[str, list[dict[str, Any]]]:
    """The comparisons on tasks by claim, of a table of a suite or of the program of GRUE's tables."""
    if "tallies" in record.content:
        return {found["claim"]: found["tasks"] for found in record.content["tallies"]}
    claims = record.content.get("claims", {})
    return {
        claim: [
            {**task, "difference": {"mean": task["difference"], "n": 1}} for task in found["tasks"].values()
        ]
        for claim, found in claims.items()
    }


def _of_tally(suite: Suite, tally: Tally, tasks: Sequence[Mapping[str, Any]], record: Record) -> Known:
    """A claim over tasks: how many they are, and the least and the greatest difference."""
    seeds = max(task["difference"]["n"] for task in tasks)
    several = [task for task in tasks if task["difference"]["n"] > 1]
    single = [task for task in tasks if task["difference"]["n"] == 1]
    parts = [f"with several seeds: {_won(several)}{_on_rows(several)}"] if several else []
    parts += [f"{ONE_SEED}; {ON_ROWS}: {_won(single)}"] if single else []
    means = [task["difference"]["mean"] for task in tasks]
    return Known(
        tally.claim,
        "; ".join(parts),
        record,
        f"{number(min(means))} to {number(max(means))} `{tally.column}`",
        seeds=seeds,
        rows=_rows_of(tasks, record.content.get("rows")),
        shared=shared_things(suite, record) if seeds > 1 else NONE,
        settings=settings(suite, record),
        rank=_rank(suite, record, seeds),
    )


def _won(tasks: Sequence[Mapping[str, Any]]) -> str:
    """How many tasks are won and lost."""
    wins, losses = (_count(tasks, outcome) for outcome in (tallies.WIN, tallies.LOSS))
    return f"of {len(tasks)} task{'s' * (len(tasks) != 1)} {wins} won, {losses} lost"


def _count(tasks: Sequence[Mapping[str, Any]], outcome: str) -> str:
    """The number of tasks with an outcome, and of those where it holds after a recorded correction."""
    own = [task for task in tasks if task["outcome"] == outcome]
    held = sum(verdicts.decide(task.get("p_corrected"), True) == verdicts.HOLDS for task in own)
    corrected = f" ({held} after Holm's correction)" if own and "p_corrected" in own[0] else ""
    return f"{len(own)}{corrected}"


def _rows_of(comparisons: Sequence[Mapping[str, Any]], of_record: Any) -> str:
    """The least and the greatest number of rows of the comparisons; older ones have that of their record."""
    counts = sorted({count for found in comparisons for count in found.get("rows", [of_record]) if count})
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts[:1] + counts[-1:])) or "not recorded"
