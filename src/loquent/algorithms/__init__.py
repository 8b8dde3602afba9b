"""Learners in families, one file an algorithm: settings, loss and the class that learns."""
