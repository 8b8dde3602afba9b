"""Metrics of one's own, named as "module:Name" in the sections `metrics:` and `rewards:` of a recipe."""

import sys
from types import SimpleNamespace

import pytest

from loquent.core.metric import Context, Samples
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.rewards import compose
from loquent.training import recipes
from loquent.training.metrics import build_metrics

OWN = '''
from dataclasses import dataclass

from loquent import Measured, setting
from loquent.core.options import takes


class Caps:
    """The share of an answer's letters that are capitals."""

    name, version, higher_is_better, keys = "caps", 1, True, ("caps",)

    def __init__(self, context=None, letter=""):
        self.letter = letter

    def __call__(self, samples):
        scores = [sum(map(self.counts, text)) / len(text) if text else None for text in samples.predictions]
        present = [score for score in scores if score is not None]
        return Measured({"caps": scores}, {"caps": sum(present) / len(present)} if present else {})

    def counts(self, letter):
        return letter.isupper() and self.letter in ("", letter)


@dataclass(frozen=True, kw_only=True)
class Options:
    letter: str = setting("", "count this letter alone")


@takes(Options)
def caps(context, options):
    """The share of an answer's letters that are capitals."""
    return Caps(context, options.letter)


def vowels(samples):
    return [float(sum(map("aeiou".count, text))) for text in samples.predictions]


def texts(predictions):
    return [len(text) for text in predictions]


def nothing(context):
    return 5
'''
RECIPE = "task: wordle\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files under the current folder may name code
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "metr", raising=False)
    (tmp_path / "metr.py").write_text(OWN)
    yield
    sys.modules.pop("metr", None)


def loaded(tmp_path, sections, **more):
    path = tmp_path / "mine.yaml"
    path.write_text(RECIPE + sections)
    return recipes.load(path, **more)


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        ('{"metr:Caps": {}}', ["caps"]),
        ('{caps: {of: "metr:Caps"}}', ["caps/caps"]),
        ('{"metr:Caps": {letter: A}}', ["caps"]),
        ('{"metr:caps": {letter: A}, diversity: {}}', ["caps"]),
    ],
)
def test_an_own_metric_stands_in_a_recipe(tmp_path, section, keys):
    recipe = loaded(tmp_path, f"metrics: {section}")
    metric = build_metrics(recipe.metrics, Context())[0]
    scores = metric(Samples(["AbB1", ""]))
    assert scores.samples == {key: [0.25 if "letter" in section else 0.5, None] for key in keys}
    assert recipe.replace() == recipe


def test_an_own_metric_is_not_imported_where_code_is_only_read(tmp_path):
    recipe = loaded(tmp_path, 'metrics: {"metr:caps": {letter: A}}', imports="none")
    assert recipe.metrics == Record({"metr:caps": Record(letter="A")})
    assert "metr" not in sys.modules


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            '{"metr:caps": {leter: A}}',
            r"mine.yaml:2: metrics.metr:caps has no setting 'leter'. Nearest: letter",
        ),
        ('{c: {of: "metr:caps", letter: [1]}}', r"mine.yaml:2: metrics.c.letter must be a text"),
        ('{c: {of: "metr:none", letter: A}}', r"mine.yaml:2: metrics.c: 'metr:none': the module metr has no"),
        ('{c: {of: "metr:"}}', r"mine.yaml:2: metrics has no setting 'metr:'"),
    ],
)
def test_a_mistake_in_an_own_metric_names_its_place(tmp_path, section, said):
    with pytest.raises(BadSetting, match=said):
        loaded(tmp_path, f"metrics: {section}")


@pytest.mark.parametrize(
    "section",
    [
        '{"metr:Caps": 1.0}',
        '{caps: {of: "metr:Caps"}}',
        '{"metr:Caps": {letter: A}}',
        '{caps: {of: "metr:caps", letter: A, weight: 1.0}}',
    ],
)
def test_an_own_metric_is_a_reward(tmp_path, section):
    recipe = loaded(tmp_path, f"rewards: {section}")
    terms, weights = compose.build(recipe.rewards, Context())
    assert list(weights.values()) == [1.0]
    row = SimpleNamespace(id="r")
    assert terms[0].score(Samples(["AbB1", ""], rows=[row, row])) == [
        0.25 if "letter" in section else 0.5,
        None,
    ]


def test_a_function_stays_a_reward_of_a_batch(tmp_path):
    recipe = loaded(tmp_path, 'rewards: {"metr:vowels": 2.0}')
    terms, _ = compose.build(recipe.rewards, Context())
    assert terms[0].score(Samples(["audio"], rows=[SimpleNamespace(id="r")])) == [4.0]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('{"metr:caps": {leter: A}}', r"mine.yaml:2: rewards.metr:caps has no setting 'leter'"),
        ('{"metr:vowels": {letter: A}}', r"mine.yaml:2: rewards.metr:vowels has no setting 'letter'"),
    ],
)
def test_a_mistake_in_the_options_of_an_own_reward_names_its_place(tmp_path, section, message):
    with pytest.raises(BadSetting, match=message):
        loaded(tmp_path, f"rewards: {section}")


def test_an_own_reward_that_makes_no_metric_is_refused(tmp_path):
    recipe = loaded(tmp_path, 'rewards: {"metr:nothing": 1.0}')
    with pytest.raises(BadSetting, match="metr:nothing made 5, which is no metric"):
        compose.build(recipe.rewards, Context())
