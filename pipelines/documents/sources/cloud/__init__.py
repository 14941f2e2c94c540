"""Sources in clouds, over their HTTP APIs."""
