"""The built-in corpus of film reviews."""

from loquent.data.reviews.corpus import LABELS, SIZES, reviews

__all__ = ["LABELS", "SIZES", "reviews"]
