"""Other libraries' settings as recipes: what has a counterpart is taken over, and what has none is reported with its reason."""
