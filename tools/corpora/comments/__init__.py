"""The making of the built-in posts and replies."""
