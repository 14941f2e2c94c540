"""Event streams of runs: subscribers, encodings, folding into one reply."""
