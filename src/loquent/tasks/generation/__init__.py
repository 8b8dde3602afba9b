"""Text generation: one answer to a prompt."""
