"""OAuth of people: each connects the services of a workspace with their own account there."""
