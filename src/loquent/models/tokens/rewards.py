"""Rewards per token for answers with and without recorded tokens."""

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

LONGEST = 16  # the most ids that are decoded together to complete a character


def with_token_rewards(
    episodes: Sequence[Episode], terms: Sequence[TokenTerm], format: Format
) -> list[Episode]:
    """The episodes with token rewards on the learning seat's answers without tokens.

    `rewards.apply` scores the other answers. The turns stay without tokens, because their tokens were not
    drawn and have no probabilities. The rewards match the rows of `token_batch` in the same format.

    Raises:
        BadReward: a term raised an error, or did not give one finite number per token.
    """
    return [_scored(episode, terms, format) for episode in episodes] if terms else list(episodes)


def learner_rewards(
    terms: Sequence[Any],
    episodes: Sequence[Episode],
    rows: Mapping[str, Row],
    learner: Learner,
    format: Format,
) -> list[Episode]:
    """`rewards.apply` for a learner.

    During scoring, the learning seat's answers without tokens have the format's tokens.

    Raises:
        BadReward: as in `rewards.apply`.
    """
    if all(
        not isinstance(term, TokenTerm) and term.counting.place == "answer" and not term.counting.potential
        for term in terms
    ):
        return compose.apply(terms, episodes, rows, learner)
    with_tokens = [_with_tokens(episode, format) for episode in episodes]
    scored = compose.apply(terms, with_tokens, rows, learner)
    return [_with_tokens_of(after, before) for after, before in zip(scored, episodes, strict=True)]


def ends_by(format: Format | None) -> Callable[[Turn], Sequence[int]] | None:
    """A function from a turn to its `character_ends`, for a `Learner`; None without a format."""
    if format is None:
        return None
    return lambda turn: character_ends(turn.tokens.ids.tolist(), turn.text, format) if turn.tokens else ()


def character_ends(ids: Sequence[int], text: str, format: Format) -> tuple[int, ...]:
    """The number of characters of an answer's text that are complete after each of its ids."""
    decoded, ends, anchor, length = "", [], 0, 0
    for i in range(len(ids)):
        piece = format.encoder.decode(ids[anchor : i + 1])
        if not piece.endswith("\ufffd") or i - anchor >= LONGEST:
            decoded, anchor, length = decoded + piece, i + 1, length + len(piece)
        ends.append(length)
    shift = max(0, decoded.find(text))  # what a format writes before an answer is not part of it
    return tuple(min(max(end - shift, 0), len(text)) for end in ends)


def _with_tokens_of(episode: Episode, original: Episode) -> Episode:
    """The episode with the recorded tokens of its original."""
    pairs = zip(episode.turns, original.turns, strict=True)
    return replace(episode, turns=tuple(replace(turn, tokens=old.tokens) for turn, old in pairs))


def _scored(episode: Episode, terms: Sequence[TokenTerm], format: Format) -> Episode:
    """The episode with token rewards on the answers that have no tokens."""
    turns = list(episode.turns)
    for number, with_tokens in enumerate(_with_tokens(episode, format).turns):
        if turns[number].tokens is None and with_tokens.tokens is not None:
            scores = {term.name: term.score(episode, with_tokens) for term in terms}
            turns[number] = replace(turns[number], token_rewards=turns[number].token_rewards.with_(**scores))
    return replace(episode, turns=tuple(turns))


def _with_tokens(episode: Episode, format: Format) -> Episode:
    """The episode with the format's tokens on the learning seat's answers without tokens.

    The probabilities of these tokens are NaN.
    """
    seat, turns = episode.learning, list(episode.turns)
    if all(turn.tokens is not None for turn in turns if turn.seat == seat):
        return episode
    view = [number for number, turn in enumerate(turns) if seat in (turn.seat, turn.to)]
    for place in format.answers(episode.instruction, [turns[number] for number in view], seat):
        turn = turns[view[place.turn]]
        if turn.tokens is None:
            unknown = np.full(len(place.ids), np.nan)
            tokens = Tokens(np.array(place.ids, dtype=np.int64), unknown, unknown)
            turns[view[place.turn]] = replace(turn, tokens=tokens)
    return replace(episode, turns=tuple(turns))
