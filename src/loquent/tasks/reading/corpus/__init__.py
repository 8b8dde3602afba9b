"""Paragraphs with questions: tokens, documents, and the sources that they are read from."""
