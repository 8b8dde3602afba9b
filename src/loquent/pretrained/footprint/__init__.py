"""A smaller footprint in learning: products in bfloat16, and activations that are computed again."""

from loquent.pretrained.footprint.products import mix, products, type_of_products
from loquent.pretrained.footprint.recomputing import recompute

__all__ = ["mix", "products", "recompute", "type_of_products"]
