"""The agents of comments, for all seats."""
