"""Saved states side by side: where two differ, and what follows when a leaf is dropped or put back to its
beginning.
"""

import copy
import json

import torch

from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint


def same(one, two, place="state"):
    """Where two saved states differ first; None where they are equal to the bit."""
    if isinstance(one, torch.Tensor):
        alike = isinstance(two, torch.Tensor) and one.dtype == two.dtype and torch.equal(one, two)
        return None if alike else place
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return next((found for name in one if (found := same(one[name], two[name], f"{place}/{name}"))), None)
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return next(
            (found for i, pair in enumerate(zip(one, two)) if (found := same(*pair, f"{place}/{i}"))), None
        )
    return None if type(one) is type(two) and one == two else place


def difference(one, two):
    """Where two finished runs differ first: the logs and results byte by byte, then the saved states.

    None where they do not.
    """
    for name in (
        "metrics.jsonl",
        "evaluation_rows.jsonl",
        "evaluation.json",
        "episodes.jsonl",
        "config.yaml",
        "machine.json",
        "checkpoints/best.json",
    ):
        content = [(run / name).read_bytes() if (run / name).exists() else None for run in (one, two)]
        if content[0] != content[1]:
            return name
    ours, theirs = RunFolder(one).checkpoints.all(), RunFolder(two).checkpoints.all()
    if [path.name for path in ours] != [path.name for path in theirs]:
        return "checkpoints"
    episodes = [
        sorted((path.name, path.read_bytes()) for path in (run / "episodes").iterdir()) for run in (one, two)
    ]
    if episodes[0] != episodes[1]:
        return "episodes"
    return next(
        (
            found
            for a, b in zip(ours, theirs, strict=True)
            if (found := same(checkpoint.load(a), checkpoint.load(b), a.name))
        ),
        None,
    )


def leaves(tree, path=()):
    """The paths of all that is saved; an empty mapping or list is a leaf too."""
    inside = (
        list(tree.items())
        if isinstance(tree, dict)
        else list(enumerate(tree))
        if isinstance(tree, list)
        else []
    )
    return [leaf for name, item in inside for leaf in leaves(item, (*path, name))] or [path]


def without(tree, path):
    """A copy of a saved state in which one leaf is missing."""
    first, *rest = path
    if isinstance(tree, dict):
        return {
            name: without(item, rest) if name == first and rest else item
            for name, item in tree.items()
            if rest or name != first
        }
    return [
        without(item, rest) if i == first and rest else item
        for i, item in enumerate(tree)
        if rest or i != first
    ]


def at(tree, path):
    for name in path:
        tree = tree[name]
    return tree


def put(tree, path, leaf):
    """A copy of a saved state with another leaf."""
    if not path:
        return leaf
    first, *rest = path
    if isinstance(tree, dict):
        return {name: put(item, rest, leaf) if name == first else item for name, item in tree.items()}
    return [put(item, rest, leaf) if i == first else item for i, item in enumerate(tree)]


def goes_on(trainer, state, updates=2):
    """What a trainer logs and is, `updates` after it took back a state; the reason where it refuses it."""
    try:
        trainer.restore(state)
        logs = [trainer.update() for _ in range(updates)]
    except (BadCheckpoint, KeyError, LoquentError) as error:
        return f"refused: {error}"
    return {"logs": json.loads(json.dumps(json_files.finite(logs))), "state": copy.deepcopy(trainer.state())}


def idle(trainer, state, paths, changed, updates=2):
    """The paths for which a run goes on from `changed(state, path)` as from the state."""
    right = goes_on(trainer, state, updates)
    assert same(right, goes_on(trainer, state, updates)) is None, "nothing changed, nothing seen"
    return [path for path in paths if same(right, goes_on(trainer, changed(state, path), updates)) is None]


def stale(trainer, state, fresh, paths, updates=2):
    """The paths whose leaf could stay as it was in a fresh state."""
    return idle(trainer, state, paths, lambda whole, path: put(whole, path, at(fresh, path)), updates)


def moved(state, fresh, paths=None):
    """The paths of leaves that are in a fresh state too, with another value."""
    every = leaves(state) if paths is None else paths
    return [path for path in every if is_in(fresh, path) and same(at(state, path), at(fresh, path))]


def is_in(tree, path):
    try:
        at(tree, path)
    except (KeyError, IndexError, TypeError):
        return False
    return True
