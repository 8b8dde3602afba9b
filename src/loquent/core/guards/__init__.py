"""Guards for text of other people (YAML, JSON, output to the terminal) and for what a task returns."""
