"""Tools an agent may use."""
