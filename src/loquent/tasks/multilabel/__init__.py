"""Multi-label classification: name the labels of a text one by one, then terminate."""
