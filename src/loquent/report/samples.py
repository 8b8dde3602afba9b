"""Sample episodes side by side, on the same rows: of several runs, and of several updates of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loquent.core import registry
from loquent.core.episode import TASK, Episode
from loquent.report.charts import COLOURS, Drawing
from loquent.report.groups import Group
from loquent.report.kit import Block, Heading, Text
from loquent.statistics.tables import short

ROWS = 8
LONGEST = 1200  # characters shown of one text
STAGES = 4

Episodes = Mapping[tuple[str, int], Episode]  # by row and number
Columns = dict[str, tuple[int, Episodes]]  # by label: the colour and the episodes


@dataclass(frozen=True)
class Shown:
    """A text as far as it is shown, how many characters are not, and the picture of its turn."""

    kind: str
    text: str
    hidden: int
    picture: Drawing


@dataclass(frozen=True)
class Answer:
    """The turns of one episode from its first answer on, and its rewards and ending."""

    label: str
    colour: int
    texts: Sequence[Shown]
    chips: Sequence[str]


@dataclass(frozen=True)
class Sample:
    """A block of a page: a row, its prompt, and the answers side by side."""

    row: str
    opening: Sequence[Shown]
    answers: Sequence[Answer]


def over_runs(groups: Sequence[Group]) -> list[Block]:
    """The final episodes of each group's first run, on the rows that all groups of a task share.

    Tasks follow one another.
    """
    by_task: dict[str, Columns] = {}
    for i, group in enumerate(groups):
        episodes = by_row(group.runs[0].final_episodes)
        if episodes:
            by_task.setdefault(next(iter(episodes.values())).task, {})[group.label] = (i, episodes)
    return [
        block
        for task, columns in by_task.items()
        for block in (*([Heading(task, 3)] if len(by_task) > 1 else []), *side_by_side(columns))
    ]


def over_updates(number: int, group: Group) -> list[Block]:
    """The episodes of a first run's evaluations in training: the first, the last, and some between.

    Args:
        number: the colour of the group.
        group: the runs.
    """
    run = group.runs[0]
    paths = run.evaluations
    if len(paths) < 2:
        return []
    updates = list(paths)
    chosen = sorted({updates[round(i * (len(updates) - 1) / (STAGES - 1))] for i in range(STAGES)})
    columns: Columns = {
        f"update {update}": (number, by_row(run.episodes(paths[update]))) for update in chosen
    }
    return side_by_side(columns)


def by_row(episodes: Sequence[Episode]) -> dict[tuple[str, int], Episode]:
    """The episodes by row and number."""
    return {(episode.row, episode.number): episode for episode in episodes}


def side_by_side(columns: Columns, most: int = ROWS) -> list[Block]:
    """One sample per row with the answer of each column, for the first `most` rows that all columns have."""
    if not columns:
        return []
    first = next(iter(columns.values()))[1]
    shared = [key for key in first if all(key in episodes for _, episodes in columns.values())][:most]
    if not shared:
        return [Text(f"No row occurs in all of these runs or evaluations: {', '.join(columns)}.")]
    return [
        _sample({label: (colour, episodes[key]) for label, (colour, episodes) in columns.items()})
        for key in shared
    ]


def _sample(column: Mapping[str, tuple[int, Episode]]) -> Sample:
    first = next(iter(column.values()))[1]
    prompts = {_prompt(episode) for _, episode in column.values()}
    differ = len(prompts) > 1  # other data under the same ids, or another cut of the same prompt
    answers = [_answer(label, colour, episode, differ) for label, (colour, episode) in column.items()]
    return Sample(first.row, [] if differ else _opening(first), answers)


def _prompt(episode: Episode) -> str:
    texts = (turn.text for turn in episode.turns[: _first_answer(episode)])
    return "\n".join(filter(None, (episode.instruction, *texts)))


def _answer(label: str, colour: int, episode: Episode, with_prompt: bool) -> Answer:
    """The turns from the first answer on, below the prompt if `with_prompt`.

    In an episode of several answers each turn names its seat.
    """
    first, pictures = _first_answer(episode), _pictures(episode)
    turns = [
        (i, turn)
        for i, turn in enumerate(episode.turns)
        if i >= first and (turn.seat != TASK or turn.text.strip())
    ]
    several = sum(turn.seat != TASK for _, turn in turns) > 1
    texts = [
        _shown(
            "task" if turn.seat == TASK else "said",
            f"{turn.seat}: {turn.text}" if several else turn.text,
            pictures.get(i, ""),
        )
        for i, turn in turns
    ]
    chips = [f"{name} {short(value)}" for name, value in episode.rewards.items()]
    chips += [episode.ended] if episode.ended else []
    return Answer(label, colour % COLOURS, [*(_opening(episode) if with_prompt else ()), *texts], chips)


def _opening(episode: Episode) -> list[Shown]:
    """The prompt, and the picture of the last turn before the first answer, if the task draws one."""
    return [_shown("prompt", _prompt(episode), _pictures(episode).get(_first_answer(episode) - 1, ""))]


def _pictures(episode: Episode) -> dict[int, str]:
    """The pictures that a built-in task draws of its own turns, by the number of the turn."""
    target = registry.pictures().get(episode.task.partition("#")[0].rpartition("-v")[0])
    if target is None:
        return {}
    numbers = [i for i, turn in enumerate(episode.turns) if turn.seat == TASK]
    drawn = registry.import_name(target)([episode.turns[i].text for i in numbers])
    return {i: picture for i, picture in zip(numbers, drawn, strict=True) if picture}


def _first_answer(episode: Episode) -> int:
    turns = episode.turns
    return next((i for i, turn in enumerate(turns) if turn.seat != TASK), len(turns))


def _shown(kind: str, text: str, picture: str) -> Shown:
    return Shown(kind, text[:LONGEST].strip(), max(0, len(text) - LONGEST), Drawing(picture))
