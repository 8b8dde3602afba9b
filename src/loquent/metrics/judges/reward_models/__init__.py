"""Reward models: networks that score texts as raters prefer them."""
