"""Sample episodes side by side, on the same rows: over runs, and over the course of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loquent.core.episode import TASK, Episode
from loquent.report.charts import COLOURS, safe, short
from loquent.report.runs import Group

ROWS = 8
LONGEST = 1200  # characters shown of one text
STAGES = 4

Columns = dict[
    str, tuple[int, Mapping[tuple[str, int], Episode]]
]  # label -> its colour, and its episodes by row and number


def over_runs(groups: Sequence[Group]) -> str:
    """What each group's first run said at its end, on the rows that all of one task were asked.

    Tasks one below the other.
    """
    by_task: dict[str, Columns] = {}
    for i, group in enumerate(groups):
        games = _by_game(group.runs[0].final_episodes)
        if games:
            by_task.setdefault(next(iter(games.values())).task, {})[group.label] = (i, games)
    parts = [
        (f"<h3>{safe(task)}</h3>" if len(by_task) > 1 else "")
        + (_side_by_side(columns) or _none_shared(columns))
        for task, columns in by_task.items()
    ]
    return "".join(parts)


def over_updates(number: int, group: Group) -> str:
    """What a group's first run said in its evaluations in training: the first, the last, and some between."""
    found = group.runs[0].evaluations
    if len(found) < 2:
        return ""
    updates = list(found)
    chosen = sorted({updates[round(i * (len(updates) - 1) / (STAGES - 1))] for i in range(STAGES)})
    columns: Columns = {
        f"update {update}": (number, _by_game(group.runs[0].episodes(found[update]))) for update in chosen
    }
    return _side_by_side(columns) or _none_shared(columns)


def _by_game(episodes: Sequence[Episode]) -> dict[tuple[str, int], Episode]:
    return {(one.row, one.number): one for one in episodes}


def _none_shared(columns: Columns) -> str:
    return (
        "<p>No row was asked of all of them, so there is nothing to set side by side: "
        f"{safe(', '.join(columns))}.</p>"
        if columns
        else ""
    )


def _side_by_side(columns: Columns) -> str:
    """One card a row: what the task said, and below it each column's answer.

    Empty where no row is in all columns.
    """
    if not columns:
        return ""
    first = next(iter(columns.values()))[1]
    shared = [game for game in first if all(game in games for _, games in columns.values())][:ROWS]
    return "".join(
        _card({label: (colour, games[game]) for label, (colour, games) in columns.items()}) for game in shared
    )


def _card(said: Mapping[str, tuple[int, Episode]]) -> str:
    one = next(iter(said.values()))[1]
    prompts = {_prompt(episode) for _, episode in said.values()}
    own = len(prompts) > 1  # other data under the same ids, or another cut of it
    answers = "".join(_answer(label, colour, episode, own) for label, (colour, episode) in said.items())
    prompt = "" if own else _text(_prompt(one), "prompt")
    return (
        f'<article class="sample"><p class="row">row {safe(one.row)}</p>{prompt}<div '
        f'class="answers">{answers}</div></article>'
    )


def _prompt(one: Episode) -> str:
    return "\n".join(
        filter(None, (one.instruction, *(turn.text for turn in one.turns[: _first_answer(one)])))
    )


def _answer(label: str, colour: int, one: Episode, prompt: bool) -> str:
    """The turns from the first answer on, below what was asked where `prompt`; in a game of several answers
    each says who spoke.
    """
    turns = [turn for turn in one.turns[_first_answer(one) :] if turn.seat != TASK or turn.text.strip()]
    several = sum(turn.seat != TASK for turn in turns) > 1
    texts = "".join(
        _text(f"{turn.seat}: {turn.text}" if several else turn.text, "task" if turn.seat == TASK else "said")
        for turn in turns
    )
    asked = _text(_prompt(one), "prompt") if prompt else ""
    rewards = "".join(f"<li>{safe(name)} {short(value)}</li>" for name, value in one.rewards.items())
    ended = f"<li>{safe(one.ended)}</li>" if one.ended else ""
    return (
        f'<section><h4 class="c{colour % COLOURS}">{safe(label)}</h4>{asked}{texts}<ul '
        f'class="chips">{rewards}{ended}</ul></section>'
    )


def _first_answer(one: Episode) -> int:
    return next((i for i, turn in enumerate(one.turns) if turn.seat != TASK), len(one.turns))


def _text(text: str, kind: str) -> str:
    shown = safe(text[:LONGEST].strip())
    more = (
        f' <span class="more">… and {len(text) - LONGEST} characters more</span>'
        if len(text) > LONGEST
        else ""
    )
    return f'<p class="text {kind}">{shown or "<span class=more>(nothing)</span>"}{more}</p>'
