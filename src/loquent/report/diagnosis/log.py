"""The log of one run as the rules of a diagnosis read it, and what a rule says."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from loquent.core import log_keys
from loquent.core.guards.json_files import is_number
from loquent.statistics import trend

QUARTERS = 4
FEWEST = 8  # values of a series: two in each quarter
ERROR = 0.01  # the most p-value of a rise or a fall
RETURNS = ("rollout/return", "evaluation/return")
IMITATION = ("supervised/loss", "sb3/cloning_loss")  # losses of answers that are imitated
SOLVED = 0.1  # a mean so near to the greatest possible value, as a share of it, leaves little to learn


@dataclass(frozen=True)
class Finding:
    """What a rule says of a run."""

    rule: str
    shows: str
    """What the log shows, with its numbers."""
    cause: str
    """The likely cause."""
    setting: str
    """The setting to try."""


class NotLogged(LookupError):
    """A rule cannot judge a run: the text says which value is missing, or why the rule does not apply."""


@dataclass(frozen=True)
class Series:
    """The values of a logged key at the updates that have one."""

    key: str
    updates: Sequence[int]
    values: Sequence[float]

    def __len__(self) -> int:
        return len(self.values)

    def quarter(self, number: int) -> float:
        """The mean of a quarter of the values; the first is 0, the last 3."""
        return statistics.fmean(self._part(number))

    @property
    def start(self) -> float:
        """The mean of the first quarter."""
        return self.quarter(0)

    @property
    def end(self) -> float:
        """The mean of the last quarter."""
        return self.quarter(QUARTERS - 1)

    @property
    def error(self) -> float:
        """The standard error of the mean of the last quarter; 0 for a single value."""
        values = self._part(QUARTERS - 1)
        return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0

    def moves(self, sign: int, since: int = 0) -> bool:
        """Whether the last quarter lies above (`sign` 1) or below (-1) an earlier quarter by more than noise.

        The noise is that of single updates since then, from second differences (`trend.gain`). Noise that
        lasts for some updates passes for a movement, so a rule may be silent because of one, and speaks
        only for one that `p_value` shows.
        """
        start, end = self._bounds(since)
        window = len(self) - self._bounds(QUARTERS - 1)[0]
        return trend.gain([sign * value for value in self.values[start:]], 0, end - start, window) <= ERROR

    def p_value(self, sign: int, since: int = 0) -> float:
        """The p-value of such a movement, against noise that lasts for some updates.

        The noise is that of the means of eighths of the values (of single values if they are fewer), from
        second differences. Unlike that of updates, it shows whether updates resemble their neighbours.
        """
        count = min(2 * QUARTERS, len(self))
        cuts = [i * len(self) // count for i in range(count + 1)]
        means = [sign * statistics.fmean(self.values[start:end]) for start, end in pairwise(cuts)]
        quarter = count // QUARTERS
        return trend.gain(means, quarter * since, quarter, quarter)

    @property
    def second_half(self) -> Series:
        """The last two quarters."""
        half, _ = self._bounds(QUARTERS // 2)
        return Series(self.key, self.updates[half:], self.values[half:])

    def _bounds(self, number: int) -> tuple[int, int]:
        start = number * len(self) // QUARTERS
        return start, max(start + 1, (number + 1) * len(self) // QUARTERS)

    def _part(self, number: int) -> Sequence[float]:
        start, end = self._bounds(number)
        return self.values[start:end]


@dataclass(frozen=True)
class Log:
    """The logged values, the settings and the remarks of one run.

    Attributes:
        lines: the log, one object per update, with numbers and nulls only.
        timings: the seconds by phase, one object per update.
        config: the recipe with every default.
        evaluation: the evaluation at the end; empty if the run has not ended.
        player: who plays the episodes that the run learns from; "" if the run's record of it is lost.
        remarks: what the run did without being asked for.
        greatest: gives the greatest possible value of a key with these values; infinite if it is unknown.
    """

    lines: Sequence[Mapping[str, Any]]
    timings: Sequence[Mapping[str, Any]]
    config: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    player: str
    remarks: Sequence[str]
    greatest: Callable[[str, Sequence[float]], float]

    @property
    def updates(self) -> int:
        """The updates that the run has made."""
        return int(self.lines[-1]["update"]) if self.lines else 0

    @property
    def episodes(self) -> float:
        """The episodes that the run has collected."""
        return max((line.get("episodes") or 0 for line in self.lines), default=0)

    @cached_property
    def imitates(self) -> bool:
        """Whether the run learns from episodes of others (a teacher, recorded ones) instead of its own.

        Where no player is recorded, a learner of the best of its own answers is known by `reward/kept`.
        """
        if self.player:
            return self.player != "policy"
        if self.setting("training.data") or self.setting("training.teacher"):
            return True
        return any(map(self.find, IMITATION)) and self.find("reward/kept") is None

    def setting(self, place: str, default: Any = None) -> Any:
        """A setting of the recipe, such as `training.updates`."""
        value: Any = self.config
        for name in place.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return default if value is None else value

    def number(self, place: str, default: float) -> float:
        """A setting that is a number; the default where it is none."""
        value = self.setting(place)
        return value if is_number(value) else default

    def advice(self, choices: Mapping[str, str]) -> str:
        """What to try, by setting with its present value.

        Settings that the recipe does not have, or that have this value already, are left out.
        """
        texts = []
        for place, text in choices.items():
            section, _, name = place.rpartition(".")
            owner = self.setting(section) if section else self.config
            if isinstance(owner, dict) and name in owner and str(owner[name]) != text:
                value = owner[name]
                now = f" = {value}" if isinstance(value, str | int | float) and value != "" else ""
                texts.append(f"{place}{now}: {text}")
        return "; ".join(texts)

    def find(self, key: str) -> Series | None:
        """The series of a key; None if it was never logged."""
        pairs = [(line["update"], log_keys.value(line, key)) for line in self.lines]
        pairs = [(update, value) for update, value in pairs if value is not None]
        return Series(key, *map(tuple, zip(*pairs, strict=True))) if pairs else None

    def series(self, *keys: str, fewest: int = FEWEST) -> Series:
        """The series of the first of these keys that was logged.

        Raises:
            NotLogged: none was logged, or it has too few values.
        """
        found = next(filter(None, map(self.find, keys)), None)
        if found is None:
            raise NotLogged(f"{' or '.join(keys)} is not logged")
        if len(found) < fewest:
            raise NotLogged(f"{found.key} has {len(found)} values of at least {fewest}")
        return found

    def own_returns(self) -> Series:
        """The returns of the episodes that the policy played and learns from.

        Raises:
            NotLogged: others play, or the run has too few updates.
        """
        if self.imitates:
            raise NotLogged("the run does not learn from its own episodes")
        return self.series(*RETURNS)

    def top(self, key: str) -> float | None:
        """The greatest possible value of a key; None if it is open or unknown."""
        series = self.find(key)
        high = self.greatest(key.replace("rollout/", "evaluation/"), series.values if series else ())
        return high if math.isfinite(high) else None

    def solved(self) -> bool:
        """Whether the success, or else the return, of the last quarter is near its greatest value."""
        for key in ("rollout/success", "evaluation/success", *RETURNS):
            series = self.find(key)
            if series and len(series) >= QUARTERS:
                top = self.top(key)
                return top is not None and abs(top - series.end) <= SOLVED * abs(top)
        return False
