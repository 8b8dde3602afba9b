"""Learning from demonstrations: supervised, cloning, filtered cloning, Decision Transformer."""
