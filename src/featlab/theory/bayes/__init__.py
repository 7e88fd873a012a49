"""Bayes-optimal learning as d -> infinity with n = alpha d samples: state evolution, free entropy, errors."""
