"""Conjugate gradients and the line search of trust-region methods, on flat vectors.

Source: arXiv:1502.05477 app. C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

Vector = Float[Tensor, " P"]


def conjugate_gradients(
    product: Callable[[Vector], Vector],
    right: Vector,
    iterations: int,
    tolerance: float = 1e-20,
    *,
    orthogonal: bool = True,
) -> tuple[Vector, float]:
    """The solution x of A x = b by conjugate gradients, and the norm of what is left, |b - A x| / |b|.

    In exact arithmetic the residuals are orthogonal, so P steps solve a system of P unknowns. Rounding
    destroys this property, and `orthogonal` restores it (Golub and Van Loan, Matrix Computations, sec.
    10.3.1).

    Args:
        product: A v of a symmetric positive definite A.
        right: b.
        iterations: the most products.
        tolerance: of the squared norm of the residual, at which it ends, as a share of |b|².
        orthogonal: whether each residual is made orthogonal to all earlier ones, which are kept: one vector
            for each step.
    """
    solution, residual = torch.zeros_like(right), right.clone()
    direction, size = residual.clone(), float(residual @ residual)
    start = size
    kept: list[Vector] = []  # the earlier residuals, of length 1
    for _ in range(iterations):
        if size <= tolerance * start:
            break
        if orthogonal:
            kept.append(residual / math.sqrt(size))
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0:  # rounding has used up the directions
            break
        solution += (size / curvature) * direction
        residual -= (size / curvature) * image
        for _ in range(2 if orthogonal else 0):  # once leaves rounding errors of the size of the residual
            for earlier in kept:
                residual -= (earlier @ residual) * earlier
        shrunk = float(residual @ residual)
        direction = residual + (shrunk / size) * direction
        size = shrunk
    return solution, math.sqrt(size / start) if start else 0.0


def longest(direction: Vector, image: Vector, radius: float) -> float:
    """The factor √(2δ / xᵀA x) with which the quadratic model of the KL is δ (1502.05477 app. C).

    Args:
        direction: x.
        image: A x.
        radius: δ.
    """
    curvature = float(direction @ image)
    return math.sqrt(2 * radius / curvature) if curvature > 0 else 0.0


def flat(tensors: Sequence[Tensor], like: torch.dtype) -> Vector:
    """The entries of tensors, one after the other, in a type."""
    return torch.cat([tensor.detach().reshape(-1).to(like) for tensor in tensors])


def parts(vector: Vector, like: Sequence[Tensor]) -> list[Tensor]:
    """The pieces of a flat vector, with the shapes and types of tensors; the inverse of `flat`."""
    pieces = vector.split([tensor.numel() for tensor in like])
    return [piece.view_as(tensor).to(tensor.dtype) for piece, tensor in zip(pieces, like, strict=True)]


@torch.no_grad()
def assign(parameters: Sequence[nn.Parameter], vector: Vector) -> None:
    """Write a flat vector into parameters, rounded to their types."""
    for parameter, part in zip(parameters, parts(vector, parameters), strict=True):
        parameter.copy_(part)
