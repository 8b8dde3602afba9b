"""Annotated data: sentences with a label per token, texts with sets of labels, questions with choices."""
