"""Plans: whether one is needed, making and checking it, carrying it out, and the answer that comes of it."""
