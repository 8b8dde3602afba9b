"""Sources of annotated rows: the options that tagging, labelling and answering share."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.errors import BadSetting

OF_SOURCE = {"builtin": (), "path": ("path",), "hub": ("name", "subset", "revision"), "samples": ("samples",)}


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """A source of annotated rows.

    `samples` are the rows themselves: mappings with the fields of a row, and with `split` if it is not train.
    """

    source: str = setting(
        "builtin",
        "built-in rows, a file or folder, a hub dataset, or the rows in `samples`",
        choices=tuple(OF_SOURCE),
    )
    path: str = setting(
        "", "source path: a file, or a folder with train, validation and test files", file=True
    )
    name: str = setting(
        "", "source hub: the dataset's name, or a local folder in the hub's format", file=True
    )
    subset: str = setting("", "source hub: the dataset's configuration, if it has several")
    revision: str = setting("", "source hub: the commit, 40 hexadecimal digits")
    samples: tuple[Record, ...] = setting(
        (), "source samples: the rows themselves, as mappings; may be empty for a pool that grows"
    )
    instruct: bool = setting(
        True, "add an instruction before the first answer; a small model trained on episodes needs none"
    )
    drop_duplicates: bool = setting(False, duplicates.HELP)
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        for kind, fields in OF_SOURCE.items():
            for field in fields:
                if getattr(self, field) and kind != self.source:
                    raise BadSetting(
                        f"{field} = {getattr(self, field)!r:.80} is set, but source = "
                        f"{self.source!r}; {field} belongs to the source {kind!r}"
                    )
        if self.source in ("path", "hub") and not getattr(self, OF_SOURCE[self.source][0]):
            raise BadSetting(
                f"the source {self.source!r} needs {OF_SOURCE[self.source][0]}, which is empty; set it"
            )


@dataclass(frozen=True, kw_only=True)
class Labelled(Annotated):
    """A source of rows with labels."""

    labels: tuple[str, ...] = setting(
        (), "all labels, in the order of their actions; empty: those of all splits, sorted"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.labels)) != len(self.labels) or not all(
            label and label == label.strip() for label in self.labels
        ):
            raise BadSetting(
                f"labels = {self.labels!r:.80}; they must be different names without spaces around them"
            )
