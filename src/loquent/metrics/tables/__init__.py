"""Metrics of texts that describe tables: PARENT, and BLEU as ToTTo computes it."""
