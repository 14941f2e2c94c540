"""Commands about who people are and by what they sign in."""
