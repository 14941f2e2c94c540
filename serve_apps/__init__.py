"""Ray Serve applications: thin deployments over plain folders."""
