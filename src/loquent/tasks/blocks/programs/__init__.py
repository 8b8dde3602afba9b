"""Programs of sentences: the language, its functions, and programs compiled to closures."""
