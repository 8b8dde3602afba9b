"""The rules of a diagnosis, and what they say of a run, as values and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loquent.core.guards.terminal import line
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
        silent = "no rule speaks" if self.updates else "nothing is logged yet"
        words = silent if not spoke else f"{spoke} rule{'s speak' if spoke > 1 else ' speaks'}"
        return f"{words}; {judged} of {len(RULES)} rules could judge the {self.updates} updates"

    def text(self) -> str:
        """The diagnosis for a terminal."""
        parts = [f"{line(self.run)}: {self.head()}"]
        for found in self.findings:
            parts.append(
                f"{found.rule}\n  the log shows  {line(found.shows)}\n  likely cause   {line(found.cause)}\n"
                f"  try            {line(found.setting)}"
            )
        if not self.findings and self.updates:
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


def diagnose(run: str, log: Log, start: Diagnosis | None = None) -> Diagnosis:
    """What the rules say of the log of a run; a rule whose values are missing is named with the reason.

    Args:
        run: the folder of the run.
        start: the diagnosis of the run that this one starts from.
    """
    findings, unjudged = [], {}
    for rule in RULES:
        try:
            found = rule(log)
        except NotLogged as error:
            unjudged[rule.__name__] = str(error)
        else:
            findings += [found] if found else []
    return Diagnosis(run, log.updates, findings, unjudged, start)
