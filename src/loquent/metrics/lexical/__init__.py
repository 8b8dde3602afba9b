"""Metrics of words shared with references: ROUGE, BLEU, METEOR, chrF, TER, F1."""
