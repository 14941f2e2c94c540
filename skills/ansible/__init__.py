"""Skills that run a playbook of the folder that the settings name; their arguments are values, never templates."""
