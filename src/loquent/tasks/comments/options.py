"""The options of the task: rows, what the agent reads, and who judges."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.settings import check_ranges, setting
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.errors import BadSetting

BUILTIN, PATH = "builtin", "path"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The settings under `task:` for comments."""

    source: str = setting(BUILTIN, "builtin: made posts and replies; path: files", choices=(BUILTIN, PATH))
    path: str = setting(
        "",
        "source path: a CSV, JSONL or TSV file, a folder with one for each split, or the folder of ILQL's "
        "release with comments_positive.csv and comments_negative.csv",
        file=True,
    )
    drop_duplicates: bool = setting(False, duplicates.HELP)
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)
    parent: bool = setting(True, "show the post that is replied to; else the agent writes from nothing")
    moderator: str | Record = setting(
        "comments/rules",
        "the agent that labels a comment 0, 1 or 2 for toxicity, as a name or {kind: NAME, OPTION: VALUE}; "
        "empty: nobody, so both rewards of toxicity are 0",
    )
    voter: str | Record = setting(
        "comments/rules", "the agent that votes 1 or -1 on a comment, as the moderator; empty: nobody"
    )
    instruct: bool = setting(
        True, "state the rules before the post; a small model trained on episodes needs none"
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if (self.source == PATH) != bool(self.path):
            raise BadSetting(
                f"source = {self.source!r} with path = {self.path!r:.80}; source=path needs a path, and "
                "source=builtin has none"
            )
