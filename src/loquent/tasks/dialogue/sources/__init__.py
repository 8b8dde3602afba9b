"""Dialogues and images of the built-in world and of files."""
