"""The collectors that the audit trail is sent to: a YAML file that an operator writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import Field, field_validator

from configs.section import Secret, Section
from configs.settings import InvalidConfiguration, read_operator_file
from configs.sign_in_providers import is_private_channel

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Format = Literal["ocsf", "jsonl"]


class _Sink(Section):
    """What all have. `tenants`: ids of those whose trail is sent, all where empty. `format`: OCSF events, or bare."""

    name: Name
    tenants: tuple[UUID, ...] = ()
    format: Format = "ocsf"


class SyslogSink(_Sink):
    """A collector that speaks syslog (RFC 5424) over TLS (RFC 5425).

    `ca_file`: of the authority that signed its certificate; the system's authorities where left out. `server_name`: in
    its certificate, where that is another than `host`. `certificate_file`, `key_file`: of ours, where it asks for one.
    `max_bytes`: of a message that the collector takes; details that do not fit are left out.

    Syslog has no acknowledgement: what a collector has read when it closes a connection counts as received. So it has
    to write before it reads on, or to queue on disk; rsyslog with `main_queue(queue.type="Direct")`, a ruleset of the
    same type, and `global(maxMessageSize="64k")`. A proxy that ends connections in its place would confirm for it.
    """

    kind: Literal["syslog"]
    host: str
    port: int = Field(6514, ge=1, le=65535)
    ca_file: Path | None = None
    server_name: str | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    max_bytes: int = Field(65_536, ge=2_048)
    seconds: float = Field(20, gt=0, le=300)


class OtlpSink(_Sink):
    """A collector that takes logs of OpenTelemetry over HTTP (OTLP, protobuf).

    `endpoint`: its base, or the whole path that ends in /v1/logs. `token`: sent as a bearer token, if it wants one.
    """

    kind: Literal["otlp"]
    endpoint: str
    token: Secret = None
    ca_file: Path | None = None
    seconds: float = Field(20, gt=0, le=300)

    @field_validator("endpoint")
    @classmethod
    def _refuse_plain_text(cls, value: str) -> str:
        if not is_private_channel(value):
            raise ValueError("must begin with https://; http:// is for a collector on this machine alone")
        path = urlsplit(value).path.rstrip("/")
        return value.rstrip("/") if path.endswith("/v1/logs") else f"{value.rstrip('/')}/v1/logs"


class FileSink(_Sink):
    """Files of JSON lines in a folder, one folder a tenant in it; a new file each day (UTC), and at `max_bytes`.

    On several machines the folder has to be one that they share.
    """

    kind: Literal["file"]
    folder: Path
    max_bytes: int = Field(256 * 2**20, ge=2**16)


AnySink = Annotated[SyslogSink | OtlpSink | FileSink, Field(discriminator="kind")]


class _SinksFile(Section):
    sinks: tuple[AnySink, ...] = ()


def load_sinks(path: Path | None) -> Sequence[SyslogSink | OtlpSink | FileSink]:
    """The collectors of a file, none without one. Raises InvalidConfiguration: with a line for each mistake."""
    if path is None:
        return ()
    found = read_operator_file(path, _SinksFile, "audit.sinks_file").sinks
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidConfiguration(f"{path}: sinks: {', '.join(twice)} stands there twice")
    return found
