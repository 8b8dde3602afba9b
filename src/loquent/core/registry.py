"""Names to things: `register(kind, name, "module:Name")` keeps a string, `find(kind, name)` imports it when
asked.

An installed package adds names by entry points of the group `loquent`: `KIND.NAME = "module:Name"`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import metadata
from typing import Any

from loquent.core.catalogue import NAMES, WORLDS
from loquent.errors import BadSetting, NotImported, UnknownName

KINDS = ("task", "algorithm", "agent", "design", "reward", "metric", "featurizer", "recipe")
GROUP = "loquent"  # of entry points

_alone: ContextVar[frozenset[str]] = ContextVar("names that are not imported", default=frozenset())


def _built_in() -> dict[str, dict[str, str]]:
    """All built-in names by kind: those of the catalogue, and those of each world."""
    names = {kind: dict(NAMES.get(kind, {})) for kind in KINDS}
    for world in WORLDS:
        own = importlib.import_module(f"loquent.tasks.{world}.names")
        for kind, given in (("task", own.TASKS), ("agent", own.AGENTS), ("design", own.DESIGNS)):
            names[kind] |= given
    return names


def environments() -> dict[str, dict[str, str]]:
    """The Gymnasium ids of all worlds, each with the arguments of its environment."""
    found: dict[str, dict[str, str]] = {}
    for world in WORLDS:
        found |= importlib.import_module(f"loquent.tasks.{world}.names").ENVIRONMENTS
    return found


_names = _built_in()


@functools.cache
def _installed() -> Mapping[str, Mapping[str, str]]:
    """The names that installed packages add, by kind. A built-in name stays what it is."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for point in metadata.entry_points(group=GROUP):
        kind, _, name = point.name.partition(".")
        if kind in found and name:
            found[kind].setdefault(name, point.value)
    return found


def _known(kind: str) -> dict[str, str]:
    return {**_installed()[kind], **_names[kind]}


def register(kind: str, name: str, target: str) -> None:
    """Let `name` stand for `target` ("module:Name", or a file's path for a recipe).

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
    """What a name stands for, as the string that was registered."""
    if name in _names[kind]:
        return _names[kind][name]
    known = _known(kind)
    if name not in known:
        raise UnknownName(kind, name, known)
    return known[name]


def find(kind: str, name: str) -> Any:
    """The registered thing itself, imported now."""
    return import_name(target(kind, name))


def resolve(kind: str, name: str) -> Any:
    """The thing a registered name or "module:Name" stands for, imported now."""
    return import_name(name) if ":" in name else find(kind, name)


def is_import_name(text: str) -> bool:
    """Whether a text has the form "module:Name"; `import_name` takes nothing else."""
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), name))


def import_name(name: str) -> Any:
    """The thing that "module:Name" names; modules of the current folder are found too, behind all others.

    Raises:
        BadSetting: the text has another form, the module cannot be imported, or it has no such name.
        NotImported: the name is left alone now (`refuse_imports`).
    """
    if not is_import_name(name):
        raise BadSetting(f"{name!r:.200} is not of the form 'module:name'")
    if name in _alone.get():
        raise NotImported(f"{name!r} stands in a file and is not imported")
    module, _, inside = name.partition(":")
    if module.partition(".")[0] != "loquent":
        search_current_folder()
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise BadSetting(
                f"{name!r}: there is no module {error.name!r}; its folder must be the current one or "
                "on PYTHONPATH"
            ) from error
        raise
    if not hasattr(found, inside):
        raise BadSetting(f"{name!r}: the module {module} has no {inside!r}")
    return getattr(found, inside)


def function(name: str, what: str) -> Callable[..., Any]:
    """The function that "module:Name" names; `what` is what errors call it.

    BadSetting as from `import_name`, or where it cannot be called.
    """
    found = import_name(name)
    if not callable(found):
        raise BadSetting(f"{what} = {name!r} is {found!r:.80}, which cannot be called; name a function")
    function_: Callable[..., Any] = found
    return function_


def accepts(made: Any, *given: Any, **options: Any) -> bool:
    """Whether something imported can be called with these arguments, as far as it says."""
    try:
        inspect.signature(made, follow_wrapped=False).bind(*given, **options)
    except (TypeError, ValueError):
        return False
    return True


def search_current_folder() -> None:
    """Let modules of the current folder be found, behind all others, so that no file here can stand in for a
    library.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)


@contextmanager
def refuse_imports(names: Iterable[str]) -> Iterator[None]:
    """Refuse these names of the form "module:Name" for a while: to import one raises NotImported."""
    token = _alone.set(frozenset(names))
    try:
        yield
    finally:
        _alone.reset(token)
