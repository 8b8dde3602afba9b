"""Models: formats, supports, decoding, batches of tokens, actors and their scores."""
