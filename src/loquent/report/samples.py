"""Sample episodes side by side, on the same rows: over runs, and over the course of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loquent import episode
from loquent.episode import TASK, Episode
from loquent.report.charts import COLOURS, safe, short
from loquent.report.runs import Group

ROWS = 8
LONGEST = 1200  # characters shown of one text
STAGES = 4


def over_runs(groups: Sequence[Group]) -> str:
    """What each group's first run said at its end, on the rows that all of them were asked."""
    columns = {i: _by_game(group.runs[0].final_episodes) for i, group in enumerate(groups)}
    return _side_by_side({groups[i].label: (i, games) for i, games in columns.items() if games})


def over_updates(number: int, group: Group) -> str:
    """What a group's first run said in its evaluations in training: the first, the last, and some between."""
    found = group.runs[0].evaluations()
    if len(found) < 2:
        return ""
    updates = list(found)
    chosen = sorted({updates[round(i * (len(updates) - 1) / (STAGES - 1))] for i in range(STAGES)})
    return _side_by_side({f"update {update}": (number, _by_game(list(episode.read(found[update])))) for update in chosen})


def _by_game(episodes: Sequence[Episode]) -> dict[tuple[str, int], Episode]:
    return {(one.row, one.number): one for one in episodes}


def _side_by_side(columns: Mapping[str, tuple[int, Mapping[tuple[str, int], Episode]]]) -> str:
    """One card a row: what the task said, and below it each column's answer."""
    if not columns:
        return ""
    first = next(iter(columns.values()))[1]
    shared = [game for game in first if all(game in games for _, games in columns.values())][:ROWS]
    return "".join(_card({label: (colour, games[game]) for label, (colour, games) in columns.items()}) for game in shared)


def _card(said: Mapping[str, tuple[int, Episode]]) -> str:
    one = next(iter(said.values()))[1]
    seen = [turn.text for turn in one.turns[: _first_answer(one)]]
    answers = "".join(_answer(label, colour, episode) for label, (colour, episode) in said.items())
    prompt = "\n".join(filter(None, (one.instruction, *seen)))
    return f'<article class="sample"><p class="row">row {safe(one.row)}</p>{_text(prompt, "prompt")}<div class="answers">{answers}</div></article>'


def _answer(label: str, colour: int, one: Episode) -> str:
    """The turns from the first answer on; in a game of several answers each says who spoke."""
    turns = [turn for turn in one.turns[_first_answer(one) :] if turn.seat != TASK or turn.text.strip()]
    several = sum(turn.seat != TASK for turn in turns) > 1
    texts = "".join(_text(f"{turn.seat}: {turn.text}" if several else turn.text, "task" if turn.seat == TASK else "said") for turn in turns)
    rewards = "".join(f"<li>{safe(name)} {short(value)}</li>" for name, value in one.rewards.items())
    ended = f"<li>{safe(one.ended)}</li>" if one.ended else ""
    return f'<section><h4 class="c{colour % COLOURS}">{safe(label)}</h4>{texts}<ul class="chips">{rewards}{ended}</ul></section>'


def _first_answer(one: Episode) -> int:
    return next((i for i, turn in enumerate(one.turns) if turn.seat != TASK), len(one.turns))


def _text(text: str, kind: str) -> str:
    shown = safe(text[:LONGEST].strip())
    more = f' <span class="more">… and {len(text) - LONGEST} characters more</span>' if len(text) > LONGEST else ""
    return f'<p class="text {kind}">{shown or "<span class=more>(nothing)</span>"}{more}</p>'
