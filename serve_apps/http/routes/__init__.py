"""Routes by URL family."""
