"""Built-in statements: seeded grammars of English sentences with their programs, and boards for them."""
