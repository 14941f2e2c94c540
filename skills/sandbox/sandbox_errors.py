"""Errors of a script that runs in the sandbox, by name."""

from cluster.basics.errors import Permanent, TooLarge


class SandboxMissing(Permanent):
    """This machine cannot isolate untrusted code, so none is run."""

    code, status = "sandbox_missing", 501
    fix = (
        "Install bubblewrap and libseccomp2 (`sudo apt-get install bubblewrap libseccomp2`) and let programs make "
        "namespaces: user.max_user_namespaces above 0, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, in a "
        "container a seccomp profile that allows unshare and mount. To run code you trust without some layers, name "
        "them in sandbox.untrusted_without."
    )


class ScriptFailed(Permanent):
    """The script raised an error, or gave back what is not a JSON object."""

    code = "script_failed"

    def __init__(self, detail: str = "", *, trace: str = "", stdout: str = "", stderr: str = "") -> None:
        """Keep what the author needs to mend it; `trace`: the lines of the script that led to it, none of ours."""
        super().__init__(detail)
        self.trace, self.stdout, self.stderr = trace, stdout, stderr


class ForbiddenImport(ScriptFailed):
    """The script asked for a module or a function that scripts may not use."""

    code = "forbidden_import"
    fix = "Scripts import only the modules of sandbox.imports, and open no files."


class ScriptTimeout(Permanent):
    """The script ran longer than allowed and was killed with all it had started."""

    code = "script_timeout"


class ScriptTooBig(TooLarge):
    """The script printed or gave back more than allowed and was killed."""

    code = "script_too_big"


class ScriptMemory(Permanent):
    """The script asked for more memory than allowed."""

    code = "script_memory"
