"""The command line: `main`, its grammar, and one file per command."""
