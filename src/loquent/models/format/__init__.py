"""Formats, which turn a conversation into token ids; only they know markers."""
