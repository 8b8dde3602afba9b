"""The sizes in a Parquet file's metadata, for the process with limits of `core.guards.sandbox`.

In some damaged files asking for them ends the process, because nothing catches the library's error.
"""

from __future__ import annotations

from typing import Any


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """The bytes of all columns, and of the largest column of a row group; or the error."""
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(job["path"])
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        return {
            "total": sum(group.total_byte_size for group in groups),
            "longest": max((column.total_uncompressed_size for column in columns), default=1),
        }
    except Exception as error:  # the library raises many kinds
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}
