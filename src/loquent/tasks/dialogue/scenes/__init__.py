"""The built-in world: scenes, their questions and answers."""
