"""Settings of other libraries as recipes; what has no counterpart is reported."""
