"""Rewards per token for answers that were never drawn as tokens: a format says what their tokens are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from loquent.episode import Episode, Tokens
from loquent.models.format import Format
from loquent.rewards.terms import TokenTerm


def with_token_rewards(episodes: Sequence[Episode], terms: Sequence[TokenTerm], format: Format) -> list[Episode]:
    """The episodes with the scores of token terms on those answers of the learning seat that have no tokens; `rewards.apply` scores the others.

    The turns stay without tokens: they were not drawn, and have no probabilities. Their scores fit the rows that `token_batch` lays in
    the same format.

    Raises:
        BadReward: a term raised, or gave something else than one finite number per token.
    """
    return [_scored(one, terms, format) for one in episodes] if terms else list(episodes)


def _scored(episode: Episode, terms: Sequence[TokenTerm], format: Format) -> Episode:
    seat, turns = episode.learning, list(episode.turns)
    seen = [number for number, turn in enumerate(turns) if seat in (turn.seat, turn.to)]
    pieces = format.pieces(episode.instruction, [turns[number] for number in seen], seat)[1:]
    for number, piece in zip(seen, pieces, strict=True):
        turn = turns[number]
        if turn.seat != seat or turn.tokens is not None:
            continue
        ids = np.array([id for id, own in zip(piece.ids, piece.is_action, strict=True) if own], dtype=np.int64)
        unknown = np.full(len(ids), np.nan)
        as_tokens = replace(turn, tokens=Tokens(ids, unknown, unknown))
        turns[number] = replace(turn, token_rewards=turn.token_rewards.with_(**{term.name: term.score(episode, as_tokens) for term in terms}))
    return replace(episode, turns=tuple(turns))
