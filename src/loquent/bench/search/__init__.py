"""Searches: trials of a recipe with other settings, chosen by their values on validation rows."""
