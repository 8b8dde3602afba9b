"""Many boards at once: a vector environment without single environments."""
