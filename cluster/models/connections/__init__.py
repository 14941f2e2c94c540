"""Model connections: stored and configured ones, probing, egress rules, resolution to clients."""
