"""The rows of comments: built-in ones, or those of files."""

from __future__ import annotations

from pathlib import Path

from loquent.data import content, duplicates
from loquent.data.sources import Splits, limit_rows
from loquent.tasks.comments.language import posts
from loquent.tasks.comments.options import BUILTIN, Options


@content.cache_reads(8)
def load(options: Options) -> Splits:
    """The rows by split, at most `options.limit` of each.

    Raises:
        BadSetting: there is nothing to read at the path. BadRow: a row is bad; names file and line.

    Warns:
        Remark: a post (of rows without a post: a comment) stands in two splits.
    """
    if options.source == BUILTIN:
        splits = posts.splits()
    else:
        from loquent.tasks.comments import files

        read = files.read(Path(options.path).expanduser())
        splits = duplicates.check_splits(read, options.path, options.drop_duplicates, ("parent", "comment"))
    return {split: limit_rows(rows, options.limit) for split, rows in splits.items()}
