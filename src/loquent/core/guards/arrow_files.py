"""Bounds on what is read from Parquet files and from files of Arrow.

A small file can hold columns of gigabytes: by compression, by entries that all refer to one long text, or by
offsets that point outside of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from loquent.core.guards import sandbox
from loquent.core.guards.json_files import loads
from loquent.core.guards.opening import MOST_WHOLE, check_expansion, check_regular, whole

WORKER = Path(__file__).with_name("parquet_worker.py")
SECONDS, MEMORY = 20, 1 << 32  # of the process that looks at metadata
ROWS = 2048  # rows of one batch
MAGIC = b"ARROW1"  # the first bytes of a file of Arrow with a footer; a stream has none


def batch_rows(path: Path) -> int:
    """The rows of a Parquet file to read at a time: few where a value may be long, as columns repeat values.

    Raises:
        OSError: the columns are much larger than the file, or its metadata are damaged.
    """
    check_regular(path)
    try:
        job = {"path": str(path.resolve())}
        sizes = sandbox.run(WORKER, job, seconds=SECONDS, memory=MEMORY)
    except sandbox.Failed as error:
        raise OSError(f"its metadata cannot be read: {error}") from error
    check_expansion(sizes["total"], path.stat().st_size)
    return int(min(ROWS, max(1, MOST_WHOLE // max(1, sizes["longest"]))))


def rows(batches: Iterable[Any], size: int) -> Iterator[dict[str, Any]]:
    """The rows of batches one by one; OSError if they are much larger than a file of this size."""
    total = 0
    for batch in batches:
        total += batch.nbytes
        check_expansion(total, size)
        if batch.nbytes <= MOST_WHOLE:
            yield from batch.to_pylist()
        else:
            for i in range(batch.num_rows):
                yield batch.slice(i, 1).to_pylist()[0]


def repeating(types: Iterable[Any]) -> Any:
    """The first type, also inside others, whose entries may all refer to one long text; None without one."""
    from pyarrow import types as kinds

    waiting = list(types)
    for kind in waiting:
        if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind) or "_view" in str(kind).split("<")[0]:
            return kind
        waiting += [kind.field(i).type for i in range(kind.num_fields)]
    return None


def streams(folder: Path) -> list[Path]:
    """The files of Arrow of a folder that `datasets` saved; errors as `check_stream`.

    OSError for a file that lies elsewhere.
    """
    files = []
    for entry in loads(whole(folder / "state.json"))["_data_files"]:
        file = folder / entry["filename"]
        if file.parent != folder:
            raise OSError(f"{entry['filename']} is not a file of this folder")
        check_stream(file)
        files.append(file)
    return files


def check_stream(file: Path) -> int:
    """Where the stream of a file of Arrow begins.

    A file with a footer is a stream between its first bytes and the footer, which is not read.
    OSError for a stream that is compressed or has other messages than one schema and batches.

    Compressed buffers decompress as a whole and without a bound when a library opens a file.
    """
    from pyarrow import ipc, memory_map

    check_regular(file)
    with memory_map(str(file)) as source:
        begin = 8 if source.read(len(MAGIC)) == MAGIC else 0
        source.seek(begin)
        messages = ipc.MessageReader.open_stream(source)
        try:
            while True:
                message = messages.read_next_message()
                if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
                    raise OSError(f"{file.name} is compressed")
                if message.type not in ("schema", "record batch"):
                    raise OSError(f"{file.name} has a {message.type}")
        except StopIteration:
            pass
    return begin


def schema_of(file: Path) -> Any:
    """The schema of a stream of Arrow."""
    from pyarrow import ipc, memory_map

    with memory_map(str(file)) as source:
        return ipc.open_stream(source).schema


def valid(table: Any) -> Any:
    """The table; an error where its offsets point outside of its values."""
    table.validate(full=True)
    return table


def _is_compressed(message: bytes) -> bool:
    """Whether a record batch has the fourth field of its FlatBuffers table, its compression."""

    def field(table: int, number: int) -> int:
        vtable = table - int.from_bytes(message[table : table + 4], "little", signed=True)
        at = vtable + 4 + 2 * number
        end = vtable + int.from_bytes(message[vtable : vtable + 2], "little")
        return int.from_bytes(message[at : at + 2], "little") if at < end else 0

    root = int.from_bytes(message[:4], "little")
    header = root + field(root, 2)
    return bool(field(header + int.from_bytes(message[header : header + 4], "little"), 3))
