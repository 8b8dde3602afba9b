"""Tasks: one folder for each world, with the same file names in all of them."""
