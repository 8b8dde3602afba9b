"""QA-DQN's network: reads a question and a memory, scores commands and queries, and points at the answer."""
