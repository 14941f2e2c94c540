"""Skills that run a playbook, on this machine or on an inventory's, with a key that is there for the call alone."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skills.ansible.playbook import AnsibleOptions, check_playbook_skill, extra_variables, file_within
from skills.ansible.playbook_process import check_installed, run_playbook
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import HostKeyMissing, SkillDependencies, SshKeyUnreadable
from skills.framework.manifest import Manifest, Risk, options_of


class PlaybookSkill:
    """One playbook of the folder that the settings name."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options, parameters and credential do not fit together."""
        self._how = options_of(manifest, AnsibleOptions)
        check_playbook_skill(manifest)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._credentials, self._folder = manifest, ground.credentials, ground.settings.ansible_dir

    async def run(self, call: ToolInvocation) -> Any:
        """Counts per host, and the tasks that failed; a playbook that fails is a result, not an error.

        Raises:
            AnsibleMissing, AnsibleUnset, PlaybookNotFound: nothing is there to be run.
            Invalid: an argument is none of the skill's.
            HostKeyMissing, SshKeyUnreadable: the credential is not whole.
            AosError: those of `CredentialOpener.open` and `run_playbook`.
        """
        check_installed()
        how, manifest = self._how, self._manifest
        playbook = str(file_within(self._folder, how.playbook))
        inventory = None if how.inventory is None else str(file_within(self._folder, how.inventory))
        variables, arguments = extra_variables(manifest, call.arguments), ["--check"] if how.check else []
        secret = None if manifest.credential is None else await self._credentials.open(call, manifest)
        with TemporaryDirectory(prefix="aos-ansible-") as folder:  # 0700, and gone with the key in it
            if secret is not None:
                arguments += await asyncio.to_thread(_write_key, secret, Path(folder))
            asked = {"playbook": playbook, "inventory": inventory, "variables": variables, "arguments": arguments}
            return await run_playbook(asked, folder, manifest.seconds, manifest.risk is Risk.READ)


build = PlaybookSkill


def _write_key(secret: Mapping[str, str], folder: Path) -> list[str]:
    """Write key and known hosts, for this user alone, and say so to ansible-playbook."""
    import asyncssh  # imports half of cryptography; only calls with a key pay for it

    known, text = secret.get("known_hosts", "").strip(), secret.get("private_key", "").strip() + "\n"
    if not known:
        raise HostKeyMissing("the credential has no known_hosts", fix="Put what ssh-keyscan prints into `known_hosts`.")
    try:
        key = asyncssh.import_private_key(text, secret.get("passphrase") or None)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        raise SshKeyUnreadable("private_key, or its passphrase") from None
    for name, data in (("key", key.export_private_key()), ("known_hosts", f"{known}\n".encode())):
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(data)
    hosts = f"-o UserKnownHostsFile={folder / 'known_hosts'}"
    options = f"-F none {hosts} -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
    user = ["--user", secret["username"]] if secret.get("username") else []
    return ["--private-key", str(folder / "key"), f"--ssh-common-args={options}", *user]
