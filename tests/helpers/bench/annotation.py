"""A small session of annotation: letters that are vowels or not."""

import torch

from loquent.bench.annotation.session import Session
from loquent.core.options import dump
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes

TEXTS = ("abc", "eel", "of", "xyz", "a", "queue")
GOLD = {text: tuple("vowel" if letter in "aeiou" else "other" for letter in text) for text in TEXTS}
TASK = {"kind": "tagging", "source": "samples", "labels": ["other", "vowel"], "instruct": False}
TEST = [{"tokens": list(text), "labels": list(GOLD[text]), "split": "test"} for text in TEXTS]


def written(folder, kind="sb3/double_dqn", **training):
    """A recipe whose learner is small."""
    config = {
        "sb3/double_dqn": {"games": 1, "learning_starts": 4, "replay": 40, "minibatch": 4},
        "sb3/ppo": {"games": 2, "rollout": 4, "minibatch": 4},
    }[kind]
    algorithm = {
        "kind": kind,
        "features": {"kind": "hashed", "dimension": 16},
        "network": [8],
        "steps": 16,
        **config,
    }
    whole = {
        "task": {**TASK, "samples": TEST},
        "algorithm": algorithm,
        "training": {"updates": 6, "final_episodes": 6, **training},
    }
    (folder / "recipe.yaml").write_text(dump(whole))
    return recipes.load(folder / "recipe.yaml")


def begun(folder, made=None, **more):
    """A session in a folder, with all samples."""
    made = made or written(folder)
    one = Session(made, folder / "session", **more)
    one._add([one.form.blank({"tokens": tuple(text), "id": text}) for text in TEXTS])
    return one


def annotated(one, count=None):
    """Annotate what is due as it is right; returns what was logged."""
    logs = []
    while one.pending is not None and (count is None or len(logs) < count):
        row = one.pending
        logs.append(one.annotate(row, one.suggest(row), GOLD[row.id]))
    return logs


def state(folder):
    """The newest checkpoint's state, tensors as lists."""

    def bare(tree):
        if isinstance(tree, dict):
            return {name: bare(item) for name, item in tree.items()}
        return tree.tolist() if isinstance(tree, torch.Tensor) else tree

    return bare(checkpoint.load(RunFolder(folder / "session").checkpoints.all()[-1]))
