"""What made the built-in corpora of the package; `python -m tools.corpora` makes them again."""
