"""Where the rows of annotated data come from: the options that tagging, labelling and answering have in common."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.errors import BadSetting
from loquent.settings import check_ranges, setting
from loquent.values import Record

OF_SOURCE = {"builtin": (), "path": ("path",), "hub": ("name", "subset", "revision"), "samples": ("samples",)}


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """A source of annotated rows. `samples` are rows given here: mappings with the fields of a row, and `split` where it is not train."""

    source: str = setting("builtin", "rows made by Loquent, a file or folder, a dataset of the hub, or samples given here", choices=tuple(OF_SOURCE))
    path: str = setting("", "source path: a file, or a folder with train, validation and test files")
    name: str = setting("", "source hub: the dataset's name, or a local folder in the hub's format")
    subset: str = setting("", "source hub: the dataset's configuration, where it has several")
    revision: str = setting("", "source hub: the commit, 40 hexadecimal digits")
    samples: tuple[Record, ...] = setting((), "source samples: the rows themselves, as mappings; none is right for a pool that grows")
    instruct: bool = setting(True, "tell before the first answer what is asked for; a small model that is taught by games needs no telling")
    limit: int = setting(0, "at most so many rows a split, chosen by a hash of their ids; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        for kind, fields in OF_SOURCE.items():
            for field in fields:
                if getattr(self, field) and kind != self.source:
                    raise BadSetting(f"{field} = {getattr(self, field)!r:.80} belongs to the source {kind!r}; this one is {self.source!r}")
        if self.source in ("path", "hub") and not getattr(self, OF_SOURCE[self.source][0]):
            raise BadSetting(f"the source {self.source!r} needs {OF_SOURCE[self.source][0]}")


@dataclass(frozen=True, kw_only=True)
class Labelled(Annotated):
    """A source of rows with labels."""

    labels: tuple[str, ...] = setting((), "all labels, in the order of their actions; empty: those of all splits, sorted")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.labels)) != len(self.labels) or not all(label and label == label.strip() for label in self.labels):
            raise BadSetting(f"labels = {self.labels!r:.80}: distinct names without spaces around them are right")
