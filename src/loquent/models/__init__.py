"""Language models that learn: the actor, supports, and rooms for each step from text to loss."""
