"""Preferences between texts: judgements of people, the sheets of studies, and files of pairs."""
