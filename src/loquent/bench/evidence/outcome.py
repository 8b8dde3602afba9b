"""The outcome of one job of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loquent.bench.evidence.episode_scores import Played
from loquent.bench.evidence.stopping import Stopped
from loquent.core.values import EMPTY


@dataclass(frozen=True)
class Outcome:
    """The result of a job: the evaluation of a run, the figures of a set, or the reason of a failure.

    Attributes:
        fresh: whether this call made the job.
        note: what happened to an earlier state of the folder.
        version: the version of Loquent that made the job; "" if it is not recorded.
        threads: the number of torch's threads in the run; 0 if it is not recorded.
        logged: the last line of the run's metrics.jsonl.
        figures: the figures of a set of recorded episodes, which has no evaluation.
        played: the numbers of the episodes of the evaluation; None if they cannot be read.
        stopped: where early stopping ended the run; None if it has none.
    """

    key: str
    evaluation: dict[str, Any] | None = None
    failure: str = ""
    seconds: float = 0.0
    fresh: bool = True
    note: str = ""
    version: str = ""
    threads: int = 0
    logged: Mapping[str, Any] = EMPTY
    figures: Mapping[str, Any] | None = None
    played: Played | None = None
    stopped: Stopped | None = None
