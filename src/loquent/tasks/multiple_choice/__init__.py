"""Multiple choice: the choices are shown one by one, until one is taken."""
