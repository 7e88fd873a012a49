"""Population flows of single neurons, on isotropic and on spiked inputs, and the laws of their cost."""
