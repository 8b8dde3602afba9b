"""The result of a comparison: values, paired differences and verdicts, as text and as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.evidence import texts
from loquent.bench.evidence.verdicts import Step
from loquent.core.guards.terminal import line
from loquent.files import atomic, final_evaluation
from loquent.report import kit, samples
from loquent.report.kit import Block, Heading, Section, Text
from loquent.report.page import check_file
from loquent.statistics.tables import ARROWS, NONE, Cell, Table, number
from loquent.training.evaluate import Evaluation

MOST = 40  # rows whose answers the page shows
MARKS = {"better": "holds", "worse": "contradicted"}


@dataclass(frozen=True)
class Contrast:
    """One value of a player against that of the first player.

    Attributes:
        step: the difference with its interval and its test.
        higher: whether a higher value is better; None if the value has no direction, and so no verdict.
        corrected: the p-value after Holm's correction; None without a test or a direction.
        verdict: better, worse or undecided, at 5% after the correction; "" without a direction.
    """

    key: str
    player: str
    step: Step
    higher: bool | None
    corrected: float | None = None
    verdict: str = ""

    @property
    def p(self) -> float | None:
        """The two-sided p-value of the difference; None without a test."""
        return None if self.step.difference is None else self.step.difference.p


@dataclass(frozen=True, repr=False)
class Comparison:
    """The evaluations of all players by label, and the differences from the first player.

    notes: what was left out or differs between the players.
    """

    recipe: str
    evaluations: Mapping[str, Evaluation]
    contrasts: tuple[Contrast, ...]
    notes: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """The number of tests that are corrected together."""
        return sum(contrast.higher is not None for contrast in self.contrasts)

    def __repr__(self) -> str:
        parts = ["\n".join(map(line, self.about))]
        parts += [f"{line(title)}\n{table.terminal()}" for title, table in self.tables]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return "".join(table.__html__() for _, table in self.tables)

    @property
    def tables(self) -> list[tuple[str, Table]]:
        """A title and a table for each later player; of a single player, its values."""
        first, *others = self.evaluations
        if not others:
            return [(first, self.evaluations[first].table())]
        return [(f"{other} against {first}", _table(self, first, other)) for other in others]

    @property
    def about(self) -> list[str]:
        """What was played, how the numbers are made, and notes."""
        found = next(iter(self.evaluations.values()))
        lines = [
            f"Recipe {self.recipe}, task {found.task}, split {found.split}: each player plays "
            f"{texts.size_text(found.n, found.rows)}, with the same random streams.",
            final_evaluation.decoding_note((label, own.decoding) for label, own in self.evaluations.items()),
        ]
        if self.contrasts:
            number_of_tests = texts.tests_text(self.tests)
            lines.append(
                "A difference is that of the later player from the first, paired by row, with its 95 % "
                f"interval. Holm's method corrects the p-values of {number_of_tests} together. Verdicts "
                "are about these policies on such rows, not about the methods that trained them."
            )
        return [*filter(None, lines), *(f"Note: {note}" for note in self.notes)]

    def save(self, path: str | Path) -> Path:
        """Write the page with the tables and the answers side by side, and return its path.

        Raises:
            BadSetting: `path` is no path, or a folder.
        """
        target = check_file(path)
        blocks: list[Block] = [block for title, table in self.tables for block in (Heading(title), table)]
        columns: samples.Columns = {
            label: (i, samples.by_row(found.episodes))
            for i, (label, found) in enumerate(self.evaluations.items())
        }
        blocks.append(Section("Answers side by side", samples.side_by_side(columns, MOST)))
        top = [Text("\n".join(self.about), "soft lines")]
        atomic.write_text(target, kit.page("Loquent: " + " · ".join(self.evaluations), blocks, top=top))
        return target

    def as_json(self) -> dict[str, Any]:
        """The evaluations and differences as one object; a number that is not known is null."""
        return {
            "recipe": self.recipe,
            "players": {label: _json(found) for label, found in self.evaluations.items()},
            "differences": [_contrast_json(contrast) for contrast in self.contrasts],
            "tests": self.tests,
            "notes": list(self.notes),
        }


def _table(comparison: Comparison, first: str, other: str) -> Table:
    own = {contrast.key: contrast for contrast in comparison.contrasts if contrast.player == other}
    sides = [comparison.evaluations[label].values for label in (first, other)]
    body = [
        [_name(key, own.get(key)), *(side.get(key) for side in sides), *_cells(own.get(key))]
        for key in dict.fromkeys(key for side in sides for key in side)
    ]
    return Table(["value", first, other, "difference", "95 % interval", "p", "corrected", "verdict"], body)


def _name(key: str, contrast: Contrast | None) -> str:
    return key + (ARROWS[contrast.higher] if contrast else "")


def _cells(contrast: Contrast | None) -> list[Cell | str]:
    """The difference, its interval, both p-values and the verdict; dashes for what is not known."""
    if contrast is None or contrast.step.difference is None:
        return [NONE] * 5
    difference = contrast.step.difference
    interval = NONE
    if difference.low is not None and difference.high is not None:
        interval = f"[{number(difference.low)}, {number(difference.high)}]"
    p = [NONE if value is None else texts.p_text(value) for value in (difference.p, contrast.corrected)]
    mark = MARKS.get(contrast.verdict, "")
    return [number(difference.mean), interval, *p, Cell(contrast.verdict or NONE, mark)]


def _json(found: Evaluation) -> dict[str, Any]:
    values = {key: value if math.isfinite(value) else None for key, value in found.values.items()}
    return {**found.as_json(), "values": values}


def _contrast_json(contrast: Contrast) -> dict[str, Any]:
    difference = contrast.step.difference
    return {
        "key": contrast.key,
        "player": contrast.player,
        "difference": None if difference is None else difference.as_json(),
        "p": contrast.p,
        "p_corrected": contrast.corrected,
        "verdict": contrast.verdict,
    }
