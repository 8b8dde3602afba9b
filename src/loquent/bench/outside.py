"""What the runs of a profile read from outside the package, and whether it is on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from loquent.bench import collecting
from loquent.bench.jobs import Job, Plan
from loquent.bench.schema.sets import SetJob
from loquent.bench.schema.suite_schema import Need, Profile
from loquent.core.values import plain
from loquent.errors import BadSetting
from loquent.files import names
from loquent.files.machine.network import may_have
from loquent.files.run_folder import RunFolder


def check(plan: Plan, profile: Profile) -> None:
    """Check that everything that unfinished runs read from outside is here, before one begins.

    Raises:
        BadSetting: something is missing; names each, its place, its source and the override that names
            another place.
    """
    if lines := missing(plan, profile):
        raise BadSetting(
            "these runs read what is not on this machine:\n"
            + "\n".join(f"  {line}" for line in lines)
            + "\nput each in its place, or name another place"
        )


def missing(plan: Plan, profile: Profile) -> list[str]:
    """One line for each thing that is missing."""
    read = [settings(job) for job in plan.jobs if not _is_finished(job)]
    needed = {
        name: need for name, need in profile.needs.items() if any(_reads(each, name, need) for each in read)
    }
    has = cache(may_have)
    lines = [_line(name, need) for name, need in needed.items() if not _is_here(name, need, has)]
    return lines + [
        f"data.{job.name}.path = {job.data.path!r} holds no recorded episodes; name a file of episodes or a "
        f"folder with {names.EPISODES}"
        for job in plan.jobs
        if isinstance(job, SetJob)
        and job.data.path
        and job.data.path not in needed
        and not job.file.is_file()
    ]


def settings(job: Job | SetJob) -> dict[str, Any]:
    """All settings of a job by key.path."""
    tree = plain(job.data) if isinstance(job, SetJob) else job.recipe.resolve()
    return dict(_leaves(tree))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}")
    else:
        yield path, value


def _is_finished(job: Job | SetJob) -> bool:
    if isinstance(job, SetJob):
        return collecting.find_figures(job) is not None
    return RunFolder(job.folder).suite.exists()


def _reads(found: Mapping[str, Any], name: str, need: Need) -> bool:
    if need.where:
        return all(found.get(path) == value for path, value in need.where.items())
    return name in found.values()


def _is_here(name: str, need: Need, has: Any) -> bool:
    path = Path(name).expanduser()
    if need.hub:
        return path.exists() or has(name)
    files = [path / file for file in need.files] or [path]
    return all(file.exists() or file.with_name(f"{file.name}.gz").exists() for file in files)


def _line(name: str, need: Need) -> str:
    place = f"{name} (Hugging Face hub)" if need.hub else name
    files = f", with {', '.join(need.files)} (each also as .gz)" if need.files else ""
    return f"{place}{files}: {need.what}; from {need.source}; another place: {need.instead}"
