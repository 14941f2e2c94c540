"""Skills over SSH: a command line from the manifest, a machine from the credential, a key that is known (AU-07)."""

from typing import Any

from skills.framework.contract import Call
from skills.framework.dependencies import Ground
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk, options_of
from skills.framework.program_output import Limits
from skills.ssh.command import HOST, SshOptions, check, elements, line
from skills.ssh.machine import chosen
from skills.ssh.session import run


class Remote:
    """One command on a machine of the credential."""

    def __init__(self, manifest: Manifest, ground: Ground) -> None:
        """Raises BadManifest where options, parameters, risk and roles do not fit together."""
        if manifest.credential is not CredentialType.SSH:
            raise BadManifest(f"{manifest.name}: skills of type ssh have `credential: ssh`")
        self._how = options_of(manifest, SshOptions)
        check(manifest, self._how)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._credentials = manifest, ground.credentials
        # An eighth is left for standard error, and as much for what JSON adds.
        most = ground.settings.result_bytes * 3 // 4
        self._limits = Limits(manifest.seconds, most, manifest.risk is Risk.READ)

    async def run(self, call: Call) -> Any:
        """Output and exit status of the command; a command that fails is a result, not an error.

        Raises:
            Invalid: an argument cannot stand in a command.
            HostMissing, HostNotListed: the credential is not for this machine.
            AosError: those of `Credentials.open` and `session.run`; none quotes a secret.
        """
        text = line(elements(self._manifest, self._how, call.arguments), self._manifest.seconds)
        secret = await self._credentials.open(call, self._manifest)
        return await run(chosen(secret, call.arguments.get(HOST)), secret, text, self._limits)


def build(manifest: Manifest, ground: Ground) -> Remote:
    """See `Build`."""
    return Remote(manifest, ground)
