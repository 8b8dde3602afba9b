"""Penalties on copying the prompt and on missing concepts, by hand."""

import pytest

from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics.captions.concepts import concept_coverage
from loquent.rewards.content import copying, missing_concepts


@pytest.mark.parametrize(
    ("text", "prompt", "n", "score"),
    [
        ("the cat sat down", "I saw: the cat sat.", 3, -0.5),  # the cat sat, cat sat down
        ("The Cat, sat", "the cat sat", 3, -1.0),
        ("one two three", "the cat sat", 3, 0.0),
        ("one two", "one two", 3, None),
        ("a a b", "a b", 1, -1.0),
        ("", "a", 1, None),
        ("a", "", 1, 0.0),
    ],
)
def test_copying(text, prompt, n, score):
    assert copying(Context(), n=n)(Samples([text], [[]], [prompt], [Row("r")])).samples["copying"] == [score]


@pytest.mark.parametrize(
    ("text", "concepts", "score"),
    [
        ("Two dogs were running.", ("dog", "run", "park"), -1 / 3),
        ("a dog", ("dog",), 0.0),
        ("", ("dog", "cat"), -1.0),
        ("hotdog", ("dog",), -1.0),
        ("he tried the ice creams", "try ice", 0.0),
        ("ice creams", ("ice cream",), 0.0),
        ("cream ice", ("ice cream",), -1.0),
        ("anything", (), None),
        ("anything", None, None),
    ],
)
def test_missing_concepts(text, concepts, score):
    row = Row("r", Record() if concepts is None else Record(concepts=concepts))
    found = missing_concepts(Context())(Samples([text], [[]], [""], [row])).samples["missing_concepts"]
    assert found == [score if score is None else pytest.approx(score)]


def test_concepts_may_be_given():
    given = missing_concepts(Context(), concepts=("dog", "cow"))
    assert given(Samples(["dogs and a cat"], [[]], [""], [Row("r")])).samples["missing_concepts"] == [-0.5]
    other = missing_concepts(Context(), field="words")
    assert other(Samples(["x"], rows=[Row("r", Record(words=("x", "y")))])).samples["missing_concepts"] == [
        -0.5
    ]
    with pytest.raises(BadSetting, match="' ' is not a word"):
        missing_concepts(Context(), concepts=(" ",))


@pytest.mark.parametrize(
    ("text", "asked", "score"),
    [
        ("They ran and caught it", ("run", "catch"), 0.0), ("a dog runs with a ball", "dog, ball#run", 0.0),
        ("a dog", 7, None),
        ("a dog", (7, "cat"), -1.0),
    ],
)  # fmt: skip
def test_a_concept_is_mentioned_in_one_sense_only(text, asked, score):
    """The reward is the coverage less 1, whatever stands in the row."""
    samples = Samples([text], rows=[Row("r", Record(concepts=asked))])
    [missing] = missing_concepts(Context())(samples).samples["missing_concepts"]
    [covered] = concept_coverage(Context())(samples).samples["concept_coverage"]
    assert missing == score
    assert missing == (None if covered is None else covered - 1)
