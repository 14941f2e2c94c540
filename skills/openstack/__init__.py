"""Skills for clouds that speak OpenStack's APIs: servers, networks, volumes, images, stacks, objects, identities."""
