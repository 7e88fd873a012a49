"""Networks whose neurons share one direction: the population loss, its critical points, its flow, and the rates."""
