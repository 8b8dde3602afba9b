"""Log-probabilities, hidden states and values of given tokens."""
