"""Agents, which answer observations: language models, scripts, people, HTTP endpoints, SB3 policies."""
