"""Potential-based shaping: F = gamma phi(s') - phi(s) leaves the ranking of policies as it is.

Source: Ng, Harada and Russell 1999.

A step is what the learner discounts: each action token of each answer of the learning seat, end markers
included. An answer without tokens is one step. The state is the history. Its potential is the score of a part
of the newest answer:

    place: answer      the newest answer that is complete
    place: sentence    the newest answer up to its newest sentence end; with its last token, the complete
        answer
    place: token       the newest answer up to the newest token

The prompt of that score is every earlier turn that the learning seat saw or wrote. Before the first answer,
the potential is the score of "" after the first prompt. Where a text has no score, the potential stays as it
was; it starts at 0. After the last step of an episode that ended by a rule, the potential is 0, because the
value of that state is 0. After an episode that was cut, it is phi(s_T), because the value there is
bootstrapped. gamma applies at each token; with `discount: turn` it applies at the last token of an answer,
and the discount is 1 elsewhere. So, with D_t the product of the discounts before step t,

    sum over t of D_t F_t = - phi(s_0)   (and + D_T phi(s_T) where the episode was cut)

for any answers: the expected return of each state changes by an amount that its own actions do not affect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from loquent.core.episode import Episode, Turn
from loquent.rewards.learner import Learner
from loquent.rewards.placement import sentence_ends


@dataclass(frozen=True)
class Steps:
    """One answer: its turn's number, prompt, text, and after each step the length of its scored part."""

    number: int
    prompt: str
    text: str
    lengths: tuple[int, ...]


def steps_of(episode: Episode, place: str, learner: Learner) -> list[Steps]:
    """The steps of an episode, one item per answer; an answer with an empty list of tokens has none."""
    steps: list[Steps] = []
    before: list[str] = []
    for number, turn in enumerate(episode.turns):
        if turn.seat == episode.learning:
            lengths = _lengths(turn, place, learner)
            if lengths:
                steps.append(Steps(number, "\n".join(before), turn.text, lengths))
        if episode.learning in (turn.seat, turn.to):
            before.append(turn.text)
    return steps


def samples(steps: Sequence[Steps]) -> list[tuple[str, str]]:
    """The distinct (prompt, text) pairs whose scores `rewards` needs."""
    if not steps:
        return []
    parts = [
        (answer.prompt, answer.text[:length])
        for answer in steps
        for length in dict.fromkeys(answer.lengths)
        if length
    ]
    return list(dict.fromkeys([(steps[0].prompt, ""), *parts]))


def rewards(
    episode: Episode,
    steps: Sequence[Steps],
    scores: dict[tuple[str, str], float | None],
    learner: Learner,
) -> dict[int, float | tuple[float, ...]]:
    """F of each step by the number of the turn: per token where an answer has tokens, else one number."""
    found: dict[int, float | tuple[float, ...]] = {}
    phi = scores[steps[0].prompt, ""] or 0.0 if steps else 0.0
    for answer in steps:
        gains = []
        for i, length in enumerate(answer.lengths):
            last = i == len(answer.lengths) - 1
            after = scores[answer.prompt, answer.text[:length]] if length else None
            after = phi if after is None else after
            if last and answer is steps[-1] and not episode.bootstraps:
                after = 0.0
            factor = learner.gamma if last or learner.discount == "token" else 1.0
            gains.append(factor * after - phi)
            phi = after
        found[answer.number] = gains[0] if episode.turns[answer.number].tokens is None else tuple(gains)
    return found


def _lengths(turn: Turn, place: str, learner: Learner) -> tuple[int, ...]:
    """After each step of an answer, the number of its characters that the potential scores."""
    length = len(turn.text)
    if turn.tokens is None:
        return (length,)
    ends = learner.ends(turn)
    count = len(turn.tokens.ids)
    if not count:
        return ()
    if place == "answer" or not ends:
        return (0,) * (count - 1) + (length,)
    if place == "sentence":
        borders = [0, *sentence_ends(turn.text)]
        ends = [borders[bisect_right(borders, end) - 1] for end in ends]
    return (*ends[:-1], length)
