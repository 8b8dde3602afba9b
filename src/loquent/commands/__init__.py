"""One file per command: `run(arguments) -> (exit code, what --json prints)`. A file imports only what its command needs."""
