"""The options and rows of multiple choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.data import content, corpora
from loquent.data.annotated import questions, rows
from loquent.data.annotated.options import Annotated
from loquent.data.sources import Splits

BUILTIN = Path(__file__).with_name("questions.json.xz")  # made by tools/corpora/questions.py


@dataclass(frozen=True, kw_only=True)
class Options(Annotated):
    """The settings under `task:` for multiple choice."""

    reward: str = setting(
        "correct", "correct: 1 for the right choice; or a function module:name(observation, action, targets)"
    )
    shuffle: bool = setting(
        False, "true: each episode draws the order of its choices; false: the order of the data"
    )
    passes: int = setting(
        1, "how often the choices are shown; CONTINUE at the last choice of the last pass takes it", low=1
    )
    max_choices: int = setting(26, "a question with more choices is an error", low=1)

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The checked fields of a row or a record of the source; ValueError if invalid."""
        checked = questions.check(fields)
        count = len(checked["choices"])
        if count > self.max_choices:
            raise ValueError(
                f"the question has {count} choices, more than max_choices = {self.max_choices}; "
                "raise max_choices"
            )
        return checked


@content.cache_reads(16)
def load(options: Options) -> Splits:
    """The rows of all splits with `question`, `facts`, `choices`, `ids`, `answer`.

    Errors are those of `data.annotated.placed.load`.
    """
    if options.source == "builtin":
        return rows.limit_splits(corpora.rows(BUILTIN), options.limit)
    from loquent.data.annotated import loading, question_files

    return rows.limit_splits(loading.load(options, question_files.read, options.check), options.limit)
