"""System → Sources: documents that come by themselves."""
