"""One-pass SGD and extragradient in the limit: closed equations for the order parameters at fixed t/d."""
