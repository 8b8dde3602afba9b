"""Rewards of episodes: terms built by name with weights, and their raw scores put where learners read them.

Which text is judged. A term sees an episode as (prompt, prediction): the prediction is the last answer of the learning seat; the
prompt is all that this seat read and said before it, in order, one utterance a line (in a game of one answer: the task's prompt,
word for word). The task's instruction, other seats' utterances and what comes after that answer are not in it.

Where a score goes. Under the term's name on the last answer of the learning seat; token terms on every answer of that seat that
has tokens. None leaves no key. An episode in which the learning seat never answered has nowhere to put one and stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loquent import registry
from loquent.episode import Episode, Turn
from loquent.errors import BadReward, BadSetting, UnknownName
from loquent.metric import Context
from loquent.rewards.terms import Term, TokenFunction, TokenTerm
from loquent.task import Row
from loquent.values import Record

AnyTerm = Term | TokenTerm


def build(settings: Mapping[str, Any], context: Context) -> tuple[tuple[AnyTerm, ...], Record]:
    """Terms and weights from `{name: weight}` or `{name: {weight: ..., of: ..., key: ..., options...}}`.

    `of` names the registered reward or metric, or a Python callable as "module:function", where the term is called otherwise;
    `key` chooses among several scores of a metric.
    A name among the task's own rewards only gives that reward its weight. No settings at all: the task's own weights.

    Raises:
        UnknownName: no reward, metric or reward of the task is called so. BadSetting: a bad weight or option.
    """
    own = context.task.spec.rewards if context.task is not None else Record()
    if not settings:
        return (), own
    terms: list[AnyTerm] = []
    weights: dict[str, float] = {}
    for name, given in settings.items():
        options = dict(given) if isinstance(given, Mapping) else {"weight": given}
        weights[name] = _weight(options.pop("weight", 1.0), name)
        if name in own and not options:
            continue
        if name in own:
            raise BadSetting(f"rewards.{name}: {context.task.identity} has a reward of this name; give the term another, with 'of'")  # type: ignore[union-attr]
        terms.append(_term(name, options, own, context))
    return tuple(terms), Record(weights)


def apply(terms: Sequence[AnyTerm], episodes: Sequence[Episode], rows: Mapping[str, Row]) -> list[Episode]:
    """The episodes with the raw scores of all terms: one call per term over all of them; what was there under its name is replaced.

    Raises:
        BadReward: a term raised or gave something else than numbers; or an episode's row is not in `rows`.
    """
    done = list(episodes)
    if not terms:
        return done
    answered = [i for i, episode in enumerate(done) if episode.answers()]
    for i in answered:
        if done[i].row not in rows:
            raise BadReward(f"the episode on row {done[i].row!r} is to be scored, and that row is not among the {len(rows)} given")
    texts = [episode_texts(done[i]) for i in answered]
    prompts, predictions = [prompt for prompt, _ in texts], [prediction for _, prediction in texts]
    own = [rows[done[i].row] for i in answered]
    references = [references_of(row) for row in own]
    for term in terms:
        if isinstance(term, TokenTerm):
            done = [_with_tokens(term, episode) for episode in done]
            continue
        for i, score in zip(answered, term.score(predictions, references, prompts, own), strict=True):
            done[i] = _with_score(term.name, score, done[i])
    return done


def episode_texts(episode: Episode) -> tuple[str, str]:
    """(prompt, prediction) of an episode, by the rules above; the prediction is "" where the learning seat never answered."""
    seen = episode.seen_by(episode.learning)
    last = max((i for i, turn in enumerate(seen) if turn.seat == episode.learning), default=len(seen))
    prompt = "\n".join(turn.text for turn in seen[:last])
    return prompt, seen[last].text if last < len(seen) else ""


def references_of(row: Row) -> tuple[str, ...]:
    """The references of a row: its field `references` (one text or several), () where it has none."""
    given = row.fields.get("references") or ()
    return (given,) if isinstance(given, str) else tuple(given)


def _term(name: str, options: dict[str, Any], own: Record, context: Context) -> AnyTerm:
    of, key = options.pop("of", name), options.pop("key", "")
    if ":" in of:
        of, options = "callable", {"function": of, **options}
    kind = "reward" if of in registry.names("reward") else "metric"
    if kind == "metric" and of not in registry.names("metric"):
        raise UnknownName("reward", of, {*registry.names("reward"), *registry.names("metric"), *own})
    made = registry.find(kind, of)(context, **options)
    return TokenTerm(name, made.function) if isinstance(made, TokenFunction) else Term(name, made, key)


def _weight(given: Any, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise BadSetting(f"rewards.{name}: the weight is {given!r}; a finite number is right")
    return float(given)


def _with_score(name: str, score: float | None, episode: Episode) -> Episode:
    last = max(i for i, turn in enumerate(episode.turns) if turn.seat == episode.learning)
    turn = episode.turns[last]
    kept = {other: value for other, value in turn.rewards.items() if other != name}
    return episode.with_turn(last, replace(turn, rewards=Record(kept if score is None else {**kept, name: score})))


def _with_tokens(term: TokenTerm, episode: Episode) -> Episode:
    def scored(turn: Turn) -> Turn:
        if turn.seat != episode.learning or turn.tokens is None:
            return turn
        return replace(turn, token_rewards=turn.token_rewards.with_(**{term.name: term.score(episode, turn)}))

    return replace(episode, turns=tuple(scored(turn) for turn in episode.turns))
