"""The rows of a source by split, built in or read from files."""

from __future__ import annotations

from loquent.core.values import digest
from loquent.data import content, duplicates
from loquent.data.sources import SPLITS, Source, Splits, with_validation
from loquent.errors import BadSetting


@content.kept(16)
def load(source: Source) -> Splits:
    """The rows of a source by split; kept in the process while the files hold the same.

    Their ids are stable, and unique within the source.

    A hash of each row's id splits a single file (`split_by_id`). Where a source
    has train and no validation, the same hash moves a fifth of train to validation. A split without rows is
    absent. Rows that stand in two splits are reported with a `Remark`, or left out of the earlier one
    (`drop_duplicates`).

    Raises:
        BadRow: a row is bad; names file and line.
        BadSetting: there is nothing to read at the path or under the name.
        MissingExtra: kind hub without the extra "hub".
    """
    if source.kind == "builtin":
        return _builtin(source)
    from loquent.data import source_files

    splits = with_validation(source_files.read(source))
    splits = duplicates.checked(splits, source.path or source.pinned, source.drop_duplicates)
    return {split: splits[split] for split in SPLITS if splits.get(split)}


def fingerprint(source: Source) -> str:
    """A hash of all rows of a source, 16 hexadecimal digits, which a run records to identify its data."""
    rows = tuple(
        (split, digest(tuple((row.id, row.fields) for row in rows), 64))
        for split, rows in load(source).items()
    )
    return digest(rows, 16)


def _builtin(source: Source) -> Splits:
    from loquent.data.reviews import reviews

    if source != Source(labels=source.labels, drop_duplicates=source.drop_duplicates):
        raise BadSetting(
            "text_field or label_field is set for the built-in reviews, whose fields are text and "
            "label; leave both settings at their defaults"
        )
    return reviews()
