"""What importing Loquent does not load: a task is played without torch, and --help without anything."""

import os
import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "sklearn", "datasets")


def loaded(code):
    """The top-level modules a fresh process has after running `code`."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


LIGHT = {
    "the package": "import loquent",
    "tasks": "import loquent.tasks",
    "data": "import loquent.data",
    "the gymnasium adapter": "import loquent.adapters.gymnasium",
    "the wordle task": "import loquent; loquent.task('wordle')",
    "the generation task": "import loquent; loquent.task('generation').rows('test')",
    "a game": "import loquent; loquent.play('wordle', 'random', episodes=2)",
    "an environment": "import gymnasium, loquent; gymnasium.make('loquent/Wordle-v0').reset(seed=0)",
    "the errors and names": "import loquent.errors, loquent.core.registry",
}


def test_it_loads_nothing_heavy():
    """One process does all of it, and each step may load nothing heavy."""
    check = f"assert not {set(HEAVY)!r} & {{name.partition('.')[0] for name in sys.modules}}, "
    steps = [f"{code}\n{check}{name!r}\n" for name, code in LIGHT.items()]
    assert loaded("".join(["import sys\n", *steps])).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "line", [["--help"], ["train", "--help"], ["collect", "--help"], ["list", "algorithms"]], ids=" ".join
)
def test_help_loads_next_to_nothing(line):
    code = f"from loquent.cli.main import main\ntry:\n    main({line!r})\nexcept SystemExit:\n    pass"
    assert loaded(code).isdisjoint({*HEAVY, "tqdm"})


def test_the_options_of_every_command_load_nothing_heavy():
    names = "from loquent.cli.grammar.summaries import COMMANDS, module\n"
    assert loaded(f"{names}[module(name).Options for name in COMMANDS]").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "setting", ["training.episodes", "model.layers", "decoding.top_p", "task.wordle.rule", "wordle"]
)
def test_help_of_a_setting_outside_the_algorithms_loads_no_torch(setting):
    assert loaded(f"from loquent.cli.main import main\nmain(['help', {setting!r}])").isdisjoint(HEAVY)


def test_a_recipe_is_read_without_the_networks_library():
    assert "transformers" not in loaded("from loquent.cli.main import main\nmain(['show', 'reviews_ppo'])")


def test_the_package_brings_gymnasium_and_its_environments():
    assert "gymnasium" in loaded("import loquent")


def test_it_can_fail():
    assert "torch" in loaded("import loquent, torch")
    assert "torch" in loaded("import loquent.algorithms.shared.gae")


def test_the_environments_are_known_by_strings():
    code = (
        "import gymnasium, loquent\nassert {'loquent/Wordle-v0', 'loquent/Generation-v0'} <= "
        "set(gymnasium.registry)"
    )
    loaded(code)
    with pytest.raises(AssertionError):
        loaded(code.replace("Wordle-v0", "Nothing-v0"))


def test_without_the_extra_a_learner_says_which_one_is_missing():
    """A process in which torch cannot be imported, as after a plain `pip install loquent`."""
    blocked = (
        "import sys\nfor name in ('torch', 'transformers', 'sklearn', 'safetensors', 'tokenizers'): "
        "sys.modules[name] = None\n"
    )
    assert "loquent" in loaded(blocked + "import loquent\nloquent.play('wordle', 'expert')")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            blocked
            + "from loquent.cli.main import main\nsys.exit(main(['train', 'reviews_ppo', '--out', 'x']))",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "loquent[train]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("loquent.train('reviews_ppo', 'x')", "loquent.train"),
    ],
)
def test_without_the_extra_the_face_says_which_one_is_missing(call, what, tmp_path):
    code = f"""
import sys
sys.modules["jaxtyping"] = None
import loquent
try:
    {call}
except loquent.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == (
        f"{what} needs the libraries of loquent[train]; in the clone: pip install -e '.[train]'; "
        "with a wheel: pip install 'WHEEL[train]'\n"
    )
