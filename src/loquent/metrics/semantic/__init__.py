"""Metrics of meaning by encoders: BERTScore, embeddings, intent."""
