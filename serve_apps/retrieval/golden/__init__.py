"""Golden sets: questions whose answers are known, how well the product does on them, and whether it got worse."""
