"""Classifiers of comments that are trained on labels or scores, and the folders they are kept in."""
