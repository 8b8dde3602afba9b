"""Tasks: one folder per task, with the same file names in each."""
