"""Errors of a container engine, by name."""

from cluster.basics.errors import Conflict, NotFound, Permanent, Transient, Unavailable


class EngineUnset(Permanent):
    """No container engine is named in the settings."""

    code, status = "docker_not_configured", 409
    fix = "Set `skills.docker_url`, as unix:///var/run/docker.sock or tcp://host:2375; DOCKER_HOST is not read."


class EngineUnreachable(Unavailable):
    """The container engine cannot be reached."""

    code = "docker_unreachable"


class EngineTimeout(Transient):
    """The container engine did not answer in its time."""

    code, status = "docker_timeout", 504


class ObjectNotFound(NotFound):
    """The container engine has no such object."""

    code = "docker_not_found"


class ObjectInUse(Conflict):
    """The container engine cannot do that now: the object is in use, or in another state."""

    code = "docker_conflict"


class EngineRefused(Permanent):
    """The container engine did not do it."""

    code, status = "docker_refused", 502
