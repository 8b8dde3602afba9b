"""Potential-based shaping (Ng, Harada and Russell 1999): F = gamma phi(s') - phi(s) changes no policy's rank among others.

The steps are those that the learner discounts: its action tokens, of all answers of the learning seat, end markers included; an answer
without tokens is one step. The state is the history; its potential is the score of the newest answer so far:

    place: answer      of the newest answer that is whole
    place: sentence    of the newest answer up to the newest end of a sentence in it; whole with its last token
    place: token       of the newest answer up to the newest token

with all that was seen before that answer as its prompt. Before anything was said it is the score of "" after the first prompt; where a
text has no score, the potential is the one before, at first 0. The state behind the last step of a game that a rule ended has potential
0, as its value is 0; one that was cut keeps its potential, as its value is bootstrapped. gamma stands at each token, or with
`discount: turn` at the last token of an answer and 1 elsewhere. So, with D_t the product of the discounts before step t,

    sum over t of D_t F_t = - phi(s_0)   (and + D_T phi(s_T) where the game was cut)

whatever was said: what a policy expects from any state is moved by a number that no action of its own changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loquent.episode import Episode, Turn
from loquent.rewards.learner import Learner
from loquent.rewards.placement import sentence_ends
from loquent.values import Record


@dataclass(frozen=True)
class Steps:
    """One answer: its turn's number, what was seen before it, its text, and how much of it the potential knows after each step."""

    number: int
    prompt: str
    text: str
    known: tuple[int, ...]


def steps_of(episode: Episode, place: str, learner: Learner) -> list[Steps]:
    """The steps of an episode, answer by answer; one that was drawn as no tokens at all is no step."""
    found: list[Steps] = []
    before: list[str] = []
    for number, turn in enumerate(episode.turns):
        if turn.seat == episode.learning:
            known = _known(turn, place, learner)
            if known:
                found.append(Steps(number, "\n".join(before), turn.text, known))
        if episode.learning in (turn.seat, turn.to):
            before.append(turn.text)
    return found


def samples(steps: Sequence[Steps]) -> list[tuple[str, str]]:
    """The (prompt, text) pairs whose scores `shaped` asks for, each once."""
    if not steps:
        return []
    wanted = [(one.prompt, one.text[:length]) for one in steps for length in dict.fromkeys(one.known) if length]
    return list(dict.fromkeys([(steps[0].prompt, ""), *wanted]))


def shaped(name: str, episode: Episode, steps: Sequence[Steps], scores: dict[tuple[str, str], float | None], learner: Learner) -> Episode:
    """The episode with F of every step under `name`: per token where an answer has tokens, on the turn where it has none."""
    turns = list(episode.turns)
    if not steps:
        return episode
    here = scores[steps[0].prompt, ""] or 0.0
    for one in steps:
        earned = []
        for i, length in enumerate(one.known):
            last = i == len(one.known) - 1
            after = scores[one.prompt, one.text[:length]] if length else None
            after = here if after is None else after
            if last and one is steps[-1] and not episode.bootstraps:
                after = 0.0
            factor = learner.gamma if last or learner.discount == "token" else 1.0
            earned.append(factor * after - here)
            here = after
        turns[one.number] = _with(name, turns[one.number], earned)
    return replace(episode, turns=tuple(turns))


def _known(turn: Turn, place: str, learner: Learner) -> tuple[int, ...]:
    """How many characters of the answer the potential knows after each step."""
    whole = len(turn.text)
    if turn.tokens is None:
        return (whole,)
    ends = learner.ends(turn)
    count = len(turn.tokens.ids)
    if not count:
        return ()
    if place == "answer" or not ends:
        return (0,) * (count - 1) + (whole,)
    if place == "sentence":
        borders = [0, *sentence_ends(turn.text)]
        ends = [borders[bisect_right(borders, end) - 1] for end in ends]
    return (*ends[:-1], whole)


def _with(name: str, turn: Turn, earned: Sequence[float]) -> Turn:
    if turn.tokens is None:
        return replace(turn, rewards=Record({**turn.rewards, name: earned[0]}))
    return replace(turn, token_rewards=Record({**turn.token_rewards, name: tuple(earned)}))
