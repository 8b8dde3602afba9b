"""Rewards of episodes: terms built by name with weights, and their raw scores put where learners read them.

Which text is judged. A term sees an episode as (prompt, prediction): the prediction is the last answer of the learning seat; the
prompt is all that this seat read and said before it, in order, one utterance a line (in a game of one answer: the task's prompt,
word for word). The task's instruction, other seats' utterances and what comes after that answer are not in it.

Where a score goes. Under the term's name on the last answer of the learning seat; token terms on every answer of that seat that
has tokens. None leaves no key. An episode in which the learning seat never answered has nowhere to put one and stays as it is.
Where something else than the score may count (`counting.Counting`), the name has what counts, and NAME/raw the score.
For a learner it may stand on tokens (`placement`), be normalised (`learner`), or be a potential (`shaping`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loquent import registry
from loquent.episode import Episode, Turn
from loquent.errors import BadReward, BadSetting, UnknownName
from loquent.metric import Context, Metric, scores_together
from loquent.rewards import shaping
from loquent.rewards.cache import Cache, Cached, Watched
from loquent.rewards.counting import RAW, Counting, counting
from loquent.rewards.learner import Learner
from loquent.rewards.placement import pieces, placed
from loquent.rewards.terms import Term, TokenFunction, TokenTerm
from loquent.task import Row
from loquent.values import Record, frozen

AnyTerm = Term | TokenTerm


def build(settings: Mapping[str, Any], context: Context) -> tuple[tuple[AnyTerm, ...], Record]:
    """Terms and weights from `{name: weight}` or `{name: {weight: ..., of: ..., key: ..., options...}}`.

    `of` names the registered reward or metric, or a Python callable as "module:function", where the term is called otherwise;
    `key` chooses among several scores of a metric; `counting.Counting` has what else a term may be told.
    A name among the task's own rewards only gives that reward its weight. No settings at all: the task's own weights.

    Raises:
        UnknownName: no reward, metric or reward of the task is called so. BadSetting: a bad weight or option.
    """
    own = context.task.spec.rewards if context.task is not None else Record()
    if not settings:
        return (), own
    terms: list[AnyTerm] = []
    weights: dict[str, float] = {}
    cache = Cache()
    for name, given in settings.items():
        options = dict(given) if isinstance(given, Mapping) else {"weight": given}
        weights[name] = _weight(options.pop("weight", 1.0), name)
        if name in own and not options:
            continue
        if name in own:
            raise BadSetting(f"rewards.{name}: {context.task.identity} has a reward of this name; give the term another, with 'of'")  # type: ignore[union-attr]
        if name.endswith(RAW):
            raise BadSetting(f"rewards.{name}: NAME{RAW} is where the score of a term NAME stands; give the term another name, with 'of'")
        terms.append(_term(name, options, own, context, cache))
    return tuple(terms), Record(weights)


def apply(terms: Sequence[AnyTerm], episodes: Sequence[Episode], rows: Mapping[str, Row], learner: Learner | None = None) -> list[Episode]:
    """The episodes with what all terms give: one call per term over all of them; what was there under its name is replaced.

    Args:
        learner: normalises, puts scores on tokens, and adds the rewards of potentials, which no one else has.

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
    own = [rows[done[i].row] for i in answered]
    for term in terms:
        if isinstance(term, TokenTerm):
            done = [_with_tokens(term, episode) for episode in done]
        elif not term.counting.potential:
            scored = _counted(term, [done[i] for i in answered], texts, own, learner)
            for i, episode in zip(answered, scored, strict=True):
                done[i] = episode
        elif learner is not None:
            shaped = _shaped(term, [done[i] for i in answered], texts, own, learner)
            for i, episode in zip(answered, shaped, strict=True):
                done[i] = episode
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


def _term(name: str, options: dict[str, Any], own: Record, context: Context, cache: Cache) -> AnyTerm:
    of, key = options.pop("of", name), options.pop("key", "")
    counts = counting(options, name)
    if ":" in of:
        of, options = "callable", {"function": of, **options}
    kind = "reward" if of in registry.names("reward") else "metric"
    if kind == "metric" and of not in registry.names("metric"):
        raise UnknownName("reward", of, {*registry.names("reward"), *registry.names("metric"), *own})
    watched = Watched.of(context)
    made = registry.find(kind, of)(watched, **options)
    if isinstance(made, TokenFunction):
        if key or counts != Counting():
            beside = "key, clip, normalization, place and potential"
            raise BadSetting(f"rewards.{name}: {of} gives one number for each token already; {beside} are for others")
        return TokenTerm(name, made.function)
    _check_key(name, of, key, made)
    together = scores_together(made)
    if together and (counts.place != "answer" or counts.potential):
        raise BadSetting(f"rewards.{name}: {of} scores no part of an answer: its score of a text depends on the other texts it is called with")
    if of != "callable" and not together:  # a function of one's own may be anything, of the time of day too
        made = Cached(made, (kind, of, made.name, made.version, frozen(options)), cache, watched)
    return Term(name, made, key, counts)


def _check_key(name: str, of: str, key: str, metric: Metric) -> None:
    """BadSetting where a metric that names its keys has no score of an episode under `key`, or no one score where none is asked for."""
    keys: tuple[str, ...] = tuple(getattr(metric, "keys", ()))
    own = [one for one in keys if one not in getattr(metric, "corpus_only", ())]
    if not keys or (key in own if key else metric.name in own or len(own) == 1):
        return
    if not own:
        raise BadSetting(f"rewards.{name}: {of} has no score of an episode, it measures a corpus as a whole")
    asked = f"key = {key!r} is no score of an episode by {of}" if key else f"{of} has several scores of an episode, and key says which"
    raise BadSetting(f"rewards.{name}: {asked}; {', '.join(own)} are right")


def _weight(given: Any, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise BadSetting(f"rewards.{name}: the weight is {given!r}; a finite number is right")
    return float(given)


def _counted(
    term: Term, episodes: Sequence[Episode], texts: Sequence[tuple[str, str]], rows: Sequence[Row], learner: Learner | None
) -> list[Episode]:
    """The episodes, each with an answer, with what the score of a term counts."""
    scores = _scores(term, texts, rows)
    counts = learner.fit(term, scores) if learner else term.counting.clipped
    ends: Sequence[Sequence[int]] = [()] * len(episodes)
    if learner and term.counting.place != "answer":
        ends = [learner.ends(episode.answers()[-1]) if score is not None else () for episode, score in zip(episodes, scores, strict=True)]
    cuts = [pieces(text, own, term.counting.place) if own else [] for (_, text), own in zip(texts, ends, strict=True)]
    asked = [(i, cut) for i, own in enumerate(cuts) for cut in own]
    parts = iter(_scores(term, [(texts[i][0], texts[i][1][:cut]) for i, cut in asked], [rows[i] for i, _ in asked]))
    done = []
    for episode, score, own_ends, own_cuts in zip(episodes, scores, ends, cuts, strict=True):
        worth = counts(score)
        found = [counts(next(parts)) for _ in own_cuts]
        per_token = placed(worth, own_cuts, found, own_ends) if worth is not None and own_ends else None
        done.append(_with_score(term, score, worth, per_token, episode))
    return done


def _shaped(term: Term, episodes: Sequence[Episode], texts: Sequence[tuple[str, str]], rows: Sequence[Row], learner: Learner) -> list[Episode]:
    """The episodes, each with an answer, with the rewards of a potential."""
    steps = [shaping.steps_of(episode, term.counting.place, learner) for episode in episodes]
    asked = [(i, sample) for i, own in enumerate(steps) for sample in shaping.samples(own)]
    found = _scores(term, [sample for _, sample in asked], [rows[i] for i, _ in asked])
    known: list[dict[tuple[str, str], float | None]] = [{} for _ in episodes]
    for (i, sample), score in zip(asked, found, strict=True):
        known[i][sample] = term.counting.clipped(score)
    done = []
    for episode, own, phi, score in zip(episodes, steps, known, _scores(term, texts, rows), strict=True):
        bare = _with_score(term, score, None, None, episode)
        done.append(shaping.shaped(term.name, bare, own, phi, learner))
    return done


def _scores(term: Term, texts: Sequence[tuple[str, str]], rows: Sequence[Row]) -> list[float | None]:
    return term.score([text for _, text in texts], [references_of(row) for row in rows], [prompt for prompt, _ in texts], rows)


def _with_score(term: Term, score: float | None, worth: float | None, per_token: tuple[float, ...] | None, episode: Episode) -> Episode:
    """The episode without what stood under the term's names, and with what is given: what counts on the last answer, or on its tokens."""
    names = (term.name, term.name + RAW)
    turns = [_without(names, turn) if turn.seat == episode.learning else turn for turn in episode.turns]
    last = max(i for i, turn in enumerate(turns) if turn.seat == episode.learning)
    new: dict[str, float] = {}
    if worth is not None and per_token is None:
        new[term.name] = worth
    if score is not None and term.counting.changes:
        new[term.name + RAW] = score
    turn = turns[last]
    tokens = turn.token_rewards if per_token is None else turn.token_rewards.with_(**{term.name: per_token})
    turns[last] = replace(turn, rewards=Record({**turn.rewards, **new}), token_rewards=tokens)
    return replace(episode, turns=tuple(turns))


def _without(names: tuple[str, ...], turn: Turn) -> Turn:
    if not any(name in turn.rewards or name in turn.token_rewards for name in names):
        return turn
    rewards, tokens = ({name: value for name, value in one.items() if name not in names} for one in (turn.rewards, turn.token_rewards))
    return replace(turn, rewards=Record(rewards), token_rewards=Record(tokens))


def _with_tokens(term: TokenTerm, episode: Episode) -> Episode:
    def scored(turn: Turn) -> Turn:
        if turn.seat != episode.learning or turn.tokens is None:
            return turn
        return replace(turn, token_rewards=turn.token_rewards.with_(**{term.name: term.score(episode, turn)}))

    return replace(episode, turns=tuple(scored(turn) for turn in episode.turns))
