"""Search in a document: the next sentence that holds a query, by an inverted index."""
