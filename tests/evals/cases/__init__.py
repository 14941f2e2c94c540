"""Small inputs that are easily read wrongly, with what is right for each: given ones, and variants of them."""
