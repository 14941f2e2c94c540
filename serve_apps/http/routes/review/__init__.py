"""The review of what was read: the queue of doubtful pages, their lines, and corrections."""
