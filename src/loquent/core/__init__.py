"""The contracts, and what they stand on: values, seeds, settings, options, the registry."""
