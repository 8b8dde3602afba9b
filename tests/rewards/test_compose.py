import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent import rewards
from loquent.core import registry
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.metric import Context, Measured
from loquent.core.task import Row, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadReward, BadSetting, UnknownName
from loquent.metrics.function import FunctionMetric
from loquent.rewards import Term, TokenTerm, apply, build, episode_texts


def tokens(n):
    return Tokens(np.arange(n), np.zeros(n), np.zeros(n))


def episode(row, prompt, answer, n=None, **rest):
    turns = (
        Turn("task", prompt, to="agent"),
        Turn("agent", answer, tokens=tokens(n) if n is not None else None),
        Turn("task", "", to="agent"),
    )
    return Episode("toy-v1", row, "train", 0, 0, turns, "end", **rest)


INTERVIEW = Episode(
    "interview-v1", "r", "train", 0, 0,
    (
        Turn("task", "ask", to="agent"), Turn("agent", "who ?"), Turn("task", "who ?", to="guest"),
        Turn("guest", "me"),
        Turn("task", "me", to="agent"), Turn("agent", "I see .", rewards=Record(right=1.0)),
        Turn("task", "over", to="agent"),
    ),
    "end",
)  # fmt: skip


def length(samples):
    return [float(len(text)) for text in samples.predictions]


def everything(samples):
    """A score that sees all it is given."""
    return [
        len(p) + 10 * len(q) + 100 * len(r) + 1000 * row["n"] if p else None
        for p, q, r, row in zip(
            samples.predictions, samples.prompts, samples.references, samples.rows, strict=True
        )
    ]


TERMS = (Term("length", FunctionMetric(length)), Term("everything", FunctionMetric(everything)))
ROWS = {f"r{i}": Row(f"r{i}", Record(n=i, references=("x",) * i)) for i in range(6)}
WEIGHTS = Record(length=0.5, everything=-2.0)


def test_texts_of_one_answer_and_of_many():
    assert episode_texts(episode("r", " the\nprompt ", " said ", instruction="do")) == (
        " the\nprompt ",
        " said ",
    )
    # what the guest was told and what followed is not in it
    assert episode_texts(INTERVIEW) == ("ask\nwho ?\nme", "I see .")
    assert episode_texts(replace(INTERVIEW, learning="guest")) == ("who ?", "me")
    assert episode_texts(replace(INTERVIEW, turns=INTERVIEW.turns[:1])) == ("ask", "")


def test_scores_stand_raw_on_the_last_answer_of_the_learning_seat():
    (scored,) = apply(TERMS[:1], [INTERVIEW], {"r": Row("r")})
    assert scored.turns[5].rewards == Record(right=1.0, length=7.0)
    assert [turn.rewards for turn in scored.turns[:5]] == [turn.rewards for turn in INTERVIEW.turns[:5]]
    (guest,) = apply(TERMS[:1], [replace(INTERVIEW, learning="guest")], {"r": Row("r")})
    assert guest.turns[3].rewards == Record(length=2.0)
    assert scored.total(Record(length=0.5, right=2.0)) == 0.5 * 7 + 2


def test_what_does_not_apply_is_absent_and_what_was_there_is_replaced():
    once = apply(TERMS, [episode("r1", "p", ""), episode("r2", "p", "abc")], ROWS)
    assert once[0].rewards == Record(length=0.0)
    assert once[1].rewards == Record(length=3.0, everything=3 + 10 + 200 + 2000)
    assert apply(TERMS, once, ROWS) == once
    silenced = apply([Term("length", FunctionMetric(lambda samples: [None] * len(samples)))], once, ROWS)
    assert "length" not in silenced[1].rewards


def test_an_episode_without_an_answer_stays_as_it_is():
    silent = replace(INTERVIEW, turns=INTERVIEW.turns[:1])
    assert apply(TERMS, [silent, episode("r1", "p", "ab")], ROWS)[0] == silent
    assert apply(TERMS, [silent], {}) == [silent]
    assert apply(TERMS, [], {}) == []


games = st.lists(
    st.builds(episode, st.sampled_from(sorted(ROWS)), st.text(max_size=5), st.text(max_size=5)), max_size=8
)


@given(games, st.randoms(), st.integers(1, 4))
def test_neither_order_nor_chunks_change_a_score(played, rng, size):
    scored = apply(TERMS, played, ROWS)
    order = list(range(len(played)))
    rng.shuffle(order)
    assert apply(TERMS, [played[i] for i in order], ROWS) == [scored[i] for i in order]
    assert [
        one for i in range(0, len(played), size) for one in apply(TERMS, played[i : i + size], ROWS)
    ] == scored


@given(games)
def test_same_episode_same_total(played):
    scored = apply(TERMS, played, ROWS)
    alone = [apply(TERMS, [one], ROWS)[0] for one in played]
    assert [one.total(WEIGHTS) for one in alone] == [one.total(WEIGHTS) for one in scored]


def test_a_term_that_looks_at_its_neighbours_breaks_these_laws():
    # the twin: a rank within the batch; the laws above would see it
    rank = (
        Term(
            "rank",
            FunctionMetric(
                lambda samples: [
                    float(sorted(samples.predictions).index(text)) for text in samples.predictions
                ]
            ),
        ),
    )
    played = [episode("r1", "", "a"), episode("r1", "", "b")]
    assert apply(rank, [played[1]], ROWS)[0] != apply(rank, played, ROWS)[1]


def test_one_call_per_term_over_all_episodes():
    calls = []
    term = Term("count", FunctionMetric(lambda samples: calls.append(len(samples)) or [0.0] * len(samples)))
    apply([term], [episode("r1", "", "a")] * 50, ROWS)
    assert calls == [50]


@pytest.mark.parametrize("name", ["predictions", "references", "prompts", "rows", "episodes"])
def test_a_callable_cannot_change_what_it_is_given(name):
    def spoil(samples):
        getattr(samples, name).clear()

    played = [episode("r1", "p", "ab"), episode("r2", "p", "c")]
    before = [repr(one) for one in played]
    with pytest.raises(BadReward, match="'tuple' object has no attribute 'clear'"):
        apply([Term("spoil", FunctionMetric(spoil)), *TERMS], played, ROWS)
    assert [repr(one) for one in played] == before


def test_a_row_that_is_not_there():
    with pytest.raises(BadReward, match="row 'r9' cannot be scored: that row is not among the 6 rows given"):
        apply(TERMS, [episode("r9", "", "a")], ROWS)


def test_token_terms_speak_per_token():
    def position(one, turn):
        return [0.5 * i for i in range(len(turn.tokens.ids))]

    played = episode("r1", "p", "ab", n=3)
    (scored,) = apply([TokenTerm("position", position), TERMS[0]], [played], ROWS)
    assert scored.turns[1].token_rewards == Record(position=(0.0, 0.5, 1.0))
    assert scored.total(Record(position=2.0, length=1.0)) == 2 * 1.5 + 2
    # no tokens, no score
    assert apply([TokenTerm("position", position)], [episode("r1", "p", "ab")], ROWS)[0].rewards == Record()


@pytest.mark.parametrize(
    "given", [[0.0], [0.0] * 4, [0.0, float("nan"), 0.0], [0.0, None, 0.0], "abc", 1.0, None, [1, 2, "3"]]
)
def test_bad_token_scores_are_refused(given):
    with pytest.raises(
        BadReward, match=r"reward 'position', on an answer of 3 tokens in the episode on row 'r1'"
    ):
        apply([TokenTerm("position", lambda one, turn: given)], [episode("r1", "p", "ab", n=3)], ROWS)


# ---- building


def context(**own):
    toy = type("Toy", (), {"spec": TaskSpec(id="toy", rewards=Record(own)), "identity": "toy-v1"})()
    return Context(task=toy)


def test_build_names_weights_and_options():
    terms, weights = build(
        Record(lexicon=2, short=Record(of="length", weight=0.1, high=3), solved=0.5),
        context(solved=1.0, other=1.0),
    )
    assert [term.name for term in terms] == ["lexicon", "short"]
    # the recipe's weights replace the task's own
    assert weights == Record(lexicon=2.0, short=0.1, solved=0.5)
    (scored,) = apply(terms, [episode("r1", "", "one good word more")], ROWS)
    assert scored.rewards == Record(lexicon=1.0, short=-1.0)
    assert scored.total(weights) == 2.0 - 0.1


def test_no_settings_leave_the_tasks_own_weights():
    assert build({}, context(solved=3.0)) == ((), Record(solved=3.0))
    assert build({}, Context()) == ((), Record())


def test_any_metric_is_a_reward(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Two:
        name: str = "two"
        version: int = 1
        higher_is_better: bool | None = True

        def __call__(self, samples):
            return Measured({"a": [1.0] * len(samples.predictions), "b": [2.0] * len(samples.predictions)})

    monkeypatch.setitem(registry._names["metric"], "two", "made:up")
    monkeypatch.setattr(registry, "import_name", lambda dotted: lambda context: Two())
    terms, weights = build({"two": {"key": "b", "weight": 3}}, Context())
    assert apply(terms, [episode("r1", "", "x")], ROWS)[0].total(weights) == 6.0
    for key in ("", "c"):
        terms, _ = build({"two": {"key": key}}, Context())
        with pytest.raises(BadReward, match=f"no score per episode under key = '{key}'; known keys: a, b"):
            apply(terms, [episode("r1", "", "x")], ROWS)


def test_a_metric_of_the_corpus_that_does_not_say_its_keys_is_no_reward():
    class Silent:
        name, version, higher_is_better = "silent", 1, None

        def __call__(self, samples):
            return Measured(corpus={"silent": 1.0})

    with pytest.raises(BadReward, match=r"reward 'silent': .* known keys: none: it scores a whole corpus"):
        apply([Term("silent", Silent())], [episode("r1", "", "x")], ROWS)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"sentimant": 1.0}, UnknownName, "no reward is named 'sentimant'. Did you mean 'sentiment'"),
        ({"sloved": 1.0}, UnknownName, "Did you mean 'solved'"),
        ({"mine": {"of": "lexicn"}}, UnknownName, "Did you mean 'lexicon'"),
        ({"lexicon": "much"}, BadSetting, r"rewards.lexicon: the weight must be a finite number, got 'much'"),
        ({"lexicon": float("nan")}, BadSetting, "the weight must be a finite number, got nan"),
        ({"lexicon": True}, BadSetting, "the weight must be a finite number, got True"),
        ({"solved": {"of": "lexicon"}}, BadSetting, "toy-v1 has a reward of this name"),
        ({"length": {"hihg": 3}}, BadSetting, "length has no setting 'hihg'. Nearest: high"),
        ({"callable": 1.0}, BadSetting, "callable needs function: the Python callable"),
    ],
)
def test_bad_settings_are_refused(settings, error, said):
    with pytest.raises(error, match=said):
        build(settings, context(solved=1.0))


def test_the_face_of_the_room():
    assert set(rewards.__all__) == {
        "Counting",
        "Learner",
        "Term",
        "TokenTerm",
        "apply",
        "build",
        "episode_texts",
        "references_of",
        "samples_of",
    }
    assert rewards.references_of(Row("r", Record(references="one"))) == ("one",)
    assert rewards.references_of(Row("r")) == ()
