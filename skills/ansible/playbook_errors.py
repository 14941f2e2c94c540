"""Errors of playbook skills, by name."""

from cluster.basics.errors import NotFound, Permanent, Transient


class AnsibleMissing(Permanent):
    """Ansible is not installed."""

    code, status = "ansible_missing", 409
    fix = "Install the extra: pip install 'aos[ansible]'."


class AnsibleUnset(Permanent):
    """No folder of playbooks is named in the settings."""

    code, status = "ansible_not_configured", 409
    fix = "Set `skills.ansible_dir`."


class PlaybookNotFound(NotFound):
    """The folder of playbooks has no such file."""

    code = "ansible_not_found"
    fix = "Name a file below `skills.ansible_dir` by its relative path, without `..`; links may not lead out of it."


class PlaybookBroken(Permanent):
    """Ansible could not begin with the playbook."""

    code, status = "ansible_broken", 502
    fix = "Try it on this machine with ansible-playbook --syntax-check."


class PlaybookTimeout(Transient):
    """The playbook did not end in its time, and was killed."""

    code, status = "ansible_timeout", 504
