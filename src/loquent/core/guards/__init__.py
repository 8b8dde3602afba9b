"""Guards for text of other people: YAML, JSON, output to the terminal, and names of code to import."""
