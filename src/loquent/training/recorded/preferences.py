"""Preferences as recorded episodes: files of pairs, labelled answers, and judgements of people.

The better answer to a row has the reward `preference` 1, and the other one 0. An answer with a label has 1 if
it is good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from loquent.agents.baselines import Expert
from loquent.core.episode import Episode
from loquent.core.rollout.loop import Game, play
from loquent.core.task import Row, Task
from loquent.core.values import Record, plain
from loquent.data import row_files
from loquent.data.preferences import pairs
from loquent.data.preferences.key import KEY
from loquent.data.tables.rows import by_id
from loquent.data.tables.splits import ALIASES
from loquent.errors import BadRow, BadSetting, LoquentError, UnknownName
from loquent.files import names
from loquent.training.recipes.sections import TrainingSettings

REWARD = "preference"
EPISODES, PAIRS, JUDGEMENTS = "episodes", "pairs", "judgements"  # what a path of `training.data` has
CHUNK = 1024  # records whose episodes are objects in memory at the same time
EQUAL, OTHER_SPLIT, UNDECIDED = "equal answers", "rows of other splits", "no majority, or equal texts"

Records = Iterator[tuple[str, str, Mapping[str, Any]]]  # place, id, record


def kind_of(path: str) -> str:
    """What a path has, by its name and its first record; a path that does not exist has `EPISODES`."""
    place = Path(path)
    if place.is_dir():
        if (place / names.EPISODES).is_file():
            return EPISODES
        return JUDGEMENTS if (place / KEY).is_file() else PAIRS if _has_rows(place) else EPISODES
    if not place.is_file() or not place.name.lower().removesuffix(".gz").endswith(row_files.FORMATS):
        return EPISODES
    of_episodes = place.suffix in (".jsonl", ".parquet")
    try:
        [(_, table)] = row_files.of_path(place).values()
        first = next((record for _, _, record, _ in table.records(lambda number: number == 1)), None)
    except LoquentError:
        if of_episodes:
            return EPISODES  # whose reader says what is wrong
        raise
    if (first is None and of_episodes) or (first is not None and {"task", "turns"} & set(first)):
        return EPISODES
    return JUDGEMENTS if first is not None and "preferred" in first else PAIRS


def _has_rows(folder: Path) -> bool:
    try:
        return bool(row_files.of_path(folder))
    except BadSetting:
        return False


@dataclass
class Preferences:
    """The reader of preferences for a task; `left_out` counts what gives no pair, by reason."""

    task: Task
    settings: TrainingSettings
    left_out: Counter[str] = field(default_factory=Counter)

    def read(self, path: str) -> Iterator[list[tuple[Episode, ...]]]:
        """The answers of the records of a file or a folder of rows, some records at a time.

        The records of the task's own files count if their row is in the split of the run. Of a folder those
        of this split count.

        Raises:
            BadRow: a record is malformed; names file and line.
            BadSetting: the task reads no such files, or the folder does not have the split.
        """
        return self._play(self._records(Path(path)))

    def read_judgements(self, paths: Sequence[str]) -> Iterator[list[tuple[Episode, ...]]]:
        """The pairs of files of judgements and of folders of studies, as reward models learn from them.

        Raises:
            BadRow, BadSetting: as from `data.preferences.pairs.read`.
        """
        found = pairs.read([Path(path) for path in paths], self.settings.data_question)
        self.left_out[UNDECIDED] += found.undecided
        records = (
            (one.item, f"{one.item}/{number}", self._with_messages(one.prompt, one.chosen, one.rejected))
            for number, one in enumerate(found.pairs)
        )
        return self._play(records)

    def remark(self) -> str:
        """How many pairs were left out, and why; "" for none."""
        counts = [f"{count} ({reason})" for reason, count in self.left_out.items() if count]
        return f"training.data: pairs that are left out: {', '.join(counts)}" if counts else ""

    def _records(self, place: Path) -> Records:
        tables = row_files.of_path(place)
        split, own = self.settings.split, self._is_own(place)
        if not own and "" not in tables:
            if split not in tables:
                has = ", ".join(tables)
                raise BadSetting(f"{place} has the splits {has}, and training.split is {split!r}; set it")
            tables = {split: tables[split]}
        known = by_id(self.task.rows(split)) if own else None
        for prefix, table in tables.values():
            for number, (file, line), record, _ in table.records():
                id = f"{prefix}-{number}"
                if known is not None and id not in known:
                    self.left_out[OTHER_SPLIT] += 1
                    continue
                yield f"{file}:{line}", id, record

    def _is_own(self, place: Path) -> bool:
        """Whether a path has the rows of the task, or one file of their folder."""
        path = getattr(self.task.options, "path", "")
        own, place = Path(path).expanduser().resolve(), place.resolve()
        return bool(path) and (place == own or (place.parent == own and place.name.split(".")[0] in ALIASES))

    def _play(self, records: Records) -> Iterator[list[tuple[Episode, ...]]]:
        while chunk := list(islice(records, CHUNK)):
            answers = [self._answers(*each) for each in chunk]
            queue = [Game(row, number) for of_record in answers for number, (row, _) in enumerate(of_record)]
            played = iter(
                play(
                    self.task,
                    queue,
                    Expert(self.task),
                    seed=self.settings.seed,
                    split=self.settings.split,
                )
            )
            yield list(
                self._different(
                    tuple(_scored(next(played), score) for _, score in of_record)
                    for of_record in answers
                    if of_record
                )
            )

    def _answers(self, place: str, id: str, record: Mapping[str, Any]) -> list[tuple[Row, float]]:
        try:
            found = self.task.judged_answers(id, record)
        except (BadRow, BadSetting):
            raise
        except ValueError as error:
            file, _, line = place.rpartition(":")
            raise BadRow(str(error), file=file or place, line=int(line) if line.isdigit() else None) from None
        only = self.settings.only
        return [
            pair for pair in found if all(pair[0].fields.get(name) == value for name, value in only.items())
        ]

    def _different(self, records: Iterable[tuple[Episode, ...]]) -> Iterator[tuple[Episode, ...]]:
        for episodes in records:
            if len({tuple(turn.text for turn in one.answers()) for one in episodes}) == len(episodes):
                yield episodes
            else:
                self.left_out[EQUAL] += 1

    def _with_messages(self, prompt: str, chosen: str, rejected: str) -> Mapping[str, Any]:
        """The record of a judged pair, with the messages of the row that shows this prompt."""
        row = self._rows_of_messages.get(prompt)
        own: dict[str, Any] = {"prompt": prompt}
        if row is not None:
            own = {"prompt": plain(row["messages"]), "tools": plain(row.fields.get("tools"))}
        return {**own, "chosen": chosen, "rejected": rejected}

    @cached_property
    def _rows_of_messages(self) -> Mapping[str, Row]:
        rows: dict[str, Row] = {}
        for split in self.task.spec.splits:
            with suppress(UnknownName):  # a source need not have all splits
                rows |= {row["prompt"]: row for row in self.task.rows(split) if "messages" in row.fields}
        return rows


def _scored(episode: Episode, score: float) -> Episode:
    """The episode with the preference as the only reward, on its last answer."""
    last = max(i for i, turn in enumerate(episode.turns) if turn.seat == episode.learning)
    turns = [
        replace(turn, rewards=Record({REWARD: score} if i == last else {}))
        for i, turn in enumerate(episode.turns)
    ]
    return replace(episode, turns=tuple(turns))
