"""What we need of PyTorch: devices and precision, and the private names that we use."""
