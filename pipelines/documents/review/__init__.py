"""Reviewing what was read: the queue of doubtful pages, and corrections with all that follows from them."""
