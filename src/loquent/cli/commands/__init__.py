"""A file for each command: `Options`, and `run`, which returns the exit code and what `--json` prints."""
