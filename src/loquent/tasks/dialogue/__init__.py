"""Asking about an image that one cannot see."""
