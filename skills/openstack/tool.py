"""OpenStack skills: each manifest names one operation; the SDK carries it out in a thread that ends in time."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import AosError
from skills.framework.command_template import TRUSTED
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import Secret, SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk, options_of
from skills.framework.redaction import redact_secrets, register_opened
from skills.http_client.guard import parse_target
from skills.openstack.cloud import CloudCall

if TYPE_CHECKING:
    from skills.openstack.api_client import GuardedAdapter

MOST_BYTES = 16_000_000  # of one answer: a page of a thousand servers has some two million
_GRACE = 2.0  # seconds in which a stopped thread is to end
_READS, _WRITES, _DESTROYS = Risk.READ, Risk.WRITE, Risk.DESTRUCTIVE

# The operations: the module that has each, and the least that its manifest has to say of its risk. A console changes
# nothing by itself, but its address needs no password: whoever has it types into the server.
OPERATIONS: Mapping[str, tuple[str, Risk]] = {
    "list_servers": ("compute", _READS),
    "server_action": ("compute", _WRITES),
    "create_server": ("compute", _WRITES),
    "list_flavors": ("compute", _READS),
    "quota_usage": ("compute", _READS),
    "server_console": ("compute", _WRITES),
    "list_networks": ("network", _READS),
    "manage_network": ("network", _DESTROYS),
    "list_volumes": ("volumes", _READS),
    "manage_volume": ("volumes", _DESTROYS),
    "list_images": ("volumes", _READS),
    "keystone_auth": ("identity", _DESTROYS),
    "list_projects": ("identity", _READS),
    "heat_stack": ("stacks", _DESTROYS),
    "object_storage": ("objects", _WRITES),
}


class OpenStackOptions(BaseModel):
    """Options of an OpenStack skill: its operation."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    operation: str


class OpenStack:
    """One operation of a cloud."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where the operation is unknown, or is said to be more harmless than it is."""
        operation = options_of(manifest, OpenStackOptions).operation
        if operation not in OPERATIONS:
            raise BadManifest(f"{manifest.name}: options.operation is one of {', '.join(OPERATIONS)}")
        self._module, least = OPERATIONS[operation]
        if list(Risk).index(manifest.risk) < list(Risk).index(least):
            raise BadManifest(f"{manifest.name}: {operation} is {least}, not {manifest.risk}")
        if manifest.credential is not CredentialType.API_KEY:
            raise BadManifest(f"{manifest.name}: a skill of OpenStack needs a credential of type api_key")
        if operation == "server_console" and not set(manifest.permissions) <= TRUSTED:
            raise BadManifest(f"{manifest.name}: a console is for operators and admins")
        self._operation, self._manifest, self._ground = operation, manifest, ground
        self.spec, self.effect = manifest.spec, manifest.effect

    async def run(self, call: ToolInvocation) -> Any:
        """The operation's result. Raises AosError: those of `cloud_errors`, and those of the address guard."""
        secret = await self._ground.credentials.open(call, self._manifest)
        try:
            return await self._carried_out(call, secret)
        except AosError as error:
            error.detail = redact_secrets(error.detail, [_with_shown_names(secret)])
            error.args = (error.detail or error.title,)
            raise error from None

    async def _carried_out(self, call: ToolInvocation, secret: Secret) -> Any:
        # In a thread, and not before a call: the SDK takes a second to import.
        wire_of, work_of = await asyncio.to_thread(_load_machinery, self._module, self._operation)
        if secret.get("auth_url"):
            parse_target(secret["auth_url"], self._ground.hosts)
        wire = wire_of(self._ground, self._manifest.seconds, secret, self._thread_resolver())
        arguments = self._manifest.defaults | dict(call.arguments)
        cloud = CloudCall(None, arguments, call.key, self._ground.settings.result_bytes)
        working = asyncio.create_task(asyncio.to_thread(work_of, cloud, secret, wire))
        try:
            async with asyncio.timeout(self._manifest.seconds):
                return await asyncio.shield(working)
        except TimeoutError:
            changed = wire.changed.open
            await _end_thread(working, wire)
            from skills.openstack.cloud_errors import CloudTimeout  # after the SDK's import, see above

            detail = f"the cloud did not answer within {self._manifest.seconds:g} s"
            raise (OutcomeUnknown(detail) if changed else CloudTimeout(detail)) from None
        except asyncio.CancelledError:
            await _end_thread(working, wire)
            raise

    def _thread_resolver(self) -> Callable[[str, int], Sequence[str]]:
        loop, resolve, seconds = asyncio.get_running_loop(), self._ground.resolve, self._manifest.seconds

        async def ask(host: str, port: int) -> Sequence[str]:
            async with asyncio.timeout(seconds):
                return await resolve(host, port)

        return lambda host, port: asyncio.run_coroutine_threadsafe(ask(host, port), loop).result()


build = OpenStack


def _load_machinery(module: str, operation: str) -> tuple[Callable[..., "GuardedAdapter"], Callable[..., Any]]:
    """Load the HTTP adapter's factory and the operation: both stand on the SDK."""
    from skills.openstack.api_client import GuardedAdapter
    from skills.openstack.cloud_errors import name_failures
    from skills.openstack.keystone_login import open_connection

    act: Callable[[CloudCall], Any] = getattr(import_module(f"skills.openstack.{module}"), operation)

    def wire_of(
        ground: SkillDependencies, seconds: float, secret: Secret, find: Callable[[str, int], Sequence[str]]
    ) -> "GuardedAdapter":
        name = secret.name  # and not the secret itself: the SDK keeps parts of a connection for longer than a call

        def given(value: str) -> None:
            register_opened(Secret(name, CredentialType.BEARER_TOKEN, {"token": value}))

        return GuardedAdapter(ground.hosts, find, seconds, MOST_BYTES, secret.get("ca_cert"), given)

    def work_of(cloud: CloudCall, secret: Secret, wire: "GuardedAdapter") -> Any:
        with name_failures(wire.changed), open_connection(secret, wire) as connection:
            return act(replace(cloud, connection=connection))

    return wire_of, work_of


async def _end_thread(working: "asyncio.Task[Any]", wire: "GuardedAdapter") -> None:
    """The thread stopped; what it still says is of no use to anybody."""
    working.add_done_callback(lambda one: one.cancelled() or one.exception())  # looked at, or asyncio would log it
    wire.stop()
    await asyncio.wait({working}, timeout=_GRACE)


_OF_PROJECT = frozenset({"project_name", "project_id", "project_domain_name", "region_name", "interface"})
_SHOWN = _OF_PROJECT | {"auth_url", "ca_cert", "username", "user_id", "user_domain_name"}


def _with_shown_names(secret: Secret) -> Secret:
    """Names of projects and regions may be said in an error, also where the vault keeps them sealed."""
    return Secret(secret.name, secret.type, dict(secret), secret.shown | _SHOWN)
