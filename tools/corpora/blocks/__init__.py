"""The making of the built-in statements of blocks: two grammars, boards, and the tables of geometry."""
