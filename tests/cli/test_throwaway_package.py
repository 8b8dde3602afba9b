"""An installed package adds a world, an algorithm, a metric, a reward and an agent.

Every command takes them, with nothing edited here.
"""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
"""Names of a package that is not Loquent."""

from dataclasses import dataclass

from loquent import Answer, Invalid, Measured, Observation, Opening, Outcome, Record, Row, Task, TaskSpec
from loquent import setting
from loquent.algorithms.policy_gradient.ppo import PPO


@dataclass(frozen=True, kw_only=True)
class Options:
    letters: int = setting(2, "letters to repeat", low=1, high=5)


class Parrot(Task):
    """Parrot: repeat a letter."""

    Options = Options
    spec = TaskSpec(id="parrot", rewards=Record(right=1.0), invalid=("nothing",), success=("repeated",))

    def rows(self, split):
        of_split = {"train": "abcdefgh", "validation": "ijklmnop", "test": "qrstuvwx"}[split]
        letters = of_split[: 4 * self.options.letters]
        return [Row(f"{split}:{letter}", Record(letter=letter)) for letter in letters]

    def first(self, row, rng):
        return Opening(row["letter"], Observation(f"say {row['letter']}"))

    def read(self, state, text):
        return text.strip() or Invalid("nothing", text)

    def play(self, state, move):
        ending = "repeated" if move == state else "missed"
        return Outcome(state, Observation(""), Record(right=float(move == state)), ending)

    def expert(self, state):
        return state


class Renamed(PPO):
    """PPO under another name."""


@dataclass(frozen=True)
class Letters:
    """How many letters a text has."""

    name: str = "letters"
    version: int = 1
    higher_is_better: bool | None = None
    keys: tuple[str, ...] = ("letters",)

    def __call__(self, samples):
        counts = [float(sum(map(str.isalpha, text))) for text in samples.predictions]
        return Measured({"letters": counts}, {"letters": sum(counts) / max(1, len(counts))})


def letters(context):
    """How many letters a text has."""
    return Letters()


class Echo:
    """Says the last letter that it reads."""

    name = "echo"

    def __init__(self, task):
        pass

    def answer(self, asked):
        return [Answer(one.observation.text[-1:]) for one in asked]
'''
POINTS = """[loquent]
task.parrot = throwaway_parrot:Parrot
algorithm.renamed = throwaway_parrot:Renamed
metric.letters = throwaway_parrot:letters
reward.letters = throwaway_parrot:letters
agent.parrot/echo = throwaway_parrot:Echo
"""
RECIPE = """
task: {{kind: {task}, letters: 1}}
algorithm: {{kind: {algorithm}}}
rewards: {{right: 1.0, {reward}: 0.1}}
metrics: {{{metric}: {{}}}}
"""
SMALL = [
    "training.updates=2",
    "training.episodes=4",
    "training.evaluate_every=1",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=50",
    "decoding.max_new_tokens=4",
    "algorithm.minibatch=4",
]
INSTALLED = {
    "task": "parrot",
    "algorithm": "renamed",
    "reward": "letters",
    "metric": "letters",
    "agent": "parrot/echo",
}
BY_MODULE = {
    "task": "throwaway_parrot:Parrot",
    "algorithm": "throwaway_parrot:Renamed",
    "reward": "letters",
    "metric": "throwaway_parrot:letters",
    "agent": "throwaway_parrot:Echo",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder on the path, as an installed package leaves it."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "throwaway_parrot.py").write_text(MODULE)
    about = folder / "throwaway_parrot-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: throwaway-parrot\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    return folder


@pytest.fixture(scope="module", params=[INSTALLED, BY_MODULE], ids=["installed names", "module:Name"])
def driven(request, package, tmp_path_factory):
    """All commands in one process, where the names are used: command -> (exit code, what it printed)."""
    names, folder = request.param, tmp_path_factory.mktemp("work")
    (folder / "mine.yaml").write_text(RECIPE.format(**names))
    (folder / "texts.jsonl").write_text('{"text": "ab1"}\n{"text": "c"}\n')
    lines = {
        "check": ["check", names["task"], "--episodes", "3"],
        "play": ["play", names["task"], "--agent", names["agent"], "--json"],
        "collect": [
            "collect",
            names["task"],
            "--agent",
            names["agent"],
            "--episodes",
            "8",
            "--processes",
            "2",
            "--out",
            "data",
        ],
        "show": ["show", "mine.yaml"],
        "help": ["help", f"task.{names['task']}" if ":" not in names["task"] else names["task"]],
        "train": ["train", "mine.yaml", "--out", "run", *SMALL],
        "resume": ["resume", "run"],
        "evaluate": ["evaluate", "run", "--episodes", "4", "--json"],
        "score": ["score", "texts.jsonl", "--metrics", names["metric"], "--json"],
        "list": ["list", "tasks"],
        "report": ["report", "run", "--out", "report.html"],
    }
    code = (
        "import contextlib, io, json, sys\nfrom loquent.cli.main import main\ndone = {}\nfor name, "
        "line in json.loads(sys.argv[1]).items():\n    out, err = io.StringIO(), io.StringIO()\n    "
        "with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n        try:\n     "
        "       code = main(line)\n        except SystemExit as stop:\n            code = "
        "stop.code\n    done[name] = [code, out.getvalue(), err.getvalue()]\nimport gymnasium, "
        "loquent\nenv = gymnasium.make('loquent/Task-v0', "
        "task=sys.argv[2])\nenv.reset(seed=0)\ndone['gymnasium'] = [0, env.unwrapped.task.identity, "
        "'']\njson.dump(done, open('done.json', 'w'))\n"
    )
    (folder / "drive.py").write_text(
        "if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in code.splitlines())
    )
    done = subprocess.run(
        [sys.executable, "drive.py", json.dumps(lines), names["task"]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, names, json.loads((folder / "done.json").read_text())


COMMANDS = (
    "check",
    "play",
    "collect",
    "show",
    "help",
    "train",
    "resume",
    "evaluate",
    "score",
    "list",
    "report",
    "gymnasium",
)


@pytest.mark.sweep(*(f"installed names-{command}" for command in COMMANDS))
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_the_names(driven, command):
    _, _, done = driven
    code, out, err = done[command]
    assert code == 0, (out, err)


def test_what_the_commands_did(driven):
    folder, names, done = driven
    assert json.loads(done["evaluate"][1].splitlines()[-1])["values"]["success"] >= 0
    assert "mean return 1" in done["collect"][1]  # the agent repeats the letter in every game
    assert done["gymnasium"][1].startswith("parrot-v1")
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    assert any("evaluation/letters" in line for line in lines)
    if names is INSTALLED:
        assert "parrot" in done["list"][1].split()
