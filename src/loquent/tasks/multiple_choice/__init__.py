"""Multiple choice: the choices of a question are shown one by one, until the agent takes one."""
