"""Builds reward terms from settings and adds their raw scores to episodes.

The scored texts. A term scores an episode as a pair (prompt, prediction). The prediction is the last answer
of the learning seat. The prompt is every earlier turn that this seat saw or wrote, in order, one turn per
line. If an episode has a single answer, it is the task's prompt, word for word. The prompt leaves out the
task's instruction and the turns between other seats.

The place of a score. A term's score is stored under its name on the last answer of the learning seat. A token
term's scores are stored on every answer of that seat that has tokens. A score of None adds no key. An episode
without an answer does not change. An episode that a term could not judge has the term's name in
`Episode.unjudged` and no key of it; learners leave the episode out. If the reward may differ from the score
(`counting.Counting`), NAME has the reward and NAME/raw the score. For a learner, rewards may be placed on
tokens (`placement`), normalised (`learner`) or come from a potential (`shaping`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from loquent.core import registry
from loquent.core.episode import Episode, Turn
from loquent.core.metric import EVERYTHING, Context, Metric, Range, Samples, traits
from loquent.core.task import Row, TaskSpec
from loquent.core.values import EMPTY, Record, frozen
from loquent.data.outcomes import PRESENT, REWARD
from loquent.errors import BadReward, BadSetting, UnknownName
from loquent.metrics.making import is_factory, make
from loquent.rewards import shaping
from loquent.rewards.cache import Cache, Cached, Watched
from loquent.rewards.counting import RAW, Counting, counting
from loquent.rewards.learner import Learner
from loquent.rewards.placement import pieces, placed
from loquent.rewards.terms import Term, TokenFunction, TokenTerm

AnyTerm = Term | TokenTerm
TURNS = "scores each answer of an episode"
READS = {"episode": "it reads whole episodes", "turn": f"it {TURNS}"}
OTHER_TEXTS = "its score of a text depends on the other texts in the call"


def build(settings: Mapping[str, Any], context: Context) -> tuple[tuple[AnyTerm, ...], Record]:
    """Terms and weights from `{name: weight}` or `{name: {weight: ..., of: ..., key: ..., options...}}`.

    `of` names the registered reward or metric, or as "module:Name" your function on a batch or your metric's
    class; without it, the term's name does. `key` chooses one of several scores of a metric.
    `counting.Counting` lists the other settings of a term. The name of a reward of the task takes a weight
    only. Without settings, the task's own weights are used.

    Raises:
        UnknownName: no reward, metric or reward of the task has this name.
        BadSetting: a weight or an option is invalid.
    """
    own = context.task.spec.rewards if context.task is not None else Record()
    if not settings:
        return (), own
    terms: list[AnyTerm] = []
    weights: dict[str, float] = {}
    cache = Cache()
    for name, value in settings.items():
        options = dict(value) if isinstance(value, Mapping) else {"weight": value}
        weights[name] = _weight(options.pop("weight", 1.0), name)
        if name in own and not options:
            continue
        if name in own:
            identity = context.task.identity if context.task else "the task"
            raise BadSetting(
                f"rewards.{name}: {identity} has a reward of this name, which takes a weight only; "
                "give the term another name, and name its metric with 'of'"
            )
        if name.endswith(RAW):
            raise BadSetting(
                f"rewards.{name}: the name NAME{RAW} is reserved for the raw score of a term NAME; "
                "give the term another name, and name its metric with 'of'"
            )
        terms.append(_term(name, options, own, context, cache))
        if isinstance(terms[-1], Term) and terms[-1].fallible and not weights[name]:
            raise BadSetting(
                f"rewards.{name}: its weight is 0, and an answer that it cannot judge would still be left "
                "out of learning; measure it under metrics: instead"
            )
    return tuple(terms), Record(weights)


def weights(settings: Mapping[str, Any], own: Record) -> Record:
    """The weights that `build` returns, without making its terms.

    Args:
        own: the weights of the task's own rewards, which count without settings.
    """
    if not settings:
        return own
    chosen = {
        name: value.get("weight", 1.0) if isinstance(value, Mapping) else value
        for name, value in settings.items()
    }
    return Record({name: _weight(value, name) for name, value in chosen.items()})


def ranges(terms: Sequence[AnyTerm], weights: Record, spec: TaskSpec) -> dict[str, Range]:
    """The least and the greatest sum of each weighted reward of an episode, and of `return`.

    Where a term does not apply, its reward counts as 0. A range is infinite where it is open or unknown.
    """
    own = {name: spec.ranges.get(REWARD + name, EVERYTHING) for name in weights}
    own |= {term.name: term.range for term in terms if isinstance(term, Term)}
    counted = {name: (min(low, 0.0), max(high, 0.0)) for name, (low, high) in own.items()}
    parts = [sorted(weight * end for end in counted[name]) for name, weight in weights.items() if weight]
    sums = (math.fsum(low for low, _ in parts), math.fsum(high for _, high in parts))
    whole = spec.return_range if not terms and weights == spec.rewards else None
    return {
        "return": whole or sums,
        **{REWARD + name: ends for name, ends in counted.items()},
        **{PRESENT + name: ends for name, ends in own.items()},
    }


def apply(
    terms: Sequence[AnyTerm],
    episodes: Sequence[Episode],
    rows: Mapping[str, Row],
    learner: Learner | None = None,
) -> list[Episode]:
    """The episodes with the rewards of all terms.

    Each term is called once, with all episodes. It replaces earlier scores of its name.

    Args:
        learner: normalises rewards, places them on tokens and adds the rewards of potentials; without it,
            none of these happens.

    Raises:
        BadReward: a term raised or returned an invalid score; or `rows` lacks the row of an episode.
    """
    done = list(episodes)
    if not terms:
        return done
    answered = [i for i, episode in enumerate(done) if episode.answers()]
    for i in answered:
        if done[i].row not in rows:
            problem = f"the episode on row {done[i].row!r} cannot be scored"
            raise BadReward(
                f"{problem}: that row is not among the {len(rows)} rows given; pass the rows of all episodes"
            )
    own = [rows[done[i].row] for i in answered]
    for term in terms:
        if isinstance(term, TokenTerm):
            done = [_with_tokens(term, episode) for episode in done]
        elif not term.counting.potential:
            count = _by_turn if traits(term.metric).reads == "turn" else _counted
            scored = count(term, [done[i] for i in answered], own, learner)
            for i, episode in zip(answered, scored, strict=True):
                done[i] = episode
        elif learner is not None:
            shaped = _shaped(term, [done[i] for i in answered], own, learner)
            for i, episode in zip(answered, shaped, strict=True):
                done[i] = episode
    return done


def episode_texts(episode: Episode) -> tuple[str, str]:
    """(prompt, prediction) of an episode, as defined above; the prediction is "" where there is no answer."""
    turns = episode.turns
    last = max((i for i, turn in enumerate(turns) if turn.seat == episode.learning), default=len(turns))
    return _prompt(replace(episode, turns=turns[:last])), turns[last].text if last < len(turns) else ""


def _prompt(episode: Episode) -> str:
    """All turns that the learning seat saw or wrote, one per line."""
    return "\n".join(turn.text for turn in episode.seen_by(episode.learning))


def samples_of(episodes: Sequence[Episode], rows: Sequence[Row]) -> Samples:
    """What a metric scores of episodes: their last answers, with prompts, references and rows."""
    return _samples([episode_texts(episode) for episode in episodes], rows, episodes)


def turns_of(episodes: Sequence[Episode], rows: Sequence[Row]) -> Samples:
    """What a metric that reads turns scores: all answers of the episodes, one after another."""
    places = [
        (i, at)
        for i, episode in enumerate(episodes)
        for at, turn in enumerate(episode.turns)
        if turn.seat == episode.learning
    ]
    texts = [
        (_prompt(replace(episodes[i], turns=episodes[i].turns[:at])), episodes[i].turns[at].text)
        for i, at in places
    ]
    samples = _samples(texts, [rows[i] for i, _ in places], [episodes[i] for i, _ in places])
    return replace(samples, turns=[episodes[i].turns[at] for i, at in places])


def references_of(row: Row) -> tuple[str, ...]:
    """The references of a row: its field `references` (a text or several), or ()."""
    references = row.fields.get("references") or ()
    return (references,) if isinstance(references, str) else tuple(references)


def _term(name: str, options: dict[str, Any], own: Record, context: Context, cache: Cache) -> AnyTerm:
    of, key = options.pop("of", name), options.pop("key", "")
    counts = counting(options, name)
    own_code = ":" in of
    if own_code and not is_factory(registry.import_name(of)):
        of, options = "callable", {"function": of, **options}
    kind = "reward" if of in registry.names("reward") else "metric"
    if kind == "metric" and not own_code and of not in registry.names("metric"):
        known = {*registry.names("reward"), *registry.names("metric"), *own}
        raise UnknownName("reward", of, known, advice=registry.advice("reward", len(known)))
    watched = Watched.of(context)
    metric: Any = make(of, watched, options, kind)
    if isinstance(metric, TokenFunction):
        if key or counts != Counting():
            settings = "key, clip, normalization, place and potential"
            raise BadSetting(
                f"rewards.{name}: {of} scores each token, so it takes none of {settings}; leave them out"
            )
        return TokenTerm(name, metric.function)
    _check_key(name, of, key, metric)
    own_traits = traits(metric)
    reason = READS.get(own_traits.reads) or (OTHER_TEXTS if own_traits.together else "")
    if reason and (counts.place != "answer" or counts.potential):
        why = f"{of} cannot score parts of an answer: {reason}"
        raise BadSetting(f"rewards.{name}: {why}; leave out place and potential")
    if own_traits.reads == "turn" and counts.normalization != "none":
        raise BadSetting(f"rewards.{name}: {of} {TURNS}; leave out normalization, which is of whole episodes")
    # own code may depend on anything, even the time; a judge has its own cache, and its failures are not kept
    if of != "callable" and not own_code and not reason and not own_traits.fallible:
        metric = Cached(metric, (kind, of, metric.name, metric.version, frozen(options)), cache, watched)
    return Term(name, metric, key, counts)


def _check_key(name: str, of: str, key: str, metric: Metric) -> None:
    """BadSetting unless `key`, or its absence, chooses one episode score of a metric with declared keys."""
    keys: tuple[str, ...] = traits(metric).keys
    choices = [choice for choice in keys if choice not in traits(metric).corpus_only]
    if not keys or (key in choices if key else metric.name in choices or len(choices) == 1):
        return
    if not choices:
        raise BadSetting(f"rewards.{name}: {of} scores a whole corpus, not an episode; choose another metric")
    problem = (
        f"key = {key!r} is not an episode score of {of}"
        if key
        else f"{of} has several episode scores; set key"
    )
    raise BadSetting(f"rewards.{name}: {problem}; allowed keys: {', '.join(choices)}")


def _weight(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadSetting(f"rewards.{name}: the weight must be a finite number, got {value!r}")
    return float(value)


def _counted(
    term: Term,
    episodes: Sequence[Episode],
    rows: Sequence[Row],
    learner: Learner | None,
) -> list[Episode]:
    """The episodes with the reward of a term. Each episode has an answer."""
    texts = [episode_texts(episode) for episode in episodes]
    columns, unjudged = term.scores(_samples(texts, rows, episodes))
    scores = columns.pop("")
    reward_of = learner.fit(term, scores) if learner else term.counting.clipped
    ends: Sequence[Sequence[int]] = [()] * len(episodes)
    if learner and term.counting.place != "answer":
        ends = [
            learner.ends(episode.answers()[-1]) if score is not None else ()
            for episode, score in zip(episodes, scores, strict=True)
        ]
    cuts = [
        pieces(text, own, term.counting.place) if own else []
        for (_, text), own in zip(texts, ends, strict=True)
    ]
    prefixes = [(i, cut) for i, own in enumerate(cuts) for cut in own]
    beginnings = [(texts[i][0], texts[i][1][:cut]) for i, cut in prefixes]
    scored, failed = term.scores(_samples(beginnings, [rows[i] for i, _ in prefixes]))
    parts, unjudged = iter(scored[""]), unjudged | {prefixes[i][0] for i in failed}
    done = []
    for i, (episode, score, own_ends, own_cuts) in enumerate(zip(episodes, scores, ends, cuts, strict=True)):
        reward = reward_of(score)
        part_rewards = [reward_of(next(parts)) for _ in own_cuts]
        per_token = (
            placed(reward, own_cuts, part_rewards, own_ends) if reward is not None and own_ends else None
        )
        own_parts = {suffix: None if i in unjudged else column[i] for suffix, column in columns.items()}
        if i in unjudged:
            score = reward = per_token = None
        episode = _marked(term.name, episode, i in unjudged)
        done.append(_with_score(term, score, reward, per_token, episode, own_parts))
    return done


def _by_turn(
    term: Term, episodes: Sequence[Episode], rows: Sequence[Row], learner: Learner | None
) -> list[Episode]:
    """The episodes with the reward of a term that scores each answer, on that answer."""
    columns, failed = term.scores(turns_of(episodes, rows))
    owners = [number for number, episode in enumerate(episodes) for _ in episode.answers()]
    unjudged = {owners[i] for i in failed}
    names = tuple(term.name + suffix for suffix in (*columns, RAW))
    place = count()

    def scored(turn: Turn) -> Turn:
        i = next(place)
        values = {suffix: None if owners[i] in unjudged else column[i] for suffix, column in columns.items()}
        if term.counting.changes:
            values |= {"": term.counting.clipped(values[""]), RAW: values[""]}
        new = {term.name + suffix: value for suffix, value in values.items() if value is not None}
        bare = _without(names, turn)
        return replace(bare, rewards=Record({**bare.rewards, **new}))

    return [
        replace(
            _marked(term.name, episode, number in unjudged),
            turns=tuple(scored(turn) if turn.seat == episode.learning else turn for turn in episode.turns),
        )
        for number, episode in enumerate(episodes)
    ]


def _shaped(
    term: Term,
    episodes: Sequence[Episode],
    rows: Sequence[Row],
    learner: Learner,
) -> list[Episode]:
    """The episodes with the rewards of a potential. Each episode has an answer."""
    steps = [shaping.steps_of(episode, term.counting.place, learner) for episode in episodes]
    samples = [(i, sample) for i, own in enumerate(steps) for sample in shaping.samples(own)]
    columns, failed = term.scores(_samples([sample for _, sample in samples], [rows[i] for i, _ in samples]))
    potentials: list[dict[tuple[str, str], float | None]] = [{} for _ in episodes]
    for (i, sample), score in zip(samples, columns[""], strict=True):
        potentials[i][sample] = term.counting.clipped(score)
    done = []
    whole, unjudged = term.scores(samples_of(episodes, rows))
    unjudged |= {samples[i][0] for i in failed}
    for i, (episode, own, phi, score) in enumerate(zip(episodes, steps, potentials, whole[""], strict=True)):
        episode = _marked(term.name, episode, i in unjudged)
        bare = _with_score(term, None if i in unjudged else score, None, None, episode)
        done.append(bare if i in unjudged else shaping.shaped(term.name, bare, own, phi, learner))
    return done


def _marked(name: str, episode: Episode, unjudged: bool) -> Episode:
    """The episode with the term among its unjudged rewards, or without it."""
    names = tuple(other for other in episode.unjudged if other != name) + (name,) * unjudged
    return episode if names == episode.unjudged else replace(episode, unjudged=names)


def _samples(
    texts: Sequence[tuple[str, str]], rows: Sequence[Row], episodes: Sequence[Episode] = ()
) -> Samples:
    """Samples of pairs (prompt, prediction)."""
    references = [references_of(row) for row in rows]
    return Samples([text for _, text in texts], references, [prompt for prompt, _ in texts], rows, episodes)


def _with_score(
    term: Term,
    score: float | None,
    reward: float | None,
    per_token: tuple[float, ...] | None,
    episode: Episode,
    parts: Mapping[str, float | None] = EMPTY,
) -> Episode:
    """Replace the values under the term's names.

    The reward goes on the last answer or on its tokens, the raw score on that answer.
    """
    names = (term.name, term.name + RAW, *(term.name + suffix for suffix in parts))
    turns = [_without(names, turn) if turn.seat == episode.learning else turn for turn in episode.turns]
    last = max(i for i, turn in enumerate(turns) if turn.seat == episode.learning)
    new = {term.name + suffix: value for suffix, value in parts.items() if value is not None}
    if reward is not None and per_token is None:
        new[term.name] = reward
    if score is not None and term.counting.changes:
        new[term.name + RAW] = score
    turn = turns[last]
    tokens = turn.token_rewards if per_token is None else turn.token_rewards.with_(**{term.name: per_token})
    turns[last] = replace(turn, rewards=Record({**turn.rewards, **new}), token_rewards=tokens)
    return replace(episode, turns=tuple(turns))


def _without(names: tuple[str, ...], turn: Turn) -> Turn:
    if not any(name in turn.rewards or name in turn.token_rewards for name in names):
        return turn
    rewards, tokens = (
        Record({name: value for name, value in record.items() if name not in names})
        for record in (turn.rewards, turn.token_rewards)
    )
    return replace(turn, rewards=rewards, token_rewards=tokens)


def _with_tokens(term: TokenTerm, episode: Episode) -> Episode:
    def scored(turn: Turn) -> Turn:
        if turn.seat != episode.learning or turn.tokens is None:
            return turn
        return replace(turn, token_rewards=turn.token_rewards.with_(**{term.name: term.score(episode, turn)}))

    return replace(episode, turns=tuple(scored(turn) for turn in episode.turns))
