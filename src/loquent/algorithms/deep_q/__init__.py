"""Deep Q-learning among a task's actions: returns of n steps, double, dueling, prioritized, noisy."""
