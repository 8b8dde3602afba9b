"""One run: start, training loop, evaluation, checkpoints, resuming, runs by name."""
