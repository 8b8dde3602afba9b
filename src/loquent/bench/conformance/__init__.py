"""The laws of the task contract, as a tool."""
