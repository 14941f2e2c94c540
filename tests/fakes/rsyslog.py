"""A collector of syslog over TLS, as others run it: rsyslogd with certificates of its own, which writes to a file."""

import asyncio
import ipaddress
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cluster.free_ports import free_port

PROGRAM = "/usr/sbin/rsyslogd"
MISSING = "rsyslogd with TLS is missing: apt-get install -y rsyslog rsyslog-gnutls (or `make syslog`)"
CONFIGURATION = """
global(
  workDirectory="{folder}" maxMessageSize="256k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="{folder}/ca.crt"
  defaultNetstreamDriverCertFile="{folder}/server.crt" defaultNetstreamDriverKeyFile="{folder}/server.key"
)
# What was received is written before more is read: a queue in memory would be lost with the process.
main_queue(queue.type="Direct")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="x509/certvalid")
template(name="message" type="string" string="%msg%\\n")
ruleset(name="audit" queue.type="Direct") {{
  action(type="omfile" file="{folder}/collected.jsonl" template="message" asyncWriting="off" flushOnTXEnd="on")
}}
input(type="imtcp" address="127.0.0.1" port="{port}" ruleset="audit")
"""


@dataclass
class Rsyslog:
    """A collector that a test starts, stops and kills; what it has written stays."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def file(self) -> Path:
        return self.folder / "collected.jsonl"

    def lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []

    def prepare(self) -> None:
        """Certificates and configuration."""
        if not Path(PROGRAM).exists() or not list(Path("/usr/lib").glob("*/rsyslog/lmnsd_gtls.so")):
            raise AssertionError(MISSING)
        self.folder.mkdir(parents=True, exist_ok=True)
        issue_certificates(self.folder, ("server", "client"))
        text = CONFIGURATION.format(folder=self.folder, port=self.port)
        (self.folder / "rsyslog.conf").write_text(text)

    async def start(self) -> None:
        """Returns when it listens."""
        command = [PROGRAM, "-n", "-f", self.folder / "rsyslog.conf", "-i", self.folder / "rsyslog.pid"]
        (self.folder / "rsyslog.pid").unlink(missing_ok=True)  # a killed one leaves it behind
        self.process = _spawn(command, self.folder / "rsyslog.log")
        for _ in range(200):
            assert self.process.poll() is None, (self.folder / "rsyslog.log").read_text()
            if any(one.laddr.port == self.port for one in psutil.Process(self.process.pid).net_connections()):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("rsyslogd does not listen")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, or kill it."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def clear(self) -> None:
        self.end(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def _spawn(command: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said)


def issue_certificates(folder: Path, names: tuple[str, ...]) -> None:
    """An authority (ca.crt), and a certificate and key by each name that is good for localhost."""
    authority = ec.generate_private_key(ec.SECP256R1())
    _write(folder, "ca", _sign("test authority", authority, authority, is_authority=True), authority)
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        _write(folder, name, _sign(name, key, authority, is_authority=False), key)


def _sign(
    name: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    places = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
    )
    if is_authority:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        made = made.add_extension(usage, critical=True)
    else:
        made = made.add_extension(x509.SubjectAlternativeName(places), critical=False)
    return made.sign(by, hashes.SHA256())


def _write(folder: Path, name: str, made: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / f"{name}.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
