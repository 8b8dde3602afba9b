"""Views: vectors by hand for tagging, labelling and answering, and the text of any other task."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from loquent.core.actions import Texts
from loquent.core.task import Observation, TaskSpec
from loquent.core.values import Record
from loquent.data.features import Hashed, WordVectors, make, view
from loquent.data.features.views import View
from loquent.errors import BadSetting, UnknownName
from loquent.tasks.multiple_choice.views import cosine

VIEWS = {"tagging": "TaggingView", "multilabel": "MultiLabelView", "multiple_choice": "AnsweringView"}


class Stub:
    """The parts of a task that a view reads: its id, actions, options and the name of its view."""

    def __init__(self, id, actions, **options):
        self.spec, self.actions = TaskSpec(id=id), Texts(actions)
        self.options = type("Options", (), options)()
        self.vector_view = f"loquent.tasks.{id}.views:{VIEWS[id]}" if id in VIEWS else ""


@pytest.fixture
def vectors(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2\nb 3 4\nc 0 -4\nd 3 0\n")
    return WordVectors(path=str(tmp_path / "v.txt"))


def tagging(tokens, position, previous, labels=()):
    return Observation("", Record(tokens=tokens, position=position, previous=previous, labels=labels))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lookahead": 0, "context": "previous"}, [[1, 2, 0, 0], [3, 4, 0, 1], [0, 0, 1, 0]]),
        (
            {"lookahead": 2, "context": "previous"},
            [[1, 2, 3, 4, 0, -4, 0, 0], [3, 4, 0, -4, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1, 0]],
        ),
        (
            {"lookahead": -1, "context": "previous"},
            [[1, 2, 1.5, 0, 0, 0], [3, 4, 0, -4, 0, 1], [0, 0, 0, 0, 1, 0]],
        ),
        (
            {"lookahead": 0, "context": "all"},
            [[1, 2, 0, 0, 0, 0], [3, 4, 0, 1, 0, 1], [0, 0, 1, 0, 2 / 3, 1 / 3]],
        ),
    ],
)
def test_tagging_by_hand(vectors, options, expected):
    space, see = view(Stub("tagging", ["X", "Y"], **options), vectors)
    tokens = ("a", "b", "c")
    asked = [tagging(tokens, 0, 2), tagging(tokens, 1, 1, ("Y",)), tagging(tokens, 3, 0, ("Y", "X", "X"))]
    seen = [see(one) for one in asked]
    assert np.array(seen).tolist() == pytest.approx(np.array(expected))
    assert all(array in space and array.dtype == np.float32 for array in seen)
    assert space.high.max() == 4


def test_an_answer_that_was_no_label_is_none(vectors):
    _, see = view(Stub("tagging", ["X", "Y"], lookahead=0, context="all"), vectors)
    assert see(tagging(("a", "b"), 1, 2, ("",))).tolist() == [3, 4, 0, 0, 0, 0]


def test_labelling_by_hand(vectors):
    space, see = view(Stub("multilabel", ["X", "Y", "terminate"]), vectors)
    told = [
        Record(text="a b", labels=(), finished=False),
        Record(text="a b", labels=("Y", "", "Y"), finished=False),
    ]
    told.append(Record(text="a b", labels=("Y", "X"), finished=True))
    seen = [see(Observation("", fields)) for fields in told]
    assert np.array(seen).tolist() == [[2, 3, 0, 0, 0], [2, 3, 0, 1, 0], [2, 3, 1, 1, 1]]
    assert all(array in space for array in seen)


def answering(place, facts=("a", "b")):
    return Observation(
        "",
        Record(
            question="b",
            facts=facts,
            choices=("c", "d", "zzz"),
            ids=("A", "B", "C"),
            place=place,
            passed=0,
            selected="",
        ),
    )


def test_answering_by_hand(vectors):
    # cos(b, c) = (3, 4).(0, -4) / (5 * 4) = -4/5;   facts "a. b" are the mean (2, 3): (2, 3).(0, -4) / (sqrt
    # 13 * 4) = -3 / sqrt 13 cos(b, d) = 9 / (5 * 3) = 3/5;                 (2, 3).(3, 0) / (sqrt 13 * 3) = 2
    # / sqrt 13
    space, see = view(Stub("multiple_choice", ["ANSWER", "CONTINUE"]), vectors)
    assert space.shape == (2,)
    assert (space.low.tolist(), space.high.tolist()) == ([-1, -1], [1, 1])
    assert see(answering(0)).tolist() == pytest.approx([-4 / 5, -3 / 13**0.5])
    assert see(answering(1)).tolist() == pytest.approx([3 / 5, 2 / 13**0.5])
    assert see(answering(2)).tolist() == [0, 0]  # a vector of zeros
    assert see(answering(0, facts=())).tolist() == pytest.approx([-4 / 5, 0])
    assert see(answering(0, facts=("  ",))).tolist() == pytest.approx([-4 / 5, 0])
    _, simple = view(Stub("multiple_choice", ["ANSWER", "CONTINUE"]), vectors, answering="simple")
    assert simple(answering(1)).tolist() == [3, 4, 2, 3, 3, 0]  # question, facts, choice
    space, progress = view(Stub("multiple_choice", ["ANSWER", "CONTINUE"]), vectors, progress=True)
    assert progress(answering(1)).tolist() == pytest.approx([3 / 5, 2 / 13**0.5, 2 / 3])
    assert progress(answering(1)) in space
    with pytest.raises(BadSetting, match="answering = 'clever'"):
        view(Stub("multiple_choice", ["ANSWER"]), vectors, answering="clever")


class Declaring(View):
    """A view of one number that declares one option."""

    options = ("progress",)

    def __init__(self, task, featurizer, *, progress):
        self.told = progress
        super().__init__(featurizer, [(1, 0, 1)])

    def __call__(self, observation):
        return self.blank.copy()

    def inputs(self, observation):
        return [], []


def undeclaring(task, featurizer):
    """A function in the place of a class: it gets no options."""
    return Declaring(task, featurizer, progress="none")


def test_a_view_gets_the_options_that_it_declares(vectors):
    task = Stub("wordle", ["x"])
    for name, told in (("Declaring", True), ("undeclaring", "none")):
        task.vector_view = f"{__name__}:{name}"
        assert view(task, vectors, answering="simple", progress=True)[1].told == told


def test_a_cosine_stays_in_its_range():
    one = np.array([0.1, 0.7, 0.3], np.float32)
    assert cosine(one, one) <= 1
    assert cosine(one, -one) >= -1
    assert cosine(one, one) == pytest.approx(1)


def test_any_other_task_is_seen_by_its_text(vectors):
    space, see = view(Stub("wordle", ["x"]), vectors)
    assert see(Observation("a b")).tolist() == [2, 3]
    assert see(Observation("a b")) in space


def test_what_a_view_gives_is_fresh(vectors):
    for task, told in (
        (Stub("wordle", ["x"]), Observation("a")),
        (Stub("tagging", ["X"], lookahead=0, context="previous"), tagging(("a",), 0, 1)),
    ):
        _, see = view(task, vectors)
        see(told)[:] = 9
        assert see(told)[0] == 1


@pytest.mark.parametrize("settings", [{}, {"progress": True}, {"answering": "simple"}])
def test_what_answering_shows_is_fresh_and_the_same_at_every_look(vectors, settings):
    _, see = view(Stub("multiple_choice", ["ANSWER", "CONTINUE"]), vectors, **settings)
    told = [
        answering(0),
        answering(1),
        answering(2),
        answering(1, facts=()),
        answering(1, facts=("a",)),
        answering(1, facts=("a b",)),
    ]
    first = [see(one).tolist() for one in told]
    assert len(set(map(tuple, first))) == 5  # the facts "a. b" and "a b" have the same words
    for one in told:
        see(one)[:] = 9
    assert [see(one).tolist() for one in reversed(told)] == first[::-1]


def test_featurizers_by_name():
    assert make() == make("hashed") == make({"kind": "hashed"}) == Hashed()
    assert make({"dimension": 64, "characters": [3]}) == Hashed(dimension=64, characters=(3,))
    mine = Hashed(lower=True)
    assert make(mine) is mine
    for settings, error, why in (
        ("hash", UnknownName, "hashed"),
        ({"kind": "hashed", "size": 3}, BadSetting, "Known: dimension"),
        ({"dimension": 1}, BadSetting, "dimension"),
        ({"kind": "vectors"}, BadSetting, "needs path"),
        ({"kind": "builtins:dict"}, BadSetting, "derives from loquent.data.features.Featurizer"),
        ({"kind": 3}, BadSetting, "an int"),
    ):
        with pytest.raises(error, match=why):
            make(settings)


@pytest.mark.parametrize("id", ["SequenceTagging", "MultiLabel", "MultipleChoice"])
@pytest.mark.parametrize("scale", [1.0, 0.0, 1e-60])
def test_vectors_that_are_all_zeros_leave_the_checker_nothing_to_say(tmp_path, id, scale, capsys):
    (tmp_path / "v.txt").write_text(f"the {bool(scale < 1):d} 0\n")
    env = gymnasium.make(
        f"loquent/{id}-v0",
        limit=10,
        view="vector",
        featurizer=WordVectors(path=str(tmp_path / "v.txt"), scale=scale),
    ).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def test_a_featurizer_is_never_asked_about_no_token(vectors, monkeypatch):
    """A stack of no vectors has no shape, so a featurizer of a user's own may refuse it."""
    asked = []
    encode = type(vectors).encode_tokens

    def encoding(self, sentences):
        asked.extend(sentences)
        return encode(self, sentences)

    monkeypatch.setattr(type(vectors), "encode_tokens", encoding)
    _, see = view(Stub("tagging", ["X", "Y"], lookahead=0, context="previous"), vectors)
    assert see(tagging(("a", "b"), 0, 2)).tolist() == [1, 2, 0, 0]
    assert asked == [("a", "b")]
