"""Metrics of labels, spans and answers that a model writes as text."""
