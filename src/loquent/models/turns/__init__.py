"""Networks that choose among a task's actions: inputs, encoders, distributions, the actor."""
