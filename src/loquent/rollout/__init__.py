"""The loop in which agents play tasks, and forks of games."""
