"""A reader of PNG files with 8 bits per channel, without an imaging library and bounded in size."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}  # the colour types RGB and RGBA
LARGEST = 512  # pixels of width and height; a picture of NLVR has 400 x 100
NONE, SUB, UP, AVERAGE, PAETH = range(5)  # the filters of a row


def rgb(data: bytes) -> NDArray[np.uint8]:
    """u8[height, width, 3]: the picture of a PNG file (RGB or RGBA, 8 bits, not interlaced).

    The alpha channel must be opaque.

    Raises:
        ValueError: the data are no such file, or they are damaged.
    """
    chunks = _chunks(data)
    name, header = next(chunks)
    if name != b"IHDR" or len(header) != 13:
        raise ValueError("the PNG file does not begin with a header")
    width, height, depth, color, compression, filters, interlaced = struct.unpack(">IIBBBBB", header)
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        raise ValueError(f"the picture is {width} x {height} pixels; at most {LARGEST} x {LARGEST} are read")
    if depth != 8 or color not in CHANNELS or (compression, filters, interlaced) != (0, 0, 0):
        raise ValueError(
            f"the PNG file has bit depth {depth}, colour type {color} and interlacing {interlaced}; it must "
            "be RGB or RGBA with 8 bits, not interlaced"
        )
    channels = CHANNELS[color]
    size = height * (1 + width * channels)
    inflated = _inflated(b"".join(content for name, content in chunks if name == b"IDAT"), size)
    pixels = _unfiltered(np.frombuffer(inflated, dtype=np.uint8).reshape(height, -1), channels)
    if channels == 4 and (pixels[:, :, 3] != 255).any():
        raise ValueError("the picture has transparent pixels; it must be opaque")
    return pixels[:, :, :3]


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and contents of all chunks to the end of the picture."""
    if data[: len(SIGNATURE)] != SIGNATURE:
        raise ValueError("this is no PNG file")
    at = len(SIGNATURE)
    while True:
        length = int.from_bytes(data[at : at + 4], "big")
        name, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        checksum = data[at + 8 + length : at + 12 + length]
        if len(checksum) < 4:
            raise ValueError("the PNG file ends too early")
        if zlib.crc32(name + content) != int.from_bytes(checksum, "big"):
            raise ValueError(f"the PNG file is damaged: the checksum of {name!r} is wrong")
        yield name, content
        if name == b"IEND":
            return
        at += 12 + length


def _inflated(data: bytes, size: int) -> bytes:
    """The decompressed data, which must have exactly `size` bytes; no more are decompressed."""
    reader = zlib.decompressobj()
    try:
        inflated = reader.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"the PNG file is damaged ({error})") from error
    if len(inflated) != size or not reader.eof:
        raise ValueError(f"the PNG file does not hold the {size:,} bytes of its picture")
    return inflated


def _unfiltered(rows: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """u8[height, width, channels]: undo the filter of each row (PNG specification, section 9)."""
    height, width = len(rows), (rows.shape[1] - 1) // channels
    pixels = np.zeros((height, width, channels), dtype=np.uint8)
    above = np.zeros((width, channels), dtype=np.uint8)
    for y, row in enumerate(rows):
        kind, line = int(row[0]), row[1:].reshape(width, channels)
        if kind == NONE:
            above = line
        elif kind == SUB:
            above = np.cumsum(line, axis=0, dtype=np.uint8)
        elif kind == UP:
            above = line + above
        elif kind in (AVERAGE, PAETH):
            above = _from_left(line, above, kind)
        else:
            raise ValueError(f"row {y} of the PNG file has the unknown filter {kind}")
        pixels[y] = above
    return pixels


def _from_left(line: NDArray[np.uint8], above: NDArray[np.uint8], kind: int) -> NDArray[np.uint8]:
    """Undo the filters that look at the left and the upper neighbour, pixel by pixel."""
    up = above.astype(np.int16)
    before_up = np.vstack([np.zeros_like(up[:1]), up[:-1]])
    done, left = np.empty_like(line), np.zeros(line.shape[1], dtype=np.int16)
    for x in range(len(line)):
        if kind == AVERAGE:
            guess = (left + up[x]) // 2
        else:  # Paeth: the neighbour nearest to left + up - before_up; left wins, then up
            estimate = left + up[x] - before_up[x]
            neighbours = np.stack([left, up[x], before_up[x]])
            nearest = np.abs(neighbours - estimate).argmin(axis=0)
            guess = np.take_along_axis(neighbours, nearest[None], axis=0)[0]
        left = (line[x] + guess) & 255
        done[x] = left
    return done
