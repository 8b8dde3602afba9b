"""What several algorithms share: advantages, KL control, losses, trust regions."""
