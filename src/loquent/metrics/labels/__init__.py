"""Metrics of labels, spans and answers that were written as text."""
