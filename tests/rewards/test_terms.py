import re
import sys

import numpy as np
import pytest

from loquent.core.metric import Context, Measured, Metric, Samples
from loquent.core.task import Row
from loquent.errors import BadModel, BadReward, BadSetting
from loquent.metrics.function import FunctionMetric
from loquent.rewards import Term, TokenTerm, build
from loquent.rewards.terms import dotted_callable

ROWS = [Row("first"), Row("second")]


def score(function, texts=("good", "bad")):
    return Term("mine", FunctionMetric(function)).score(Samples(list(texts), rows=ROWS[: len(texts)]))


class Tensor:
    """What a torch tensor of one dimension looks like."""

    ndim = 1

    def tolist(self):
        return [1.0, 2.0]


@pytest.mark.parametrize(
    ("given", "scores"),
    [
        ([1, 2.5], [1.0, 2.5]),
        ((None, True), [None, 1.0]),
        (np.array([1, 2]), [1.0, 2.0]),
        (np.array([0.5, 0.25], dtype=np.float32), [0.5, 0.25]),
        ([np.float32(0.5), np.array(2.0)], [0.5, 2.0]),
        (Tensor(), [1.0, 2.0]),
    ],
)
def test_numbers_of_many_kinds_are_taken(given, scores):
    found = score(lambda *_: given)
    assert found == scores
    assert all(value is None or type(value) is float for value in found)


@pytest.mark.parametrize(
    "bad",
    [float("nan"), float("inf"), -float("inf"), "1.0", [1.0], np.array([1.0, 2.0]), {}, np.nan, 10**400, 1j],
)
def test_a_score_that_is_no_finite_number_names_term_and_row(bad):
    with pytest.raises(
        BadReward,
        match=r"reward 'mine', in the episode on row 'second': the score is .*; it must be a finite number "
        r"\(None",
    ):
        score(lambda *_: [0.0, bad])


@pytest.mark.parametrize("given", [[], [1.0], [1.0] * 3, np.zeros(3)])
def test_the_wrong_length_is_refused(given):
    with pytest.raises(
        BadReward,
        match=rf"reward 'mine' returned {len(given)} scores for the 2 episodes starting at row 'first'; it "
        r"must return a list of 2 numbers",
    ):
        score(lambda *_: given)


NO_LISTS = [
    (1.0, "a float"),
    (None, "None"),
    ("ab", "a str"),
    (b"ab", "a bytes"),
    ({"a": 1, "b": 2}, "a dict"),
    (np.zeros((2, 1)), "an ndarray"),
    (np.float64(1), "a float64"),
    ((x for x in (1.0, 2.0)), "a generator"),
]


@pytest.mark.parametrize(("given", "kind"), NO_LISTS)
def test_what_is_no_list_is_refused(given, kind):
    with pytest.raises(
        BadReward,
        match=rf"reward 'mine' returned {kind} for the episodes starting at row 'first'; it must return a "
        r"list of 2",
    ):
        score(lambda *_: given)


def test_a_callable_that_raises_names_the_culprit():
    def picky(samples):
        return [1 / (text != "bad") for text in samples.predictions]

    with pytest.raises(
        BadReward, match=r"reward 'mine' raised ZeroDivisionError.*on row 'second', whose answer is 'bad'"
    ) as caught:
        score(picky)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def crowded(predictions, *_):
        if len(predictions) > 1:
            raise RuntimeError("out of memory")
        return [0.0]

    with pytest.raises(
        BadReward,
        match=r"out of memory.*a batch of 2 episodes, the first on row 'first', and on none of them alone",
    ):
        score(crowded)


def test_errors_of_ours_and_interrupts_pass():
    def raising(error):
        def f(*_):
            raise error

        return f

    with pytest.raises(BadModel):
        score(raising(BadModel("as it was")))
    with pytest.raises(KeyboardInterrupt):
        score(raising(KeyboardInterrupt()))


def test_a_metric_that_measures_nothing():
    class Bare(FunctionMetric):
        def __call__(self, *_):
            return [1.0, 2.0]

    with pytest.raises(
        BadReward, match=r"its metric returned a list; it must return a loquent.core.metric.Measured"
    ):
        Term("mine", Bare(len)).score(Samples(["a"], rows=ROWS[:1]))


def test_nothing_is_asked_about_nothing():
    assert Term("mine", FunctionMetric(lambda *_: 1 / 0)).score(Samples([])) == []


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of one's own on the path."""
    text = "def brief(samples):\n    return [-len(text) for text in samples.predictions]\n"
    text += "def each(episode, turn):\n    return [0.0] * len(turn.tokens.ids)\nnumber = 3\n"
    (tmp_path / "my_own_rewards.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return "my_own_rewards"


def test_any_function_by_its_dotted_path(module):
    (term,), weights = build(
        {"brief": {"of": "callable", "function": f"{module}:brief", "weight": 0.1}}, Context()
    )
    assert isinstance(term.metric, Metric)
    assert term.score(Samples(["abc", ""], [(), ()], ["", ""], ROWS)) == [-3.0, 0.0]
    assert weights["brief"] == 0.1
    (term,), _ = build({"each": {"of": "callable", "function": f"{module}:each", "per": "token"}}, Context())
    assert isinstance(term, TokenTerm)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("brief", "'brief' is not of the form 'module:name'"),
        ("my_own_rewards:brif", "the module my_own_rewards has no 'brif'"),
        ("my_own_rewadrs:brief", "there is no module 'my_own_rewadrs'"),
        ("my_own_rewards:number", "is 3, which cannot be called"),
    ],
)
def test_a_dotted_path_that_leads_nowhere(module, function, said):
    with pytest.raises(BadSetting, match=re.escape(said)):
        dotted_callable(Context(), function=function)
    with pytest.raises(BadSetting, match="per must be one of 'episode', 'token', got 'batch'"):
        dotted_callable(Context(), function="a:b", per="batch")


def test_without_a_key_a_term_takes_the_score_called_as_the_metric_is():
    class Two:
        name, version, higher_is_better, keys = "two", 1, True, ("two", "two/else")

        def __call__(self, samples):
            return Measured({"two/else": [0.0] * len(samples.rows), "two": [1.0] * len(samples.rows)})

    assert Term("t", Two()).score(Samples(["a"], rows=[Row("r")])) == [1.0]
    assert Term("t", Two(), "two/else").score(Samples(["a"], rows=[Row("r")])) == [0.0]


@pytest.mark.parametrize(
    ("fallible", "unjudged"), [(True, 3), (True, {7}), (True, {"a"}), (True, [[0]]), (False, frozenset({0}))]
)
def test_what_a_metric_says_of_unjudged_samples_is_checked(fallible, unjudged):
    class Unsure(FunctionMetric):
        def __call__(self, samples):
            return Measured({"function": [1.0] * len(samples)}, {}, unjudged)

    metric = Unsure(None)
    metric.fallible = fallible
    with pytest.raises(
        BadReward, match=r"reward 'x': its metric returned unjudged = .* declare fallible = True"
    ):
        Term("x", metric).score(Samples(["a", "b"], rows=[Row("r"), Row("s")]))
