"""Loads recipes: by name or from a YAML file, with a profile and overrides on top."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

from loquent.core import registry
from loquent.core.options import Node, read
from loquent.core.settings import noting_remarks
from loquent.errors import BadSetting, UnknownName, naming
from loquent.files import trust
from loquent.training.recipes import building, composition, effects, layers, smoke
from loquent.training.recipes.overrides import PROFILE, Override, Overrides, override
from loquent.training.recipes.recipe import Recipe

FOLDER = resources.files("loquent.training.recipes")
Imports = Literal["trusted", "all", "none"]
Files = tuple[Path, ...]  # one, or those of a dataset and a method


def load(
    name: str | Path,
    overrides: Overrides = (),
    *,
    profile: str | None = None,
    imports: Imports = "trusted",
    begun: bool = False,
) -> Recipe:
    """A recipe by registered or built-in name, or from a YAML file.

    Args:
        overrides: `key.path=value`, or settings of a file (`overrides.of_file`); later ones override
            earlier ones.
        profile: a profile of the recipe. "smoke", which every recipe has, makes updates, episodes and the
            model tiny, so that a run takes seconds and needs no other run. Overrides are applied after it.
        imports: what happens to code that a YAML file names as `module:Name`. "trusted" imports it if the
            file lies under the current folder or was written here by this user (`trust`). "all" imports it.
            "none" imports nothing: settings that only the code could check stay as the file has them, and
            the recipe can be shown, not run.
        begun: whether the file is that of a run that has begun, which early stopping on the split of the
            final evaluation does not keep from being read.

    Raises:
        UnknownName: no such recipe, or no such profile of it. BadSetting: an unknown key or a bad value, with
            file and line, or early stopping on the split of the final evaluation. NotTrusted: the file names
            code and is not trusted.

    Warns:
        Remark: a setting has no effect, such as the size of a new model beside `model.path`.
    """
    files = find(name)
    root = tree(files)
    root.mapping("a recipe").setdefault("name", Node(Path(str(name)).stem, root.file, root.line))
    chosen = layers.profile(root, profile)
    own = layers.files(files[0]) if str(name).endswith((".yaml", ".yml")) else []
    first = override(override(copy.deepcopy(root), chosen), overrides)
    others = [item.file for item in overrides if isinstance(item, Override) and item.file]
    alone = _gate(first, [*own, *others], imports)
    with registry.refuse_imports(alone):
        tiny = smoke.overrides_of(profile, root, [*chosen, *overrides])
    whole = override(override(override(root, chosen), tiny, PROFILE), overrides)
    alone |= _gate(whole, [*own, *others], imports)
    remarks: list[str] = []
    with registry.refuse_imports(alone), noting_remarks(remarks.append):
        fields = building.settings(whole)
    if not begun:
        effects.refuse_choice(fields["training"], whole)
    return Recipe(**fields, alone=alone, remarks=tuple(remarks))


def _gate(tree: Node, files: Sequence[Path], imports: Imports) -> frozenset[str]:
    """The names of code in a tree that may not be imported; raises NotTrusted as `load`."""
    if imports == "trusted":
        trust.check(tree, files)
    return frozenset(reach.name for reach in trust.reaches(tree) if imports == "none")


def names() -> list[str]:
    """All recipes known by name: the built-in ones and the registered ones."""
    return sorted({*built_in(), *registry.names("recipe")})


def built_in() -> dict[str, Files]:
    """The files of the built-in recipes by name."""
    folder = Path(str(FOLDER))
    alone: dict[str, Files] = {file.stem: (file,) for file in folder.glob("*.yaml")}
    return alone | composition.files(folder / "grue")


def profiles(name: str | Path) -> Sequence[str]:
    """The profiles of a recipe, without "smoke"; raises as `find`."""
    return layers.names(tree(find(name)))


def tree(files: Files) -> Node:
    """The tree of a recipe over all layers below it.

    Raises:
        BadSetting: a file is empty or cannot be read, or a base does not exist.
    """
    path, *method = files
    if method:
        return composition.tree(path, *method)
    root = read(path)
    if not root.mapping("a recipe"):
        raise BadSetting(
            f"{path.name}: the recipe is empty; `loquent show reviews_ppo` prints a complete one"
        )
    return layers.whole(root, path)


def find(name: str | Path) -> Files:
    """The YAML file of a recipe, or the two files that it is composed of.

    Raises:
        UnknownName: no recipe has this name. BadSetting: there is no such file.
    """
    if not isinstance(name, str | Path):
        raise BadSetting(
            f"{naming('recipe', name)}; it must be a Recipe, the name of one or the path "
            "of a YAML file; give single settings as overrides, as in ['training.updates=2']"
        )
    if str(name).endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise BadSetting(
                f"there is no recipe file {path}; `loquent list recipes` shows the built-in ones"
            )
        return (path,)
    if str(name) in registry.names("recipe"):
        return (registry.recipe_file(str(name)),)
    if str(name) not in names():
        raise UnknownName("recipe", str(name), names(), advice="`loquent list recipes` shows all")
    return built_in()[str(name)]
