"""Giant steps in the limit: overlaps, features given the spike, and ridge regression on them."""
