"""The rules of a game, its options, the ranking of images, and the messages of its seats."""
