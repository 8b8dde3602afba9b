"""The tables of geometry from the polygons of the items; it takes about a minute."""

from __future__ import annotations

import io
from itertools import product

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.geometry.nearest import distance, nearest_points
from loquent.tasks.blocks.geometry.rings import KINDS, LONGEST, ring, size_of
from loquent.tasks.blocks.geometry.tables import CELL, FAR, MOST_GAP, REACH

Array = NDArray[np.float64]
TINY = 1e-9  # pixels; lengths and areas below this are rounding
SAME = 9  # decimals to which areas are compared


def overlap(a: int, b: int, x: int, y: int) -> bool:
    """Whether the interiors of kind `a` at (0, 0) and kind `b` at (x, y) meet: no edge separates them."""
    first, second = ring(a, 0, 0), ring(b, x, y)
    for edges in (first, second):
        along = np.diff(edges, axis=0)
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(along[:, 0], along[:, 1])[:, None]
        mine, other = first @ normals.T, second @ normals.T
        depth = np.minimum(mine.max(0) - other.min(0), other.max(0) - mine.min(0))
        if depth.min() <= TINY:
            return False
    return True


def gap(a: int, b: int, x: int, y: int) -> tuple[int, int, int]:
    """(d, move_x, move_y) for kind `a` at (0, 0) and its disjoint neighbour of kind `b` at (x, y).

    d is the distance without its decimals, at most FAR. The vector is the difference of the nearest points,
    each without its decimals: where `a` moves to touch `b`.
    """
    sides = max(x - size_of(a), -x - size_of(b), y - size_of(a), -y - size_of(b))
    if sides > MOST_GAP:
        return FAR, 0, 0
    here = 40  # no coordinate is negative here, so that all are truncated downwards
    first, second = ring(a, here, here), ring(b, here + x, here + y)
    d = int(distance(first, second)[0])
    if d > MOST_GAP:
        return FAR, 0, 0
    p, q = nearest_points(first, second)
    return d, int(q[0]) - int(p[0]), int(q[1]) - int(p[1])


def area(kind: int, x: int, y: int) -> float:
    """The area in square pixels of a kind at (x, y) in the cell [0, 20] x [0, 20], clipped edge by edge."""
    points = ring(kind, x, y)[:-1]
    for axis, sign, limit in ((0, 1, 0), (0, -1, -CELL), (1, 1, 0), (1, -1, -CELL)):
        points = _clipped(points, sign * points[:, axis] - limit) if len(points) else points
    if len(points) < 3:
        return 0.0
    following = np.roll(points, -1, axis=0)
    return abs(float((points[:, 0] * following[:, 1] - following[:, 0] * points[:, 1]).sum())) / 2


def _clipped(points: Array, inside: Array) -> Array:
    """The part of a convex polygon on one side of a line; `inside` is f64[n], at least 0 on that side."""
    kept: list[Array] = []
    for i in range(len(points)):
        before, value, earlier = points[i - 1], inside[i], inside[i - 1]
        if (value >= 0) != (earlier >= 0):
            kept.append(before + (points[i] - before) * (earlier / (earlier - value)))
        if value >= 0:
            kept.append(points[i])
    return np.array(kept).reshape(-1, 2)


def make() -> bytes:
    """The file of the tables `overlap`, `gap` and `area`; see `geometry.tables` for their shapes."""
    width = 2 * REACH + 1
    meets = np.zeros((KINDS, KINDS, width, width), dtype=np.bool_)
    gaps = np.zeros((KINDS, KINDS, width, width, 3), dtype=np.int8)
    for a, b, i, j in product(range(KINDS), range(KINDS), range(width), range(width)):
        x, y = i - REACH, j - REACH
        meets[a, b, i, j] = overlap(a, b, x, y)
        gaps[a, b, i, j] = (FAR, 0, 0) if meets[a, b, i, j] else gap(a, b, x, y)
    span = LONGEST + CELL - 1
    areas = np.zeros((KINDS, span, span))
    for kind, i, j in product(range(KINDS), range(span), range(span)):
        areas[kind, i, j] = round(area(kind, i - LONGEST + 1, j - LONGEST + 1), SAME)
    ranks = np.unique(areas, return_inverse=True)[1].reshape(areas.shape).astype(np.uint16)
    file = io.BytesIO()
    np.savez_compressed(file, overlap=np.packbits(meets), gap=gaps, area=ranks)
    return file.getvalue()
