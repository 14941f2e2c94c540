"""Errors of credentials for SSH, of every skill that logs in with them."""

from cluster.basics.errors import Permanent


class HostKeyMissing(Permanent):
    """The credential has no key of the machine, and without one anybody could answer in its place."""

    code = "ssh_known_hosts_missing"


class SshKeyUnreadable(Permanent):
    """The credential's private_key, passphrase or known_hosts cannot be read."""

    code = "ssh_key_unreadable"
    fix = "private_key is the whole text of an OpenSSH or PEM file; known_hosts are lines as ssh-keyscan prints them."
