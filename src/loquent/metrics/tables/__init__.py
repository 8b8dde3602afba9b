"""Metrics of text made from tables: PARENT, and BLEU as ToTTo measures it."""
