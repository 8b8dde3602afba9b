"""The rows of dialogue: built-in scenes, or dialogues about images from files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from loquent.data import content, duplicates
from loquent.data.sources import Splits, limit_rows
from loquent.tasks.dialogue.game.options import BUILTIN, Options
from loquent.tasks.dialogue.sources import builtin


@content.cache_reads(8)
def load(options: Options) -> Splits:
    """The rows by split, at most `options.limit` of each; errors as in `sources.visdial.splits`.

    A row has `caption`, `dialog` (recorded pairs of question and answer), and `file` and `image`, the place
    of its image among the features; a built-in one `subject` and `values`, one of a file `image_id` and,
    where it is recorded, `progress`.

    Warns:
        Remark: an image (where it has no id: a caption) of the files stands in two splits.
    """
    splits = everything(options)
    if options.source != BUILTIN:
        splits = duplicates.check_splits(
            splits, options.path, options.drop_duplicates, ("image_id", "caption")
        )
    return {split: limit_rows(rows, options.limit) for split, rows in splits.items()}


@content.cache_reads(8)
def everything(options: Options) -> Splits:
    """All rows by split, whatever the limit."""
    if options.source == BUILTIN:
        return builtin.splits()
    from loquent.tasks.dialogue.sources import visdial

    return visdial.splits(Path(options.path).expanduser(), options.progress)


@content.cache_reads(8)
def sizes(options: Options) -> dict[str, int]:
    """The number of dialogues in each file."""
    return dict(Counter(row["file"] for rows in everything(options).values() for row in rows))
