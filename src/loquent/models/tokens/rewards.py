"""Rewards per token: which characters an answer's tokens say, and what the tokens of answers are that were
never drawn as any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.task import Row
from loquent.models.format.names import Format
from loquent.rewards import compose
from loquent.rewards.learner import Learner
from loquent.rewards.terms import TokenTerm

LONGEST = 16  # ids that may together be one character, or a few


def with_token_rewards(
    episodes: Sequence[Episode], terms: Sequence[TokenTerm], format: Format
) -> list[Episode]:
    """The episodes with the scores of token terms on those answers of the learning seat that have no tokens.

    `rewards.apply` scores the others.

    The turns stay without tokens: they were not drawn, and have no probabilities. Their scores fit the rows
    that `token_batch` lays in the same format.

    Raises:
        BadReward: a term raised, or gave something else than one finite number per token.
    """
    return [_scored(one, terms, format) for one in episodes] if terms else list(episodes)


def learner_rewards(
    terms: Sequence[Any],
    episodes: Sequence[Episode],
    rows: Mapping[str, Row],
    learner: Learner,
    format: Format,
) -> list[Episode]:
    """`rewards.apply` for a learner.

    Answers of the learning seat that have no tokens have those of the format meanwhile.

    Raises:
        BadReward: as `rewards.apply`.
    """
    if all(
        not isinstance(term, TokenTerm) and term.counting.place == "answer" and not term.counting.potential
        for term in terms
    ):
        return compose.apply(terms, episodes, rows, learner)
    scored = compose.apply(terms, [_with_tokens(one, format) for one in episodes], rows, learner)
    return [_as_drawn(after, before) for after, before in zip(scored, episodes, strict=True)]


def ends_by(format: Format | None) -> Callable[[Turn], Sequence[int]] | None:
    """What tells a `Learner` how many characters of an answer are said with each of its tokens.

    None without a format.
    """
    return (
        None
        if format is None
        else lambda turn: character_ends(turn.tokens.ids.tolist(), turn.text, format) if turn.tokens else ()
    )


def character_ends(ids: Sequence[int], text: str, format: Format) -> tuple[int, ...]:
    """How many characters of an answer's text are said with each of its ids.

    The bytes of an unfinished character say none.
    """
    said, ends, anchor, done = "", [], 0, 0
    for i in range(len(ids)):
        piece = format.encoder.decode(ids[anchor : i + 1])
        if not piece.endswith("\ufffd") or i - anchor >= LONGEST:
            said, anchor, done = said + piece, i + 1, done + len(piece)
        ends.append(done)
    shift = max(0, said.find(text))  # what a format writes before an answer is no part of it
    return tuple(min(max(end - shift, 0), len(text)) for end in ends)


def _as_drawn(after: Episode, before: Episode) -> Episode:
    return replace(
        after,
        turns=tuple(
            replace(new, tokens=old.tokens) for new, old in zip(after.turns, before.turns, strict=True)
        ),
    )


def _scored(episode: Episode, terms: Sequence[TokenTerm], format: Format) -> Episode:
    turns = list(episode.turns)
    for number, as_tokens in enumerate(_with_tokens(episode, format).turns):
        if turns[number].tokens is None and as_tokens.tokens is not None:
            found = {term.name: term.score(episode, as_tokens) for term in terms}
            turns[number] = replace(turns[number], token_rewards=turns[number].token_rewards.with_(**found))
    return replace(episode, turns=tuple(turns))


def _with_tokens(episode: Episode, format: Format) -> Episode:
    """The episode with the format's tokens, of unknown probability, on those answers of the learning seat
    that have none.
    """
    seat, turns = episode.learning, list(episode.turns)
    if all(turn.tokens is not None for turn in turns if turn.seat == seat):
        return episode
    seen = [number for number, turn in enumerate(turns) if seat in (turn.seat, turn.to)]
    pieces = format.pieces(episode.instruction, [turns[number] for number in seen], seat)[1:]
    for number, piece in zip(seen, pieces, strict=True):
        turn = turns[number]
        if turn.seat != seat or turn.tokens is not None:
            continue
        ids = np.array(
            [id for id, own in zip(piece.ids, piece.is_action, strict=True) if own], dtype=np.int64
        )
        unknown = np.full(len(ids), np.nan)
        turns[number] = replace(turn, tokens=Tokens(ids, unknown, unknown))
    return replace(episode, turns=tuple(turns))
