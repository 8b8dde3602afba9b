"""Classifiers of comments that are trained on labels or scores."""
