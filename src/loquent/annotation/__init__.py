"""Annotation as a session: the agent suggests, a person or an oracle corrects, the sample joins the pool, the agent learns on."""
