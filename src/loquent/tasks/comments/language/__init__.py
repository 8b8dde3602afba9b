"""The built-in posts and replies, and the rules by which they are judged."""
