"""Classical dimension reduction at n = alpha d samples: what its matrices show of the target's directions."""
