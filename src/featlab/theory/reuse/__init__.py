"""Steps on a reused batch in the limit: the dynamical mean-field recursion at fixed n/d."""
