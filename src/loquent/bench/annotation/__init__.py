"""Annotation sessions: the agent suggests, a person corrects, the agent learns from it."""
