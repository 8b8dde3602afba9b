"""What several algorithms share: advantages, KL control, losses, optimizers, schedules."""
