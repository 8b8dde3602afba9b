"""Learners: one file, one algorithm. Estimators and losses that several share stand beside them as pure functions."""
