"""Text generation: a prompt, one answer."""
