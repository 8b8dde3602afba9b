"""Builds reward terms from settings and adds their raw scores to episodes.

The scored texts. A term scores an episode as a pair (prompt, prediction). The prediction is the last answer
of the learning seat. The prompt is every earlier turn that this seat saw or wrote, in order, one turn per
line. If an episode has a single answer, it is the task's prompt, word for word. The prompt leaves out the
task's instruction and the turns between other seats.

The place of a score. A term's score is stored under its name on the last answer of the learning seat. A token
term's scores are stored on every answer of that seat that has tokens. A score of None adds no key. An episode
without an answer does not change. An episode that a term could not judge has the term's name in
`Episode.unjudged` and no key of it; learners leave the episode out. If the reward may differ from the score
(`counting.Counting`), NAME has the reward and NAME/raw the score. NAME/PART has a part of the score. For a
learner, rewards may be placed on tokens (`placement`), normalised (`learner`) or come from a potential
(`shaping`).
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
from loquent.core.values import Record, freeze
from loquent.data.outcomes import PRESENT, REWARD
from loquent.errors import BadReward, BadSetting, UnknownName
from loquent.metrics.making import is_factory, make
from loquent.rewards import shaping
from loquent.rewards.cache import Cache, Cached, Watched
from loquent.rewards.counting import RAW, Counting, counting
from loquent.rewards.learner import Learner
from loquent.rewards.placement import pieces, place_rewards
from loquent.rewards.terms import Scores, Term, TokenFunction, TokenTerm

AnyTerm = Term | TokenTerm
Value = float | tuple[float, ...] | None  # of an answer, or of each of its tokens
Values = dict[int, dict[str, Value]]  # by the number of the turn, and by the suffix of the term's name
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
        clash = name if "/" in name else next((each for each in own if each.startswith(f"{name}/")), "")
        if clash:
            raise BadSetting(
                f"rewards.{name}: the name NAME{RAW} is reserved for the raw score of a term NAME, and "
                f"NAME/PART for a part of it, as {clash!r} would be; give the term another name, without /, "
                "and name its metric with 'of'"
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

    Each term is called once, with all episodes. Its values replace all earlier ones under its name NAME and
    under NAME/..., on the answers of the learning seat.

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
        if learner is None and isinstance(term, Term) and term.counting.potential:
            continue
        values = _values(term, [done[i] for i in answered], own, learner)
        for i, new in zip(answered, values, strict=True):
            done[i] = _with_values(term.name, done[i], new)
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
    return _samples([episode_texts(episode) for episode in episodes], rows, _newest(episodes), episodes)


def turns_of(episodes: Sequence[Episode], rows: Sequence[Row]) -> Samples:
    """What a metric that reads turns scores: all answers of the episodes, one after another."""
    places = [(i, at) for i, episode in enumerate(episodes) for at in _answers(episode)]
    texts = [
        (_prompt(replace(episodes[i], turns=episodes[i].turns[:at])), episodes[i].turns[at].text)
        for i, at in places
    ]
    numbers = [number for episode in episodes for number in range(len(_answers(episode)))]
    owners = [episodes[i] for i, _ in places]
    samples = _samples(texts, [rows[i] for i, _ in places], numbers, owners)
    return replace(samples, turns=[episodes[i].turns[at] for i, at in places])


def references_of(row: Row, number: int | None = None) -> tuple[str, ...]:
    """The references of a row: its field `references` (a text or several), or ().

    Args:
        number: of an answer; a row with `turn_references` has references of its own for each.
    """
    of_turns = row.fields.get("turn_references")
    if number is not None and of_turns is not None:
        return tuple(of_turns[number]) if number < len(of_turns) else ()
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
        metric = Cached(metric, (kind, of, metric.name, metric.version, freeze(options)), cache, watched)
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


def _values(
    term: AnyTerm, episodes: Sequence[Episode], rows: Sequence[Row], learner: Learner | None
) -> Sequence[Values | None]:
    """The values of a term for episodes with an answer; None for one that could not be judged."""
    if isinstance(term, TokenTerm):
        return [_of_tokens(term, episode) for episode in episodes]
    if term.counting.potential and learner:
        return _of_potential(term, episodes, rows, learner)
    if traits(term.metric).reads == "turn":
        return _of_turns(term, episodes, rows)
    return _of_answers(term, episodes, rows, learner)


def _of_answers(
    term: Term, episodes: Sequence[Episode], rows: Sequence[Row], learner: Learner | None
) -> list[Values | None]:
    """The reward of each last answer, or its rewards per token."""
    texts, numbers = [episode_texts(episode) for episode in episodes], _newest(episodes)
    columns, unjudged = term.scores(_samples(texts, rows, numbers, episodes))
    scores = columns[""]
    reward_of = learner.fit(term, scores) if learner else term.counting.clip_score
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
    owners = [i for i, _ in prefixes]
    scored, failed = term.scores(
        _samples(beginnings, [rows[i] for i in owners], [numbers[i] for i in owners])
    )
    parts, unjudged = iter(scored[""]), unjudged | {owners[i] for i in failed}
    done: list[Values | None] = []
    for i, (score, own_ends, own_cuts) in enumerate(zip(scores, ends, cuts, strict=True)):
        reward = reward_of(score)
        part_rewards = [reward_of(next(parts)) for _ in own_cuts]
        value = (
            place_rewards(reward, own_cuts, part_rewards, own_ends)
            if reward is not None and own_ends
            else reward
        )
        last = _answers(episodes[i])[-1]
        done.append(None if i in unjudged else {last: _by_suffix(term, columns, i, value)})
    return done


def _of_turns(term: Term, episodes: Sequence[Episode], rows: Sequence[Row]) -> list[Values | None]:
    """The reward of each answer."""
    columns, failed = term.scores(turns_of(episodes, rows))
    rewards = [term.counting.clip_score(score) for score in columns[""]]
    place = count()
    owned = [{at: next(place) for at in _answers(episode)} for episode in episodes]
    return [
        None
        if failed.intersection(own.values())
        else {at: _by_suffix(term, columns, i, rewards[i]) for at, i in own.items()}
        for own in owned
    ]


def _of_potential(
    term: Term, episodes: Sequence[Episode], rows: Sequence[Row], learner: Learner
) -> list[Values | None]:
    """The rewards of a potential, and the raw score of each last answer."""
    steps = [shaping.steps_of(episode, term.counting.place, learner) for episode in episodes]
    samples = [(i, sample) for i, own in enumerate(steps) for sample in shaping.samples(own)]
    numbers = [
        {answer.prompt: _answers(episode).index(answer.number) for answer in own}
        for episode, own in zip(episodes, steps, strict=True)
    ]
    texts, owners = [sample for _, sample in samples], [rows[i] for i, _ in samples]
    scored, failed = term.scores(_samples(texts, owners, [numbers[i][prompt] for i, (prompt, _) in samples]))
    potentials: list[dict[tuple[str, str], float | None]] = [{} for _ in episodes]
    for (i, sample), score in zip(samples, scored[""], strict=True):
        potentials[i][sample] = term.counting.clip_score(score)
    columns, unjudged = term.scores(samples_of(episodes, rows))
    unjudged |= {samples[i][0] for i in failed}
    done: list[Values | None] = []
    for i, (episode, own, phi) in enumerate(zip(episodes, steps, potentials, strict=True)):
        values: Values = {_answers(episode)[-1]: _by_suffix(term, columns, i, None)}
        for at, reward in shaping.rewards(episode, own, phi, learner).items():
            values[at] = {**values.get(at, {}), "": reward}
        done.append(None if i in unjudged else values)
    return done


def _of_tokens(term: TokenTerm, episode: Episode) -> Values:
    """The scores per token of each answer that has tokens."""
    turns = episode.turns
    return {
        at: {"": term.score(episode, turns[at])} for at in _answers(episode) if turns[at].tokens is not None
    }


def _by_suffix(term: Term, columns: Mapping[str, Scores], i: int, reward: Value) -> dict[str, Value]:
    """The reward of a sample, the parts of its score, and its raw score if the reward may differ from it."""
    parts = {suffix: column[i] for suffix, column in columns.items() if suffix}
    return {**parts, "": reward, **({RAW: columns[""][i]} if term.counting.changes else {})}


def _with_values(name: str, episode: Episode, values: Values | None) -> Episode:
    """The episode with these values of a term, in place of all earlier ones under NAME and NAME/..."""
    turns = [_without(name, turn) if turn.seat == episode.learning else turn for turn in episode.turns]
    for at, own in (values or {}).items():
        new = {name + suffix: value for suffix, value in own.items() if value is not None}
        tokens = {key: value for key, value in new.items() if isinstance(value, tuple)}
        numbers = {key: value for key, value in new.items() if key not in tokens}
        turns[at] = replace(
            turns[at],
            rewards=Record({**turns[at].rewards, **numbers}),
            token_rewards=Record({**turns[at].token_rewards, **tokens}),
        )
    unjudged = tuple(other for other in episode.unjudged if other != name) + (name,) * (values is None)
    return replace(episode, turns=tuple(turns), unjudged=unjudged)


def _without(name: str, turn: Turn) -> Turn:
    old = [key for key in (*turn.rewards, *turn.token_rewards) if f"{key}/".startswith(f"{name}/")]
    if not old:
        return turn
    rewards, tokens = (
        Record({key: value for key, value in record.items() if key not in old})
        for record in (turn.rewards, turn.token_rewards)
    )
    return replace(turn, rewards=rewards, token_rewards=tokens)


def _answers(episode: Episode) -> list[int]:
    """The numbers of the answers among the turns."""
    return [at for at, turn in enumerate(episode.turns) if turn.seat == episode.learning]


def _newest(episodes: Sequence[Episode]) -> list[int]:
    """The number of the last answer of each episode; 0 without one."""
    return [max(0, len(_answers(episode)) - 1) for episode in episodes]


def _samples(
    texts: Sequence[tuple[str, str]],
    rows: Sequence[Row],
    numbers: Sequence[int],
    episodes: Sequence[Episode] = (),
) -> Samples:
    """Samples of pairs (prompt, prediction); `numbers` are those of the answers, for their references."""
    references = [references_of(row, number) for row, number in zip(rows, numbers, strict=True)]
    return Samples([text for _, text in texts], references, [prompt for prompt, _ in texts], rows, episodes)
