"""The distance of two polygons and their nearest points, in double precision.

The order of the segments and every formula follow the geometry library below the released code
(arXiv:2211.01994), because equal distances occur and the order then decides which points are nearest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Point = tuple[float, float]


def distance(a: Array, b: Array) -> tuple[float, int, int]:
    """(distance, i, j): of two disjoint closed rings f64[n + 1, 2] and f64[m + 1, 2].

    The segments i of `a` and j of `b` are the first pair at the smallest distance.
    """
    starts_a, ends_a = a[:-1, None], a[1:, None]
    starts_b, ends_b = b[None, :-1], b[None, 1:]
    apart = np.minimum(
        np.minimum(_to_segment(starts_a, starts_b, ends_b), _to_segment(ends_a, starts_b, ends_b)),
        np.minimum(_to_segment(starts_b, starts_a, ends_a), _to_segment(ends_b, starts_a, ends_a)),
    )
    i, j = divmod(int(apart.argmin()), apart.shape[1])
    return float(apart[i, j]), i, j


def nearest_points(a: Array, b: Array) -> tuple[Point, Point]:
    """The nearest points of two disjoint closed rings, the first on `a`, the second on `b`."""
    _, i, j = distance(a, b)
    first = (_point(a[i]), _point(a[i + 1]))
    second = (_point(b[j]), _point(b[j + 1]))
    pairs = [(_closest(first, end), end) for end in second] + [(end, _closest(second, end)) for end in first]
    return min(pairs, key=lambda pair: _apart(*pair))  # the first among equals


def _to_segment(point: Array, start: Array, end: Array) -> Array:
    """f64[n, m]: the distances of points to segments."""
    along, reach = end - start, point - start
    square = along[..., 0] * along[..., 0] + along[..., 1] * along[..., 1]
    share = (reach[..., 0] * along[..., 0] + reach[..., 1] * along[..., 1]) / square
    side = (
        (start[..., 1] - point[..., 1]) * along[..., 0] - (start[..., 0] - point[..., 0]) * along[..., 1]
    ) / square
    inside = np.abs(side) * np.sqrt(square)
    return np.where(share <= 0, _length(reach), np.where(share >= 1, _length(point - end), inside))


def _length(vector: Array) -> Array:
    return np.sqrt(vector[..., 0] * vector[..., 0] + vector[..., 1] * vector[..., 1])


def _closest(segment: tuple[Point, Point], point: Point) -> Point:
    """The point of a segment that is nearest to a point."""
    start, end = segment
    if point in (start, end):
        return point
    along_x, along_y = end[0] - start[0], end[1] - start[1]
    share = ((point[0] - start[0]) * along_x + (point[1] - start[1]) * along_y) / (along_x**2 + along_y**2)
    if 0 < share < 1:
        return start[0] + share * along_x, start[1] + share * along_y
    return start if _apart(start, point) < _apart(end, point) else end


def _apart(a: Point, b: Point) -> float:
    x, y = a[0] - b[0], a[1] - b[1]
    return math.sqrt(x * x + y * y)  # math.dist rounds in another way


def _point(row: Array) -> Point:
    return float(row[0]), float(row[1])
