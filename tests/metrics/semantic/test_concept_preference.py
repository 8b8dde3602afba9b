"""The reward of CommonGen after preferences, on a tiny network of preferences."""

import json
import shutil

import pytest

from helpers.metrics import tiny_networks
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics.lexical.meteor import meteor
from loquent.metrics.semantic.semantic import classifier
from loquent.rewards.preference import concept_preference

pytest.importorskip("nltk")
ROWS = [
    Row("0", Record(concepts=("dog", "ball", "run"))),
    Row("1", Record(concepts=("cat",))),
    Row("2", Record()),
]
SAID = ["Dogs are running .", "A cat sleeps .", "Nothing ."]
TOLD = [("A dog runs to a ball .",), ("The cat sleeps .",), ("None .",)]
PROMPTS = ["dog ball run", "cat", ""]
MISSING = [1, 0, 0]  # of the first, the ball alone


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tiny_networks.classifier(tmp_path_factory.mktemp("preference") / "model", ["bad", "good"])
    return {"path": str(path), "label": "good", "device": "cpu"}


@pytest.mark.parametrize("prompts", [True, False])
def test_the_formula_of_the_paper(model, prompts):
    made = concept_preference(Context(), wordnet="none", include_prompt=prompts, **model)
    scores = made(Samples(SAID, TOLD, PROMPTS, ROWS)).samples["concept_preference"]
    words = meteor(Context(), wordnet="none")(Samples(SAID, TOLD, PROMPTS, ROWS)).samples["meteor-exact-stem"]
    liked = classifier(Context(), include_prompt=prompts, **model)(Samples(SAID, TOLD, PROMPTS, ROWS))
    expected = [
        word + good / (1 + missing)
        for word, good, missing in zip(words, liked.samples["classifier"], MISSING, strict=True)
    ]
    assert scores == pytest.approx(expected)
    assert scores[0] != pytest.approx(words[0] + liked.samples["classifier"][0])  # the ball counts


def test_the_released_configuration_leaves_the_preference_alone(model):
    made = registry.resolve("reward", "concept_preference")(
        Context(), meteor=0.0, missing=0.0, wordnet="none", include_prompt=False, **model
    )
    liked = classifier(Context(), **model)(Samples(SAID, TOLD, PROMPTS, ROWS)).samples["classifier"]
    assert made(Samples(SAID, TOLD, PROMPTS, ROWS)).samples["concept_preference"] == pytest.approx(liked)
    assert made(Samples(SAID[:1], [()], PROMPTS[:1], ROWS[:1])).samples["concept_preference"] == [None]
    assert made(Samples([])).samples["concept_preference"] == []


def test_a_score_depends_on_its_sample_alone(model):
    made = concept_preference(Context(), wordnet="none", **model)
    whole = made(Samples(SAID, TOLD, PROMPTS, ROWS)).samples["concept_preference"]
    turned = made(Samples(SAID[::-1], TOLD[::-1], PROMPTS[::-1], ROWS[::-1])).samples["concept_preference"]
    assert turned[::-1] == pytest.approx(whole)
    with pytest.raises(BadSetting):
        concept_preference(Context(), meteor=-1.0, **model)


def test_a_reward_model_is_asked_in_the_form_of_its_training(model, tmp_path):
    """A note of `loquent reward` says the form; one of another program says nothing."""
    path = shutil.copytree(model["path"], tmp_path / "model")
    options = model | {"path": str(path)}
    note = {"objective": "good_bad", "mean": 0.0, "include_prompt": False}
    (path / "reward.json").write_text(json.dumps(note))
    with pytest.raises(BadSetting, match="trained with include_prompt = false, and would be asked with true"):
        concept_preference(Context(), wordnet="none", **options)
    assert concept_preference(Context(), wordnet="none", include_prompt=False, **options)
    assert classifier(Context(), **options)
    (path / "reward.json").write_text(json.dumps(note | {"include_prompt": True}))
    with pytest.raises(BadSetting, match="set include_prompt to true"):
        classifier(Context(), **options)
    (path / "reward.json").write_text('{"reward": 1}')
    assert classifier(Context(), **options)
