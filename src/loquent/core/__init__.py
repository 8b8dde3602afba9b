"""The contracts and their foundations: values, seeds, settings, options and the registry."""
