"""Reading by asking: find the sentences that answer a question, with commands such as Ctrl+F, then stop."""
