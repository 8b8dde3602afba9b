"""Sample episodes side by side, on the same rows: of several runs, and of several updates of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loquent.core import registry
from loquent.core.episode import TASK, Episode
from loquent.report.charts import COLOURS, safe, short
from loquent.report.groups import Group

ROWS = 8
LONGEST = 1200  # characters shown of one text
STAGES = 4

Episodes = Mapping[tuple[str, int], Episode]  # by row and number
Columns = dict[str, tuple[int, Episodes]]  # by label: the colour and the episodes


def over_runs(groups: Sequence[Group]) -> str:
    """The final episodes of each group's first run, on the rows that all groups of a task share.

    Tasks follow one another.
    """
    by_task: dict[str, Columns] = {}
    for i, group in enumerate(groups):
        episodes = _by_row(group.runs[0].final_episodes)
        if episodes:
            by_task.setdefault(next(iter(episodes.values())).task, {})[group.label] = (i, episodes)
    return "".join(
        (f"<h3>{safe(task)}</h3>" if len(by_task) > 1 else "")
        + (_side_by_side(columns) or _nothing_shared(columns))
        for task, columns in by_task.items()
    )


def over_updates(number: int, group: Group) -> str:
    """The episodes of a first run's evaluations in training: the first, the last, and some between.

    Args:
        number: the colour of the group.
        group: the runs.
    """
    run = group.runs[0]
    paths = run.evaluations
    if len(paths) < 2:
        return ""
    updates = list(paths)
    chosen = sorted({updates[round(i * (len(updates) - 1) / (STAGES - 1))] for i in range(STAGES)})
    columns: Columns = {
        f"update {update}": (number, _by_row(run.episodes(paths[update]))) for update in chosen
    }
    return _side_by_side(columns) or _nothing_shared(columns)


def _by_row(episodes: Sequence[Episode]) -> dict[tuple[str, int], Episode]:
    return {(episode.row, episode.number): episode for episode in episodes}


def _nothing_shared(columns: Columns) -> str:
    if not columns:
        return ""
    return f"<p>No row occurs in all of these runs or evaluations: {safe(', '.join(columns))}.</p>"


def _side_by_side(columns: Columns) -> str:
    """One card per row: the prompt, and below it the answer of each column; empty if no row is shared."""
    if not columns:
        return ""
    first = next(iter(columns.values()))[1]
    shared = [key for key in first if all(key in episodes for _, episodes in columns.values())][:ROWS]
    return "".join(
        _card({label: (colour, episodes[key]) for label, (colour, episodes) in columns.items()})
        for key in shared
    )


def _card(column: Mapping[str, tuple[int, Episode]]) -> str:
    first = next(iter(column.values()))[1]
    prompts = {_prompt(episode) for _, episode in column.values()}
    differ = len(prompts) > 1  # other data under the same ids, or another cut of the same prompt
    answers = "".join(_answer(label, colour, episode, differ) for label, (colour, episode) in column.items())
    prompt = "" if differ else _opening(first)
    return (
        f'<article class="sample"><p class="row">row {safe(first.row)}</p>{prompt}'
        f'<div class="answers">{answers}</div></article>'
    )


def _prompt(episode: Episode) -> str:
    texts = (turn.text for turn in episode.turns[: _first_answer(episode)])
    return "\n".join(filter(None, (episode.instruction, *texts)))


def _answer(label: str, colour: int, episode: Episode, with_prompt: bool) -> str:
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
    texts = "".join(
        _text(f"{turn.seat}: {turn.text}" if several else turn.text, "task" if turn.seat == TASK else "said")
        + pictures.get(i, "")
        for i, turn in turns
    )
    prompt = _opening(episode) if with_prompt else ""
    rewards = "".join(f"<li>{safe(name)} {short(value)}</li>" for name, value in episode.rewards.items())
    ended = f"<li>{safe(episode.ended)}</li>" if episode.ended else ""
    return (
        f'<section><h4 class="c{colour % COLOURS}">{safe(label)}</h4>{prompt}{texts}'
        f'<ul class="chips">{rewards}{ended}</ul></section>'
    )


def _opening(episode: Episode) -> str:
    """The prompt, and the picture of the last turn before the first answer, if the task draws one."""
    return _text(_prompt(episode), "prompt") + _pictures(episode).get(_first_answer(episode) - 1, "")


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


def _text(text: str, style: str) -> str:
    shown = safe(text[:LONGEST].strip())
    hidden = len(text) - LONGEST
    more = f' <span class="more">… and {hidden} characters more</span>' if hidden > 0 else ""
    return f'<p class="text {style}">{shown or "<span class=more>(nothing)</span>"}{more}</p>'
