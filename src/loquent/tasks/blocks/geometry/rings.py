"""The outlines of the items as polygons, in the coordinates of the picture (x to the right, y down).

A kind is 3 * shape + size / 10 - 1: small, medium and large circles, then squares, then triangles.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

KINDS = 9
QUARTER = 16  # segments of a quarter of a circle
LONGEST = 30  # pixels, the size of a large item
NEAR_ZERO = 5e-16  # a sine or cosine below this is 0


def kind_of(shape: int, size: int) -> int:
    """The kind of a shape (0 circle, 1 square, 2 triangle) of a size of 10, 20 or 30 pixels."""
    return 3 * shape + size // 10 - 1


def size_of(kind: int) -> int:
    """The size of a kind in pixels."""
    return 10 * (kind % 3 + 1)


def ring(kind: int, x: float, y: float) -> NDArray[np.float64]:
    """f64[n + 1, 2]: the closed outline of an item whose top-left corner is (x, y).

    A circle is the 64-gon inscribed in it, clockwise from its rightmost point. The released code of
    arXiv:2211.01994 builds these polygons; the order of the points decides between equal distances.
    """
    size = size_of(kind)
    if kind < 3:
        return circle(x + size / 2, y + size / 2, size / 2)
    if kind < 6:
        corners = [(x, y), (x + size, y), (x + size, y + size), (x, y + size), (x, y)]
    else:
        apex = (x + size / 2, y)
        corners = [apex, (x, y + size), (x + size, y + size), apex]
    return np.array(corners, dtype=np.float64)


def circle(x: float, y: float, radius: float) -> NDArray[np.float64]:
    """f64[65, 2]: the closed 64-gon inscribed in a circle."""
    points = []
    for i in range(4 * QUARTER):
        angle = -i * (2 * math.pi / (4 * QUARTER))
        sine, cosine = math.sin(angle), math.cos(angle)
        sine = 0.0 if abs(sine) < NEAR_ZERO else sine
        cosine = 0.0 if abs(cosine) < NEAR_ZERO else cosine
        points.append((x + radius * cosine, y + radius * sine))
    return np.array([*points, points[0]], dtype=np.float64)
