"""Settings of files reach a recipe as nodes, and the gate of trust reads the finished tree."""

import contextlib
import sys

import pytest

from loquent.bench import suite as suites
from loquent.bench.jobs import plan
from loquent.core import options
from loquent.errors import LoquentError, NotTrusted
from loquent.files import atomic
from loquent.training import recipes
from loquent.training.recipes.overrides import of_file

BAIT = "loquent_bait_of_the_gate"
RECIPE = "task: {{kind: generation}}\nalgorithm: {{kind: ppo}}\nprofiles: {{cpu: {{{key}: {value}}}}}\n"
SUITE = (
    "name: outside\ntitle: A suite from elsewhere\nversion: 1\ncolumns: {{r: {{metric: return}}}}\n"
    "cells: {{a: {{recipe: reviews_ppo, label: a, set: {{{key}: {value}}}}}}}\n"
)


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder that is not under the current one, and a module on the path that must not be imported."""
    for name in ("here", "outside", "modules"):
        (tmp_path / name).mkdir()
    (tmp_path / "modules" / f"{BAIT}.py").write_text("class s:\n    pass\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    yield tmp_path / "outside"
    sys.modules.pop(BAIT, None)


WAYS = [
    (f'"algorithm.kind={BAIT}:s #"', "1"),
    ('"algorithm.kind"', f'"{BAIT}:s"'),
    ("algorithm", f'{{kind: "{BAIT}:s"}}'),
    (f'"algorithm={{kind: {BAIT}:s}} #"', "1"),
    (f'"rewards.{BAIT}:s"', "1"),
    ("rewards", f'{{"{BAIT}:s": 1}}'),
    (f'"metrics={{{BAIT}:s: {{}}}} #"', "1"),
    (f'" algorithm.kind={BAIT}:s\\n"', "1"),
]


@pytest.mark.parametrize(("key", "value"), WAYS)
@pytest.mark.parametrize("imports", ["trusted", "none"])
def test_a_profile_of_a_file_elsewhere_imports_nothing(outside, key, value, imports):
    file = outside / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key=key, value=value))
    with contextlib.suppress(LoquentError):
        recipes.load(file, profile="cpu", imports=imports)
    assert BAIT not in sys.modules


@pytest.mark.parametrize(("key", "value"), WAYS)
def test_a_suite_of_a_file_elsewhere_imports_nothing(outside, key, value):
    file = outside / "suite.yaml"
    atomic.write_text(file, SUITE.format(key=key, value=value))
    with pytest.raises(LoquentError):
        plan(suites.load(file), outside / "runs", "full", 1, {})
    assert BAIT not in sys.modules


def test_the_bait_is_imported_where_it_is_allowed(outside):
    file = outside / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key='"algorithm.kind"', value=f'"{BAIT}:s"'))
    with pytest.raises(LoquentError):
        recipes.load(file, profile="cpu", imports="all")
    assert BAIT in sys.modules


def test_a_key_that_is_no_path_is_named_with_its_line(tmp_path):
    file = tmp_path / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key='"training.updates=7 #"', value="1"))
    with pytest.raises(LoquentError, match=r"recipe\.yaml:3: the key 'training.updates=7 #' is not the path"):
        recipes.load(file, profile="cpu", imports="all")


def test_a_value_of_a_profile_keeps_its_line(tmp_path):
    file = tmp_path / "recipe.yaml"
    atomic.write_text(file, RECIPE.format(key="training.updates", value="none"))
    with pytest.raises(LoquentError, match=r"recipe\.yaml:3: training\.updates"):
        recipes.load(file, profile="cpu")


HIDDEN = f"x={{of: callable, function: '{BAIT}:s'}} #"


@pytest.mark.parametrize("section", ["rewards", "metrics"])
@pytest.mark.parametrize("options", ["of: classifier, path: /absent", "of: bleu_totto", "classifier: a"])
@pytest.mark.parametrize("imports", ["trusted", "none"])
def test_the_name_of_a_score_is_no_setting_of_the_profile_smoke(outside, section, options, imports):
    file = outside / "recipe.yaml"
    atomic.write_text(file, f'task: {{source: hub, path: x}}\n{section}: {{"{HIDDEN}": {{{options}}}}}\n')
    with contextlib.suppress(LoquentError):
        assert set(getattr(recipes.load(file, profile="smoke", imports=imports), section)) == {HIDDEN}
    assert BAIT not in sys.modules


def test_settings_of_a_suite_keep_file_and_line(outside):
    lines = {
        "set": "set: {training.updates: none}\n",
        "profile": "profiles: {full: {set: {any: {training.updates: none}}}}\n",
        "at": "",
    }
    for where, text in lines.items():
        at = ", at: {standard: {training.updates: none}}" if where == "at" else ""
        cells = f"cells: {{a: {{recipe: reviews_ppo{at}}}}}\n"
        atomic.write_text(outside / "s.yaml", f"columns: {{return: {{metric: return}}}}\n{cells}{text}")
        line, profile = 2 if where == "at" else 3, "full" if where == "profile" else "standard"
        with pytest.raises(LoquentError, match=rf"s\.yaml:{line}: training\.updates must be an integer"):
            plan(suites.load(outside / "s.yaml"), outside / "runs", profile, 1, {})


def test_a_setting_of_a_set_of_episodes_keeps_its_line(outside):
    text = (
        "columns: {return: {metric: return}}\n"
        "cells: {a: {recipe: wordle_bc, set: {training.data: <d>, training.teacher: ''}}}\n"
        "data: {d: {agent: random}}\n"
        "profiles: {full: {data: {d: {episodes: 0}}}}\n"
    )
    atomic.write_text(outside / "s.yaml", text)
    with pytest.raises(LoquentError, match=r"s\.yaml:4: data\.d\.episodes"):
        plan(suites.load(outside / "s.yaml"), outside / "runs", "full", 1, {})


def test_each_name_is_judged_by_the_file_that_has_it(outside):
    """A suite under the current folder may name code over a foreign recipe; the recipe may not."""
    atomic.write_text(outside / "theirs.yaml", "task: {kind: generation}\nalgorithm: {kind: ppo}\n")
    cell = f'{{recipe: ../outside/theirs.yaml, set: {{rewards: {{"{BAIT}:s": 1}}}}}}'
    text = f"columns: {{return: {{metric: return}}}}\ncells: {{a: {cell}}}\n"
    atomic.write_text(outside.parent / "here" / "mine.yaml", text)
    plan(suites.load("mine.yaml"), outside / "runs", "standard", 1, {})
    atomic.write_text(outside / "theirs.yaml", f'task: {{kind: generation}}\nmetrics: {{"{BAIT}:s": {{}}}}\n')
    with pytest.raises(NotTrusted, match=r"theirs\.yaml:2"):
        plan(suites.load("mine.yaml"), outside / "runs", "standard", 1, {})
    (outside / "mine.yaml").write_text(text)  # of the same name as the trusted one
    foreign = of_file(
        {"task.reward": options.Node(f"{BAIT}:s", "mine.yaml", 2, options.SUITE)}, outside / "mine.yaml"
    )
    with pytest.raises(NotTrusted, match=r"mine\.yaml:2"):
        recipes.load("tagging_ppo", foreign)


def test_a_base_is_judged_too(outside):
    here = outside.parent / "here"
    atomic.write_text(outside / "below.yaml", f'metrics: {{"{BAIT}:s": {{}}}}\n')
    (here / "below.yaml").symlink_to(outside / "below.yaml")
    atomic.write_text(here / "above.yaml", "base: below\nalgorithm: {kind: ppo}\n")
    with pytest.raises(NotTrusted, match=r"below\.yaml:1"):
        recipes.load("above.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "training: {teacher: {kind: http, base_url: 'http://127.0.0.1:9/v1', model: m}}",
        "task: {kind: dialogue, answerer: {kind: dialogue/remote, model: m}}",
        "task: {kind: dialogue, answerer: {kind: dialogue/remote, model: m, url: 'http://127.0.0.1:9'}}",
        "task: {kind: comments, moderator: {kind: comments/remote, model: m, url: 'http://127.0.0.1:9'}}",
    ],
)
def test_a_server_is_asked_only_for_a_trusted_file(outside, text):
    atomic.write_text(outside / "r.yaml", text)
    with pytest.raises(NotTrusted, match="server"):
        recipes.load(outside / "r.yaml")
    recipes.load(outside / "r.yaml", imports="none")
    recipes.load(outside / "r.yaml", imports="all")


@pytest.mark.parametrize("model", ["anything", f"{BAIT}:s"])
@pytest.mark.parametrize("key", ["task.kind", "algorithm.kind", "rewards.lexicon.of", "metrics.watch.of"])
def test_a_model_in_place_of_a_stage_is_no_name_of_code(outside, monkeypatch, key, model):
    """`<base>` is replaced by what the file gives for a profile, so the file answers for it."""
    (outside.parent / "here" / "model.py").write_text("class anything:\n    pass\n")
    text = (
        "name: outside\ntitle: A suite from elsewhere\nversion: 1\ncolumns: {r: {metric: return}}\n"
        "profiles: {p: {seeds: 1}}\n"
        f"stages: {{base: {{recipe: reviews_ppo, instead: {{p: '{model}'}}}}}}\n"
        f"cells: {{a: {{recipe: reviews_ppo, label: a, set: {{{key}: <base>}}}}}}\n"
    )
    atomic.write_text(outside / "suite.yaml", text)
    monkeypatch.syspath_prepend(outside.parent / "here")
    with pytest.raises(LoquentError) as error:
        plan(suites.load(outside / "suite.yaml"), outside / "runs", "p", 1, {})
    assert ":" not in model or isinstance(error.value, NotTrusted)
    assert BAIT not in sys.modules
    assert "model" not in sys.modules
