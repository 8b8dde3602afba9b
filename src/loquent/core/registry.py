"""The registry of names: `register` stores a target "module:Name", and `find` imports it.

An installed package adds names by entry points of the group `loquent`: `KIND.NAME = "module:Name"`. The
target of a recipe is a file in a package: `recipe.NAME = "package:file.yaml"`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn, cast

from loquent.core.catalogue import NAMES, WORLDS
from loquent.errors import MANY, BadSetting, NotImported, UnknownName, debugging

KINDS = ("task", "algorithm", "agent", "design", "reward", "metric", "featurizer", "recipe")
GROUP = "loquent"  # the group of entry points

_refused: ContextVar[frozenset[str]] = ContextVar("names that are not imported", default=frozenset())


def _built_in() -> dict[str, dict[str, str]]:
    """All built-in names by kind: those of the catalogue and those of each folder in tasks/."""
    names = {kind: dict(NAMES.get(kind, {})) for kind in KINDS}
    for kind in ("task", "agent", "design"):
        names[kind] |= _declared(f"{kind.upper()}S")
    return names


def environments() -> dict[str, dict[str, str]]:
    """The Gymnasium ids of all built-in tasks, each with the arguments of its environment."""
    return _declared("ENVIRONMENTS")


def pictures() -> dict[str, str]:
    """Task -> "module:Name" of a function that draws its recorded episodes.

    The function maps the texts of the task, in order, to one SVG each, or "" for a text without a picture.
    """
    return _declared("PICTURES")


def checks() -> dict[str, str]:
    """Task -> "module:Name" of a function that checks the published files of the task.

    The function maps a folder to lines to print and to JSON data whose `problems` is a list of texts.
    """
    return _declared("CHECKS")


def imports() -> dict[str, str]:
    """Name of a data set of others -> "module:Name" of a function that makes files of it for a task.

    The function maps folders and the folder for the files to lines to print and to JSON data.
    """
    return _declared("IMPORTS")


def servers() -> dict[str, str]:
    """Task -> "module:Name" of a function from the task to an ASGI application that serves its seats."""
    return _declared("SERVERS")


def networks() -> dict[str, str]:
    """Name -> "module:Name" of a network that a task brings for learners that choose among its actions.

    It is a class derived from `loquent.pretrained.learning.turn_network.TurnNetwork`.
    """
    return _declared("NETWORKS")


def _declared(table: str) -> dict[str, Any]:
    """The tables of this name in the `names.py` of all worlds, as one; a world may leave a table out."""
    targets: dict[str, Any] = {}
    for world in WORLDS:
        targets |= getattr(importlib.import_module(f"loquent.tasks.{world}.names"), table, {})
    return targets


_names = _built_in()


@functools.cache
def _installed() -> Mapping[str, Mapping[str, str]]:
    """The names that installed packages add, by kind; they cannot replace built-in names."""
    targets: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for point in metadata.entry_points(group=GROUP):
        kind, _, name = point.name.partition(".")
        if kind in targets and name:
            targets[kind].setdefault(name, point.value)
    return targets


def _known(kind: str) -> dict[str, str]:
    return {**_installed()[kind], **_names[kind]}


def register(kind: str, name: str, target: str) -> None:
    """Register `name` for `target`: "module:Name", or the path of a file for a recipe.

    A later call replaces an earlier one.
    """
    if kind not in _names:
        raise UnknownName("kind", kind, KINDS)
    _names[kind][name] = target


def names(kind: str) -> list[str]:
    """All registered names of a kind, sorted."""
    if kind not in _names:
        raise UnknownName("kind", kind, KINDS)
    return sorted(_known(kind))


def target(kind: str, name: str) -> str:
    """The registered target of a name, as a string."""
    if name in _names[kind]:
        return _names[kind][name]
    known = _known(kind)
    if name not in known:
        raise UnknownName(kind, name, known, advice=advice(kind, len(known)))
    return known[name]


def advice(kind: str, known: int) -> str:
    """Where to look for a name that is unknown: the command that lists all, and how to name code."""
    listing = "" if known <= MANY else f"`loquent list {kind}s` shows all. "
    return listing + (
        ""
        if kind == "recipe"
        else f"Name {'an' if kind[0] == 'a' else 'a'} {kind} of your own as module:Name"
    )


def find(kind: str, name: str) -> Any:
    """The registered object, imported now.

    Raises:
        UnknownName: nothing of this kind has this name. BadSetting: as from `import_name`; for a name of an
            installed package the message says which package and which entry point.
    """
    dotted = target(kind, name)
    if name in _names[kind]:
        return import_name(dotted)
    try:
        return import_name(dotted)
    except BadSetting as error:
        raise BadSetting(f"{_entry_point(kind, name)}: {error}") from error


def recipe_file(name: str) -> Path:
    """The file of a registered recipe.

    Raises:
        UnknownName: no registered recipe has this name. BadSetting: an installed package names a file that it
            does not have.
    """
    dotted = target("recipe", name)
    if name in _names["recipe"]:
        return Path(dotted)
    package, _, file = dotted.partition(":")
    spec = importlib.util.find_spec(package) if is_import_name(f"{package}:file") else None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / file).is_file():
            return path
    raise BadSetting(
        f"{_entry_point('recipe', name)}: there is no such file; it must be 'package:file.yaml', a file in "
        "the folder of an installed package"
    )


def _entry_point(kind: str, name: str) -> str:
    """The entry point of an installed name, for errors."""
    for point in metadata.entry_points(group=GROUP):
        if point.name == f"{kind}.{name}":
            package = point.dist.name if point.dist else "an installed package"
            return f"the package {package} has the entry point {point.name} = {point.value!r}"
    return f"the entry point {kind}.{name}"


def resolve(kind: str, name: str) -> Any:
    """The object for a registered name or for "module:Name", imported now."""
    return import_name(name) if ":" in name else find(kind, name)


def is_import_name(text: str) -> bool:
    """Whether a text has the form "module:Name", which `import_name` requires."""
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), name))


def import_name(name: str) -> Any:
    """The object that "module:Name" names; modules of the current folder are searched last.

    Raises:
        BadSetting: the text has another form, the module cannot be imported (it is missing, or its code
            raises; the file and line are named), or it has no such name.
        NotImported: the name is refused in this context (`refuse_imports`).
    """
    if not is_import_name(name):
        raise BadSetting(f"{name!r:.200} is not of the form 'module:name'")
    if name in _refused.get():
        raise NotImported(f"{name!r} is named in a file that is only read, so it is not imported")
    module, _, attribute = name.partition(":")
    if module.partition(".")[0] != "loquent":
        search_current_folder()
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise BadSetting(
                f"{name!r}: there is no module {error.name!r}; its folder must be the current one or "
                "on PYTHONPATH"
            ) from error
        _refuse(name, error)
    except Exception as error:
        _refuse(name, error)
    if not hasattr(imported, attribute):
        file = getattr(imported, "__file__", None) or "built into Python"
        raise BadSetting(f"{name!r}: the module {module} has no {attribute!r}; it was read from {file}")
    return getattr(imported, attribute)


def _refuse(name: str, error: Exception) -> NoReturn:
    """Raise BadSetting for what a module raises on import, with its place.

    An error of a module of ours, such as a missing library of an extra, stays as it is; with LOQUENT_DEBUG=1
    in the environment any error does.
    """
    module = name.partition(":")[0]
    if module.partition(".")[0] == "loquent" or debugging():
        raise error
    why = f"{module} cannot be imported: {_cause(error)}; LOQUENT_DEBUG=1 shows the traceback"
    raise BadSetting(f"{name!r}: {why}") from error


def _cause(error: Exception) -> str:
    """The kind and text of an error, with the file and line that raised it."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename}:{place.lineno}: {type(error).__name__}: {error}"


def function(name: str, what: str) -> Callable[..., Any]:
    """The function that "module:Name" names.

    Args:
        what: the name of the setting in error messages.

    Raises:
        BadSetting: as from `import_name`; also when the object cannot be called.
    """
    imported = import_name(name)
    if not callable(imported):
        raise BadSetting(f"{what} = {name!r} is {imported!r:.80}, which cannot be called; name a function")
    return cast(Callable[..., Any], imported)


def accepts(factory: Any, *args: Any, **options: Any) -> bool:
    """Whether an imported object can be called with these arguments, judged by its signature."""
    try:
        inspect.signature(factory, follow_wrapped=False).bind(*args, **options)
    except (TypeError, ValueError):
        return False
    return True


def search_current_folder() -> None:
    """Add the current folder to the end of the module search path, so that its files hide no library."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)


@contextmanager
def refuse_imports(names: Iterable[str]) -> Iterator[None]:
    """A context in which the import of these names ("module:Name") raises NotImported."""
    token = _refused.set(frozenset(names))
    try:
        yield
    finally:
        _refused.reset(token)
