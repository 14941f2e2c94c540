"""`make sbom`: what is installed, called and shipped inside packages, as a CycloneDX 1.6 bill of materials."""

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distributions
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.tags import parse_tag, sys_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from cluster.console.notices import INSIDE, NOT_STATED, direct_requirements, package_notice, required_distributions
from cluster.console.supply.licences import LicensedPart, copyleft_libraries, standing
from cluster.console.supply.lock_files import ROOT, LockedPackage, locked_packages

Json = dict[str, Any]

FILE = ROOT / "build" / "sbom.cdx.json"
PROGRAM = "called as a program"
MODELS = {"all-MiniLM-L6-v2", "EasyOCR's models", "PP-OCRv6's models"}  # of notices.INSIDE
IN_PROCESS = {"PDFium", "qpdf", "libseccomp"}  # of notices.INSIDE; everything else there is a process of its own
# Servers and programs that only tests start; Debian's packages, whose versions are the machine's.
TESTS_ONLY = (
    ("samba", "GPL-3.0-or-later"),
    ("slapd", "OLDAP-2.8"),
    ("dovecot-imapd", "LGPL-2.1-only AND MIT"),
    ("rsyslog", "GPL-3.0-or-later AND Apache-2.0"),
    ("chromium", "BSD-3-Clause"),
)


def make_bill(installed: Iterable[Distribution], runtime: set[str], at: datetime) -> Json:
    """The bill. `runtime`: canonical names of what the product needs; everything else is scope `excluded`."""
    locked = {one.key: one for one in locked_packages()}
    found: dict[str, Distribution] = {canonicalize_name(one.metadata["Name"]): one for one in installed}
    found.pop("aos", None)
    packages = [_package_component(one, locked.get(key), key in runtime) for key, one in sorted(found.items())]
    libraries = [part for key, one in sorted(found.items()) if key in runtime for part in copyleft_libraries(key, one)]
    components = [*packages, *map(_library_component, libraries), *map(_inside_component, INSIDE)]
    components += [_debian_component(name, licence) for name, licence in TESTS_ONLY]
    content = hashlib.sha256(json.dumps(components, sort_keys=True).encode()).hexdigest()
    product = _product()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"timestamp": at.isoformat(timespec="seconds"), "component": product},
        "components": components,
        "dependencies": _dependencies(product, found),
    }


def wheel_hash(one: Distribution, locked: LockedPackage | None) -> str | None:
    """SHA-256 of the file that a distribution was installed from, by the lock and its tags; None: another build."""
    if locked is None or locked.version != one.version:
        return None
    lines = (one.read_text("WHEEL") or "").splitlines()
    tags = {tag for line in lines if line.startswith("Tag:") for tag in parse_tag(line.partition(":")[2].strip())}
    wheels = [(file, parse_wheel_filename(file.name)[3]) for file in locked.files if file.name.endswith(".whl")]
    # A few wheels were renamed after they were built: then what pip would choose here, where that is one file.
    same = [file for file, theirs in wheels if theirs & tags] or [
        file for file, theirs in wheels if theirs & set(sys_tags())
    ]
    only = locked.files if len(locked.files) == 1 else ()
    return next((file.sha256 for file in (*same, *only)), None)


def licence_entry(licence: str) -> list[Json]:
    """`licenses` of a component: an SPDX expression where it is one, otherwise the package's own words."""
    if licence == NOT_STATED:
        return []
    try:
        return [{"expression": canonicalize_license_expression(licence)}]
    except InvalidLicenseExpression:
        return [{"license": {"name": licence}}]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bill; 1 where the product is not installed."""
    parser = argparse.ArgumentParser(
        prog="python -m cluster.console.supply.sbom",
        description=__doc__,
        epilog="example: make sbom, or python -m cluster.console.supply.sbom -o /tmp/aos.cdx.json",
    )
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="where to write it")
    output: Path = parser.parse_args(arguments).output
    try:
        runtime = set(required_distributions(direct_requirements()))
    except PackageNotFoundError as error:
        print(f"{error}: run `make install-runtime` first", file=sys.stderr)
        return 1
    bill = make_bill(distributions(), runtime, datetime.now(UTC))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    libraries = (one for one in bill["components"] if one["type"] == "library" and "purl" in one)
    unhashed = [one["name"] for one in libraries if "hashes" not in one]
    print(f"{len(bill['components'])} components in {output}")
    if unhashed:
        print(f"without a hash, since they did not come from a locked file: {', '.join(unhashed)}")
    return 0


def _package_component(one: Distribution, locked: LockedPackage | None, needed: bool) -> Json:
    notice = package_notice(one)
    purl = _pypi_purl(one)
    digest = wheel_hash(one, locked)
    return {
        "type": "library",
        "bom-ref": purl,
        "name": notice.name,
        "version": notice.version,
        "scope": "required" if needed else "excluded",
        **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
        "licenses": licence_entry(notice.licence),
        "purl": purl,
        "externalReferences": [{"type": "website", "url": notice.url}],
    }


def _library_component(part: LicensedPart) -> Json:
    return {
        "type": "library",
        "bom-ref": f"inside:{part.package}/{part.name}",
        "name": part.name,
        "licenses": licence_entry(part.licence),
        "properties": [_property("inside", part.package), _property("use", standing(part.package))],
    }


def _inside_component(row: tuple[str, str, str, str]) -> Json:
    name, where, licence, url = row
    model, linked = name in MODELS, name in IN_PROCESS
    use = "a model, loaded" if model else "linked" if linked else PROGRAM
    return {
        "type": "machine-learning-model" if model else "library" if linked else "application",
        "bom-ref": f"inside:{where}/{name}",
        "name": name,
        "licenses": licence_entry(licence),
        "externalReferences": [{"type": "website", "url": url}],
        "properties": [_property("inside", where), _property("use", use)],
    }


def _debian_component(name: str, licence: str) -> Json:
    return {
        "type": "application",
        "bom-ref": f"tests:{name}",
        "name": name,
        "scope": "excluded",
        "licenses": licence_entry(licence),
        "purl": f"pkg:deb/debian/{name}",
        "properties": [_property("use", f"{PROGRAM}, by tests alone")],
    }


def _dependencies(product: Mapping[str, Any], found: Mapping[str, Distribution]) -> list[Json]:
    refs = {key: _pypi_purl(one) for key, one in found.items()}

    def _refs_of(requirements: Iterable[Requirement]) -> list[str]:
        plain = (one for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""}))
        return sorted({refs[key] for one in plain if (key := canonicalize_name(one.name)) in refs})

    rows = [{"ref": product["bom-ref"], "dependsOn": _refs_of(direct_requirements())}]
    for key, one in sorted(found.items()):
        rows.append({"ref": refs[key], "dependsOn": _refs_of(map(Requirement, one.requires or ()))})
    return rows


def _product() -> Json:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    purl = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "type": "application",
        "bom-ref": purl,
        "name": project["name"],
        "version": project["version"],
        "licenses": licence_entry(project["license"]),
        "purl": purl,
    }


def _pypi_purl(one: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(one.metadata['Name'])}@{one.version.replace('+', '%2B')}"


def _property(name: str, value: str) -> Json:
    return {"name": f"aos:{name}", "value": value}


if __name__ == "__main__":
    sys.exit(main())
