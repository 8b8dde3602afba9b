"""Recipes that are composed of two files, one for the dataset and one for the method.

    grue/imdb.yaml           what all methods share; `methods: {ppo: {algorithm: {beta: 0.1}}}`
    grue/methods/nlpo.yaml   what all datasets share; `base: ppo` takes the settings of another method

The recipe `grue_imdb_nlpo` is the file of the dataset, over it those of PPO and NLPO, over them the dataset's
entries for PPO and NLPO. An entry with a `base` lies over that method alone, without the dataset.
"""

from __future__ import annotations

import functools
from pathlib import Path

from loquent.core.options import Node, read, unknown
from loquent.training.recipes import layers


def files(folder: Path) -> dict[str, tuple[Path, ...]]:
    """The files of a folder's dataset and method, by the names of the recipes."""
    return {
        f"{folder.name}_{dataset.stem}_{method.stem}": (dataset, method)
        for dataset in folder.glob("*.yaml")
        for method in (folder / layers.METHODS).glob("*.yaml")
    }


def tree(dataset: Path, method: Path) -> Node:
    """The tree of the recipe of a dataset and a method.

    Raises:
        BadSetting: the dataset has an entry for a method that does not exist, or a base does not exist.
    """
    below = layers.whole(read(dataset), dataset)
    node = below.mapping("a recipe").pop(layers.METHODS, Node({}, dataset.name, 1))
    entries, known = node.mapping(layers.METHODS), [file.stem for file in method.parent.glob("*.yaml")]
    for name, entry in entries.items():
        if name not in known:
            raise unknown(entry, name, known, layers.METHODS)
    own = entries.get(method.stem)
    if own is not None and layers.BASE in own.mapping(layers.METHODS):
        return layers.whole(own, method.with_name(dataset.name))
    methods = layers.bases(read(method), method)
    return functools.reduce(
        layers.over, [below, *methods.values(), *(entries[name] for name in methods if name in entries)]
    )
