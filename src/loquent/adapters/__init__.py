"""A task as others want it, one file a library."""
