"""Guards where other people's text enters or leaves: YAML, JSON, the terminal, names to import."""
