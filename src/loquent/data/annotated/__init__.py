"""Annotated rows: tagged sentences, texts with labels, questions with choices."""
