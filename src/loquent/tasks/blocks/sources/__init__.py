"""Sources of rows: the built-in statements, and the published files in a folder."""
