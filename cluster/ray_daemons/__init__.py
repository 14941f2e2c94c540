"""The daemons and workers of the Ray that is begun here, with what nobody here uses of them left out."""
