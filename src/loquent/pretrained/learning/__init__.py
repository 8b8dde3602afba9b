"""Learning: the gradient step, its optimizers and their state."""
