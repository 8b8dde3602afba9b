"""Code that a file names is imported only by commands that run it, and only from files this user has reason
to trust.
"""

import json
import os
import shutil
import sys

import pytest
import yaml

import loquent
from loquent.cli import main as cli
from loquent.core.options import parse
from loquent.core.settings import Remark
from loquent.errors import BadSetting, NotTrusted
from loquent.files import trust
from loquent.training import recipes, run

MODULE = """
from pathlib import Path
Path({marker!r}).write_text("imported")
def brief(samples):
    return [-float(len(text)) for text in samples.predictions]
def strict(observation, action, targets):
    return 1.0
"""
RECIPE = """# A recipe of somebody's.
task: {{kind: generation, limit: 40}}
model: {{layers: 1, width: 32, heads: 2, vocabulary: 300, tokenizer_texts: 50}}
rewards: {{brief: {{of: callable, function: "{module}:brief"}}}}
metrics: {{}}
decoding: {{max_new_tokens: 2}}
algorithm: {{kind: ppo, minibatch: 2, epochs: 1}}
training: {{updates: 1, episodes: 2, evaluate_every: 0, final_episodes: 2}}
"""
ACTIONS = """
task: {{kind: tagging, reward: "{module}:strict"}}
algorithm: {{kind: sb3/ppo}}
"""
SUITE = """
columns: {{return: {{metric: return}}}}
cells: {{one: {{recipe: theirs.yaml}}}}
"""


class Place:
    """A module that says when it is imported, a folder that is the current one, and one that is not."""

    def __init__(self, folder, name):
        self.module, self.marker = name, folder / "marker"
        self.here, self.there = folder / "here", folder / "there"
        self.here.mkdir()
        self.there.mkdir()
        (self.here / f"{name}.py").write_text(MODULE.format(marker=str(self.marker)))

    def write(self, folder, text=RECIPE, name="theirs.yaml"):
        file = folder / name
        file.write_text(text.format(module=self.module))
        return file

    def imported(self):
        """Whether it was, since the last time somebody asked."""
        found = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        sys.modules.pop(self.module, None)
        return found


@pytest.fixture
def place(tmp_path, monkeypatch, request):
    made = Place(tmp_path, f"theirs_{abs(hash(request.node.name))}")
    monkeypatch.chdir(made.here)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of a recipe that names code, made here by this user, and the state folder with the key."""
    folder = tmp_path_factory.mktemp("trained")
    place = Place(folder, "theirs_trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.here)
        patch.setattr(sys, "path", list(sys.path))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        assert cli.main(["train", str(place.write(place.here)), "--out", str(place.there / "run")]) == 0
        assert place.imported()
    return place, folder / "state"


@pytest.fixture
def received(trained, place, monkeypatch):
    """The run of another user: copied with its mark, and the key of this user is another."""
    theirs, _ = trained
    (place.here / f"{theirs.module}.py").write_text(MODULE.format(marker=str(place.marker)))
    place.module = theirs.module
    shutil.copytree(theirs.there / "run", place.there / "run")
    place.imported()
    return place


RUNNING = {
    "train": lambda file, out: ["train", file, "--out", out],
    "train --dry-run": lambda file, out: ["train", file, "--dry-run"],
    "train --seeds": lambda file, out: ["train", file, "--seeds", "2", "--out", out],
    "train --profile smoke": lambda file, out: ["train", file, "--profile", "smoke", "--out", out],
    "annotate": lambda file, out: ["annotate", file, "--out", out],
    "bench": lambda file, out: ["bench", file, "--processes", "1", "--out", out],
}


@pytest.mark.parametrize("command", RUNNING)
def test_a_foreign_recipe_is_refused_before_anything_is_imported(place, command, capsys, tmp_path):
    file = place.write(place.there, ACTIONS if command == "annotate" else RECIPE)
    file = place.write(place.there, SUITE, "suite.yaml") if command == "bench" else file
    assert cli.main(RUNNING[command](str(file), str(tmp_path / "out"))) == 2
    said = capsys.readouterr().err
    assert not place.imported()
    assert "theirs.yaml:" in said
    assert f"{place.module}:" in said
    assert "--allow-imports" in said
    assert not (tmp_path / "out" / "config.yaml").exists()


@pytest.mark.parametrize("command", ["train", "train --dry-run"])
def test_a_foreign_recipe_runs_where_that_is_allowed(place, command, tmp_path):
    line = RUNNING[command](str(place.write(place.there)), str(tmp_path / "out"))
    assert cli.main([*line, "--allow-imports"]) == 0
    assert place.imported()


@pytest.mark.parametrize("named", ["theirs.yaml", "./theirs.yaml", "../here/theirs.yaml", "sub/theirs.yaml"])
def test_a_recipe_under_the_current_folder_runs(place, named):
    (place.here / "sub").mkdir()
    file = place.write(place.here / "sub" if "sub" in named else place.here)
    assert file.exists()
    assert cli.main(["train", named, "--dry-run"]) == 0


def test_a_link_to_a_file_or_a_folder_outside_is_outside(place, capsys):
    (place.here / "linked.yaml").symlink_to(place.write(place.there))
    (place.here / "linked").symlink_to(place.there)
    for name in (
        "linked.yaml",
        "linked/theirs.yaml",
        "sub/../../there/theirs.yaml",
        "linked/../there/theirs.yaml",
    ):
        (place.here / "sub").mkdir(exist_ok=True)
        assert cli.main(["train", name, "--dry-run"]) == 2, name
        assert "NotTrusted" in capsys.readouterr().err
    assert not place.imported()


def test_a_link_in_a_circle_is_not_under_here(place):
    (place.here / "circle.yaml").symlink_to("circle.yaml")
    assert not trust.in_current_folder(place.here / "circle.yaml")


@pytest.mark.parametrize("folder", ["here", "there"])
@pytest.mark.parametrize(
    "text",
    [
        RECIPE,
        ACTIONS,
        'task: {{kind: "{module}:Task", level: 3}}\nrewards: {{won: 1, more: {{weight: 2}}}}\n',
    ],
)
def test_show_prints_a_file_unimported(place, folder, text, capsys):
    file = place.write(getattr(place, folder), text)
    assert cli.main(["show", str(file)]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert not place.imported()
    given = yaml.safe_load(file.read_text())
    assert shown["task"].items() >= given["task"].items()
    assert shown.get("rewards", {}) == given.get("rewards", {})
    assert place.module in str(shown)


def test_show_imports_where_that_is_allowed_and_finds_what_train_finds(place, capsys):
    file = place.write(place.here, 'task: {{kind: "{module}:Nothing"}}\n')
    assert cli.main(["show", str(file), "--allow-imports"]) == 2
    assert "has no 'Nothing'" in capsys.readouterr().err
    assert place.imported()


def test_a_name_that_was_typed_is_imported(place, capsys):
    file = place.write(place.there)
    line = ["train", str(file), "--dry-run", "rewards={}"]
    assert cli.main(line) == 0  # the name in the file was replaced
    assert not place.imported()
    assert cli.main([*line[:-1], f"rewards={{own: {{of: callable, function: '{place.module}:brief'}}}}"]) == 0
    assert place.imported()
    assert cli.main(["show", "wordle_ppo", f"task.kind={place.module}:Nothing"]) == 2
    assert "has no 'Nothing'" in capsys.readouterr().err
    assert place.imported()


def test_a_name_that_was_replaced_is_not_asked_by_the_profile(place, tmp_path):
    file = place.write(place.there, 'algorithm: {{kind: "{module}:Learner"}}\n')
    assert cli.main(["train", str(file), "algorithm=ppo", "--profile", "smoke", "--dry-run"]) == 0
    assert not place.imported()


def test_the_current_folder_is_behind_all_others(place):
    before = list(sys.path)
    assert cli.main(["train", str(place.write(place.here)), "--dry-run"]) == 0
    assert sys.path == [*before, str(place.here)]
    assert cli.main(["show", "wordle_ppo"]) == 0


def test_nothing_is_added_to_the_path_where_nothing_is_imported(place):
    before = list(sys.path)
    assert cli.main(["show", str(place.write(place.here))]) == 0
    assert sys.path == before


REACHES = [
    ("metrics: {{spice: {{jar: /tmp/evil.jar}}}}", "is a program"),
    ("metrics: {{spice: {{java: ./evil}}}}", "is a program"),
    (
        "training: {{teacher: {{kind: http, base_url: 'http://x/v1', model: m, api_key_variable: "
        "AWS_SECRET}}}}",
        "names a secret",
    ),
    ("training: {{teacher: '{module}:Agent'}}", "Python code"),
    ("training: {{teacher: {{kind: '{module}:Agent'}}}}", "Python code"),
    ("rewards: {{'{module}:brief': 1.0}}", "the name"),
    ("rewards: {{x: {{of: '{module}:brief'}}}}", "Python code"),
    ("algorithm: {{kind: '{module}:Learner'}}", "Python code"),
    ("algorithm: {{kind: sb3/ppo, view: '{module}:view'}}", "Python code"),
    ("algorithm: {{kind: sb3/ppo, features: {{kind: '{module}:Own'}}}}", "Python code"),
    ("task: {{kind: multilabel, reward: '{module}:strict'}}", "Python code"),
    ("task: {{kind: multiple_choice, reward: '{module}:strict'}}", "Python code"),
    ("task: {{kind: &x '{module}:Task'}}\nrewards: {{y: {{of: *x}}}}", "Python code"),
    ('task: {{kind: "\\u006fs:system"}}', "'os:system' is Python code"),
    ("? |-\n  {module}:Task\n: 1", "the name"),
]


@pytest.mark.parametrize(("text", "said"), REACHES)
def test_whatever_reaches_beyond_a_foreign_file_is_refused(place, text, said):
    with pytest.raises(NotTrusted, match=said):
        recipes.load(place.write(place.there, text + "\n"))
    assert not place.imported()


@pytest.mark.parametrize(
    "text", ["metrics: {{spice: {{java: java, jar: ''}}}}", "task: {{limit: 3}}", "model: {{device: cpu}}"]
)
def test_what_reaches_nowhere_is_not(place, text):
    recipes.load(place.write(place.there, text + "\n"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{{recipe: wordle_ppo, agent: '{module}:Agent'}}", "agent"),
        ("{{recipe: wordle_ppo, set: {{task.kind: '{module}:Task'}}}}", "task.kind"),
        ("{{recipe: reviews_ppo, set: {{metrics.spice.java: ./evil}}}}", "metrics.spice.java"),
        (
            "{{recipe: wordle_bc, set: {{training.teacher.api_key_variable: AWS_SECRET}}}}",
            "training.teacher.api_key_variable",
        ),
    ],
)
def test_a_foreign_suite_is_refused(place, entry, said, tmp_path, capsys):
    file = place.write(
        place.there, "columns: {{return: {{metric: return}}}}\ncells: {{one: " + entry + "}}\n", "suite.yaml"
    )
    assert cli.main(["bench", str(file), "--out", str(tmp_path / "out")]) == 2
    assert f"NotTrusted: suite.yaml:2: {said}" in capsys.readouterr().err
    assert not place.imported()


ON_RUNS = {
    "evaluate": ["evaluate", "RUN", "--episodes", "2"],
    "resume": ["resume", "RUN"],
    "generate": ["generate", "RUN", "--prompt", "a"],
    "values": ["values", "RUN", "RUN"],
    "play": ["play", "generation", "--agent", "RUN"],
    "collect": ["collect", "generation", "--agent", "RUN", "--episodes", "2", "--out", "collected"],
    "evaluate --task": ["evaluate", "RUN", "--task", "generation", "--episodes", "2"],
}


def _line(command, folder):
    return [str(folder) if part == "RUN" else part for part in ON_RUNS[command]]


@pytest.mark.parametrize("command", ON_RUNS)
def test_a_received_run_is_refused_before_anything_is_imported(received, command, capsys):
    assert cli.main(_line(command, received.there / "run")) == 2
    said = capsys.readouterr().err
    assert not received.imported()
    assert "NotTrusted: config.yaml:" in said
    assert "--allow-imports" in said


@pytest.mark.parametrize("command", ["evaluate", "generate", "resume"])
def test_a_received_run_runs_where_that_is_allowed(received, command):
    assert cli.main([*_line(command, received.there / "run"), "--allow-imports"]) == 0
    assert trust.distrust_reason(received.there / "run" / "config.yaml")  # to run it is not to have made it


def test_reports_import_nothing(received, capsys):
    run, page = received.there / "run", received.here / "page.html"
    assert cli.main(["report", str(run), "--out", str(page)]) == 0
    assert f"{received.module}:brief" in page.read_text()
    bare = received.there / "bare"  # as a run is before its first checkpoint
    bare.mkdir()
    shutil.copy(run / "metrics.jsonl", bare)
    (bare / "config.yaml").write_text(
        (run / "config.yaml").read_text().replace("kind: ppo", f"kind: {received.module}:Learner")
    )
    assert cli.main(["report", str(bare), "--out", str(page)]) == 0
    assert f"{received.module}:Learner" in page.read_text()
    assert cli.main(["show", str(bare / "config.yaml")]) == 0
    assert f"{received.module}:Learner" in capsys.readouterr().out
    assert not received.imported()


@pytest.fixture
def own(trained, tmp_path, monkeypatch):
    """The run of this user, seen from another folder."""
    place, state = trained
    shutil.copytree(place.there / "run", tmp_path / "run")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.chdir(place.here)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / "run"


def test_a_run_made_here_is_trusted_wherever_it_lies(own):
    assert cli.main(["generate", str(own), "--prompt", "a"]) == 0
    assert cli.main(["evaluate", str(own), "--episodes", "2"]) == 0
    assert cli.main(["resume", str(own)]) == 0


@pytest.mark.parametrize(
    "change", ["config", "mark", "no mark", "empty mark", "key", "no key", "a key others may read"]
)
def test_a_run_whose_mark_does_not_fit_is_not(own, change, tmp_path, monkeypatch, capsys):
    config, mark = own / "config.yaml", own / "config.yaml.mark"
    state = tmp_path / "state"
    shutil.copytree(os.environ["XDG_STATE_HOME"], state)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    key = state / "loquent" / "key"
    assert cli.main(["generate", str(own), "--prompt", "a"]) == 0
    said = "Read what it names first"
    if change == "config":
        config.write_text(config.read_text().replace(":brief", ":strict"))
        assert "the file was changed" in trust.distrust_reason(config)
        said = "this line is not what the run wrote"  # the checkpoints know it too
    elif change == "mark":
        mark.write_text("0" * 64)
    elif change == "no mark":
        mark.unlink()
        said = "no mark of yours beside it"
    elif change == "empty mark":
        mark.write_text("")
    elif change == "key":
        key.write_bytes(b"x" * 32)
    elif change == "no key":
        key.unlink()
        said = "your key cannot be used"
    else:
        key.chmod(0o644)
        said = "another user may read it"
    capsys.readouterr()
    assert cli.main(["generate", str(own), "--prompt", "a"]) == 2
    assert said in capsys.readouterr().err


def test_a_home_that_cannot_be_written_is_said_and_not_trusted(place, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    file = place.write(place.there)
    with pytest.warns(Remark, match="is not marked as written by you"):
        trust.sign(file)
    assert not file.with_name("theirs.yaml.mark").exists()
    with pytest.raises(NotTrusted):
        recipes.load(file)


def test_the_key_is_this_users_alone_and_made_once(place, tmp_path):
    file = place.write(place.there)
    trust.sign(file)
    key = tmp_path / "state" / "loquent" / "key"
    made = key.read_bytes()
    assert (key.stat().st_mode & 0o777, key.parent.stat().st_mode & 0o777, len(made)) == (0o600, 0o700, 32)
    trust.sign(file)
    assert key.read_bytes() == made
    assert [path.name for path in key.parent.iterdir()] == ["key"]
    recipes.load(file)


def test_a_key_that_is_a_link_is_not_used(place, tmp_path):
    file = place.write(place.there)
    trust.sign(file)
    key = tmp_path / "state" / "loquent" / "key"
    key.rename(tmp_path / "elsewhere")
    key.symlink_to(tmp_path / "elsewhere")
    assert "your key cannot be used" in trust.distrust_reason(file)


def test_python_follows_the_same_rule(received, tmp_path):
    file = received.write(received.there)
    with pytest.raises(NotTrusted):
        loquent.train(file, tmp_path / "out", progress=False)
    with pytest.raises(NotTrusted):
        loquent.evaluate(received.there / "run", episodes=2)
    with pytest.raises(NotTrusted):
        loquent.load_run(received.there / "run").agent()
    assert not received.imported()
    assert loquent.evaluate(received.there / "run", episodes=2, allow_imports=True).n == 2
    assert received.imported()
    whole = recipes.load(file, imports="all")  # a recipe in memory is the caller's
    assert loquent.train(whole, tmp_path / "out", progress=False).recipe == whole


def test_a_folder_of_seeds_is_a_run_too(place, tmp_path, capsys):
    assert (
        cli.main(["train", str(place.write(place.here)), "--seeds", "1", "--out", str(place.there / "seeds")])
        == 0
    )
    assert place.imported()
    assert cli.main(["resume", str(place.there / "seeds")]) == 0
    text = (place.there / "seeds" / "recipe.yaml").read_text()
    (place.there / "seeds" / "recipe.yaml").write_text(text.replace(":brief", ":strict"))
    place.imported()
    assert cli.main(["resume", str(place.there / "seeds")]) == 2
    assert "recipe.yaml:" in capsys.readouterr().err
    assert not place.imported()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task: {kind: 'os:system'}", "which is no task"),
        ("algorithm: {kind: 'os:system'}", "which is no algorithm"),
        ("task: {kind: 'os:nothing'}", "has no 'nothing'"),
        ("task: {kind: 'a b:c'}", "is not of the form"),
        ("task: {kind: ':c'}", "is not of the form"),
        ("task: {kind: '..x:c'}", "is not of the form"),
        ("task: {kind: 'x\\0:c'}", "is not of the form"),
        ("task: {kind: tagging, reward: 'os:sep'}\nrewards: {f1: 1}", "which cannot be called"),
    ],
)
def test_what_a_name_stands_for_is_looked_at(place, text, said):
    (place.here / "mine.yaml").write_text(text)
    with pytest.raises(BadSetting, match=said):
        recipes.load(place.here / "mine.yaml")


@pytest.mark.parametrize("agent", ["os:system", "os:getpid", "builtins:len", "builtins:str"])
def test_an_agent_is_looked_at_too(place, agent, capsys):
    assert cli.main(["play", "wordle", "--agent", agent]) == 2
    assert "which is not an agent" in (said := capsys.readouterr().err) or "makes no agent" in said


def test_a_function_is_scored_if_its_parameters_say_what_it_reads(place, capsys):
    (place.here / "said.txt").write_text("a text\n")
    assert cli.main(["score", "--metrics", f"{place.module}:brief", "said.txt"]) == 0
    assert "brief  -6 " in capsys.readouterr().out
    assert cli.main(["score", "--metrics", f"{place.module}:strict", "said.txt"]) == 2
    assert "makes no metric" in capsys.readouterr().err


def test_an_imported_recipe_of_rl4lms_imports_nothing(place, capsys):
    text = """tokenizer: {{model_name: gpt2}}
datapool: {{id: imdb}}
reward_fn: {{id: callable, args: {{function: "{module}:brief"}}}}
alg: {{id: ppo, policy: {{id: causal_lm_actor_critic_policy, args: {{model_name: gpt2}}}}}}
train_evaluation: {{n_iters: 1}}
"""
    cli.main(["import", "rl4lms", str(place.write(place.there, text)), "--out", "taken.yaml"])
    assert not place.imported()


def test_reaches_are_found_wherever_they_stand():
    found = list(
        trust.reaches(
            parse("a:\n  - b: [x, 'm:f']\n'n.o:g': {jar: j}\nt: 'a: b'\nu: 'http://x:80/v1'\n", "f")
        )
    )
    assert [(one.place, one.name) for one in found] == [("f:2", "m:f"), ("f:3", "n.o:g"), ("f:3", "")]


def test_a_run_trained_from_a_foreign_recipe_is_ones_own(place):
    assert (
        cli.main(
            ["train", str(place.write(place.there)), "--out", str(place.there / "run"), "--allow-imports"]
        )
        == 0
    )
    assert run.load_run(place.there / "run").recipe.name == "theirs"
    assert json.loads((place.there / "run" / "evaluation.json").read_text())["n"] == 2


def test_a_recipe_to_be_shown_cannot_be_run(place, tmp_path):
    shown = recipes.load(place.write(place.there), imports="none")
    with pytest.raises(BadSetting, match="was loaded for display"):
        loquent.train(shown.replace("training.updates=2"), tmp_path / "out", progress=False)
    assert not place.imported()
