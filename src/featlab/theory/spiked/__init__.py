"""One gradient under a spiked covariance: its mean, its noise, and the spike at which the mean prevails."""
