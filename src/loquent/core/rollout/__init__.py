"""The loop in which agents play tasks, and episodes that fork from others."""
