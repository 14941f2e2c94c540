"""The web: one guarded way out, and skills that call REST services over it."""
