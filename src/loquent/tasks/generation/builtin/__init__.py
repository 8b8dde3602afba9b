"""Built-in stand-ins for the datasets of text generation: seeded grammars of records of the same form."""
