"""Value networks over token states, and policies perturbed by them."""
