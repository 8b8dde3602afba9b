"""A language model as a judge of answers: its questions, its verdicts, a cache on disk and a budget."""
