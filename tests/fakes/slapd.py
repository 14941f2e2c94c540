"""A real slapd on the loopback, with LDAPS and StartTLS, certificates of a CA made here, and entries from LDIF."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

BASE = "dc=corp,dc=example"
SERVICE_DN, SERVICE_PASSWORD = f"cn=aos,{BASE}", "the service account's own"
PLACES = "/usr/sbin:/usr/local/sbin:/usr/lib/openldap:/usr/libexec"
MISSING = "slapd is missing. Run once: make slapd (or: sudo apt-get install -y --no-install-recommends slapd)"
CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/msuser.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
sizelimit size.soft=500 size.hard=500 size.prtotal=unlimited
{more}
database mdb
maxsize 1073741824
suffix "{base}"
rootdn "cn=root,{base}"
rootpw root
directory {folder}/data
dbnosync
overlay ppolicy
ppolicy_default "cn=policy,{base}"
index objectClass,uid,mail,member,cn eq
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
"""


class Authority:
    """A certificate authority of a test's own."""

    def __init__(self, name: str = "Test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = self._builder(self._name, self._key.public_key(), timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(usage, critical=True)
        self.certificate = builder.sign(self._key, hashes.SHA256())

    def pem(self, folder: Path) -> Path:
        """Its certificate as a file."""
        path = folder / "ca.pem"
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return path

    def issue(
        self, folder: Path, names: Sequence[str] = ("localhost", "127.0.0.1"), lasts: timedelta = timedelta(days=1)
    ) -> tuple[Path, Path]:
        """A server's certificate and key as files; one that `lasts` less than nothing has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])  # which nobody is to believe
        builder = self._builder(subject, key.public_key(), lasts)
        known = [_general_name(one) for one in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(known), critical=False)
        certificate, secret = folder / "server.pem", folder / "server.key"
        certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate, secret

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, lasts: timedelta) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - timedelta(days=2)).not_valid_after(now + lasts)


def _general_name(text: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ip_address(text))
    return x509.DNSName(text)


@dataclass
class Slapd:
    """One that runs."""

    folder: Path
    plain: int
    secure: int
    process: subprocess.Popen[bytes]

    @property
    def ldap(self) -> str:
        return f"ldap://localhost:{self.plain}"

    @property
    def ldaps(self) -> str:
        return f"ldaps://localhost:{self.secure}"

    def change(self, ldif: str) -> None:
        """Apply changes as its administrator, over the plain port of this machine."""
        command = ["ldapmodify", "-x", "-H", f"ldap://127.0.0.1:{self.plain}", "-D", f"cn=root,{BASE}", "-w", "root"]
        subprocess.run(command, input=ldif.encode(), check=True, capture_output=True, timeout=20)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


def find_slapd(places: str) -> str:
    """Its path; fails with what to install."""
    program = shutil.which("slapd", path=places)
    assert program is not None, MISSING
    return program


@contextmanager
def slapd(folder: Path, ldif: str, more: str = "") -> Iterator[Slapd]:
    """One with these entries; certificates lie in the folder already. `more` is configuration before the database."""
    # A copy: some systems' AppArmor has the one in its place read and write only where the system's own directory is.
    program = shutil.copy(find_slapd(PLACES), folder / "slapd")
    (folder / "data").mkdir()
    config, entries = folder / "slapd.conf", folder / "entries.ldif"
    config.write_text(CONFIG.format(folder=folder, base=BASE, more=more), encoding="utf-8")
    entries.write_text(ldif, encoding="utf-8")
    load = [program, "-T", "add", "-q", "-f", str(config), "-l", str(entries)]
    loaded = subprocess.run(load, capture_output=True, timeout=120)
    assert loaded.returncode == 0, loaded.stderr.decode()
    plain, secure = _free_ports(2)
    where = f"ldap://127.0.0.1:{plain}/ ldaps://127.0.0.1:{secure}/"
    with (folder / "slapd.log").open("wb") as log:
        process = subprocess.Popen([program, "-f", str(config), "-h", where, "-d", "256"], stdout=log, stderr=log)
    running = Slapd(folder, plain, secure, process)
    try:
        for port in (plain, secure):
            _wait_for_port(port, process)
        yield running
    finally:
        running.stop()


def entry(dn: str, classes: Sequence[str], **attributes: str | Sequence[str]) -> str:
    """An entry as LDIF; `_` in a name stands for `-`, and a value that begins with `: ` is base64."""
    lines = [f"dn: {dn}", *(f"objectClass: {one}" for one in classes)]
    for name, values in attributes.items():
        for value in (values,) if isinstance(values, str) else values:
            lines.append(f"{name.replace('_', '-')}: {value}".replace(": : ", ":: "))
    return "\n".join(lines) + "\n\n"


def person(uid: str, password: str, dn: str = "", **more: str | Sequence[str]) -> str:
    """Somebody of ou=people, with an address of their name."""
    attributes: dict[str, str | Sequence[str]] = {"uid": uid, "cn": uid, "sn": uid, "mail": f"{uid}@corp.example"}
    attributes |= {"userPassword": password} | more
    return entry(dn or f"uid={uid},ou=people,{BASE}", ["inetOrgPerson", "extensibleObject"], **attributes)


def group(name: str, *members: str, under: str = "ou=groups") -> str:
    """A group; members are DNs, or the names of people or (`@name`) of groups."""
    named = [
        one if "=" in one else f"cn={one[1:]},ou=groups,{BASE}" if one[0] == "@" else f"uid={one},ou=people,{BASE}"
        for one in members
    ]
    return entry(f"cn={name},{under},{BASE}", ["groupOfNames"], cn=name, member=named)


def skeleton() -> str:
    """The tree, and the service account."""
    return (
        entry(BASE, ["dcObject", "organization"], dc="corp", o="Corp")
        + entry(f"ou=people,{BASE}", ["organizationalUnit"], ou="people")
        + entry(f"ou=groups,{BASE}", ["organizationalUnit"], ou="groups")
        + entry(SERVICE_DN, ["person"], cn="aos", sn="aos", userPassword=SERVICE_PASSWORD)
    )


def _free_ports(count: int) -> list[int]:
    open_ = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in open_]
    for one in open_:
        one.close()
    return ports


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert process.poll() is None, "slapd did not start"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError("slapd does not listen")
