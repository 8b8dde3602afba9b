"""The rules of a diagnosis, and what they say of a run as values, as text, and as blocks of a page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from loquent.core.guards.terminal import line
from loquent.errors import LoquentError
from loquent.files.run_folder import RunFolder
from loquent.report.diagnosis.learning import (
    greedy_above_sampled,
    learning_rate_zero,
    train_above_validation,
    undertrained_clone,
)
from loquent.report.diagnosis.limits import answers_cut, one_phase, prompts_cut
from loquent.report.diagnosis.log import Finding, Log, NotLogged
from loquent.report.diagnosis.policy import (
    critic_explains_nothing,
    entropy_collapse,
    kl_collapse,
    kl_explosion,
    ratio_off_one,
)
from loquent.report.diagnosis.signal import (
    groups_without_variance,
    metric_at_ceiling,
    no_signal,
    rewards_apart,
)
from loquent.report.kit import Block, Fold, Item, Items, Text
from loquent.report.runs import ReportedRun

RULES: tuple[Callable[[Log], Finding | None], ...] = (
    learning_rate_zero,
    ratio_off_one,
    no_signal,
    undertrained_clone,
    greedy_above_sampled,
    rewards_apart,
    entropy_collapse,
    kl_explosion,
    kl_collapse,
    critic_explains_nothing,
    groups_without_variance,
    answers_cut,
    prompts_cut,
    train_above_validation,
    metric_at_ceiling,
    one_phase,
)
SILENCE = "That is no proof: a rule sees only what is logged. Read the samples."


@dataclass(frozen=True)
class Diagnosis:
    """What the rules say of one run.

    Attributes:
        run: the folder of the run.
        updates: the updates that it has made.
        findings: what the rules found, in the order of `RULES`, which begins with what explains the rest.
        unjudged: the rules that could not judge the run, each with the reason.
        start: the same of the run that this run starts from (`model.path`), if its folder can be read.
    """

    run: str
    updates: int
    findings: Sequence[Finding]
    unjudged: dict[str, str]
    start: Diagnosis | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)

    def head(self) -> str:
        """What was looked at, and how many rules speak, in a sentence."""
        judged = len(RULES) - len(self.unjudged)
        spoke = len(self.findings)
        words = "no rule speaks" if not spoke else f"{spoke} rule{'s speak' if spoke > 1 else ' speaks'}"
        return f"{words}; {judged} of {len(RULES)} rules could judge the {self.updates} updates"

    def text(self) -> str:
        """The diagnosis for a terminal."""
        parts = [f"{line(self.run)}: {self.head()}"]
        for found in self.findings:
            parts.append(
                f"{found.rule}\n  the log shows  {line(found.shows)}\n  likely cause   {line(found.cause)}\n"
                f"  try            {line(found.setting)}"
            )
        if not self.findings:
            parts.append(SILENCE)
        if self.unjudged:
            parts.append(f"not judged, with reasons in --json: {', '.join(self.unjudged)}")
        if self.start and self.start.findings:
            parts.append(f"it starts from {self.start.text()}")
        return "\n\n".join(parts)

    def _all(self) -> list[tuple[Finding, str]]:
        """The findings, then those of the start, each with whose it is."""
        start = (
            [(found, " (of the run it starts from)") for found in self.start.findings] if self.start else []
        )
        return [*((found, "") for found in self.findings), *start]

    def blocks(self) -> list[Block]:
        """The diagnosis for a page."""
        head = self.head()
        head = f"{head[0].upper()}{head[1:]}."
        items = [
            Item(
                f"**{found.rule}**{of}: {found.shows}. Likely cause: {found.cause}. To try: {found.setting}."
            )
            for found, of in self._all()
        ]
        unjudged = [Item(f"`{rule}`: {why}") for rule, why in self.unjudged.items()]
        return [
            Text(head if items else f"{head} {SILENCE}", f"verdict {'alarm' if items else 'calm'}"),
            *([Items(items)] if items else []),
            *([Fold("Rules that could not judge", [Items(unjudged)])] if unjudged else []),
        ]


def diagnose(run: ReportedRun) -> Diagnosis:
    """What the rules say of a run, and of the run that it starts from.

    A rule whose values are missing is named with the reason.
    """
    path = (run.config.get("model") or {}).get("path")
    start = RunFolder.around(Path(path)) if isinstance(path, str) and path else None
    first = None
    if start is not None and start.path.resolve() != run.folder.resolve():
        with contextlib.suppress(LoquentError):
            before = ReportedRun(start.path)
            before.refuse_other_versions()
            first = _judge(before)
    return replace(_judge(run), start=first)


def _judge(run: ReportedRun) -> Diagnosis:
    log, findings, unjudged = Log(run), [], {}
    for rule in RULES:
        try:
            found = rule(log)
        except NotLogged as error:
            unjudged[rule.__name__] = str(error)
        else:
            findings += [found] if found else []
    return Diagnosis(str(run.folder), log.updates, findings, unjudged)
