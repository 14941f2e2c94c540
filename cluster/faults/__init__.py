"""Faults done to a running instance on purpose: kinds, a plan by seed, the harm itself, and the proof afterwards."""
