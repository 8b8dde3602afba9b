"""PNG files of pictures, written without an imaging library."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB = 2  # the colour type: red, green and blue


def png(picture: NDArray[np.uint8], scale: int = 1) -> bytes:
    """The PNG file of u8[height, width, 3]; each pixel becomes a square of `scale` x `scale` pixels."""
    enlarged = np.repeat(np.repeat(picture, scale, axis=0), scale, axis=1)
    height, width, _ = enlarged.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each row begins with filter 0, none
    rows[:, 1:] = enlarged.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, RGB, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
