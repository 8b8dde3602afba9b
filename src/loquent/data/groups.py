"""Success of groups of rows: by the value of a field, and by whether training rows have the same value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.episode import Episode
from loquent.core.task import Row, Task
from loquent.data import outcomes
from loquent.errors import BadSetting


@dataclass(frozen=True)
class Groups:
    """How an evaluation groups its rows.

    Args:
        fields: a group for each value of these fields of rows.
        seen: two groups for each of these fields, by whether a row of `split` has the same value.
    """

    fields: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    split: str = "train"

    def values(
        self, task: Task, episodes: Sequence[Episode], rows: Mapping[str, Row]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The share of success, or the mean return, of each group under NAME/GROUP, and the errors.

        `n/GROUP` is the number of episodes. A group is `FIELD=VALUE`, `FIELD seen` or `FIELD unseen`.

        Raises:
            BadSetting: a row has no such field.
        """
        names: dict[str, list[Episode]] = {}
        known = {field: {_field(row, field) for row in task.rows(self.split)} for field in self.seen}
        for episode in episodes:
            row = rows[episode.row]
            for field in self.fields:
                names.setdefault(f"{field}={_field(row, field)}", []).append(episode)
            for field in self.seen:
                group = "seen" if _field(row, field) in known[field] else "unseen"
                names.setdefault(f"{field} {group}", []).append(episode)
        values: dict[str, float] = {}
        errors: dict[str, float] = {}
        for group, members in sorted(names.items()):
            columns = outcomes.columns(members, task.spec, task.spec.rewards)
            name = outcomes.SUCCESS if outcomes.SUCCESS in columns else "return"
            mean, error = outcomes.mean_and_error(columns[name], outcomes.rows(members, name))
            values[f"{name}/{group}"], values[f"n/{group}"] = mean, float(len(members))
            if not math.isnan(error):
                errors[f"{name}/{group}"] = error
        return values, errors


def _field(row: Row, name: str) -> Any:
    if name not in row.fields:
        raise BadSetting(
            f"the row {row.id!r} has no field {name!r} to group by; its fields: {', '.join(row.fields)}"
        )
    return row[name]
