"""The making of the built-in stand-ins for the datasets of text generation: records of the same form."""
