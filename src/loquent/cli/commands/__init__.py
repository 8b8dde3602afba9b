"""One file per command: `run(arguments)` returns the exit code and what `--json` prints."""
