"""Offline value learning on language models: ILQL and its relatives."""
