"""Text analysis: tokens, stop words, stemming language, literals, values."""
