"""Metrics of diversity: distinct n-grams, entropy, self-BLEU, repetition."""
