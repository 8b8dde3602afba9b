"""Multi-label classification: labels are inserted one by one, until the text has all of them."""
