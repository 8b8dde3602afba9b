"""Metrics of consistency with a source: natural language inference and SummaC."""
