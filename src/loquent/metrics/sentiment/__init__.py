"""Metrics of sentiment: lexicons and trained classifiers."""
