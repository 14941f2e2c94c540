"""A package that was signed is whole or refused; what is written is read again as it was; names of any kind."""

import json
import unicodedata
from base64 import b64encode
from io import BytesIO
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.basics.archive import BadPackage, FileBundle, PackageTooLarge, pack_zip, unpack_zip
from cluster.basics.errors import Invalid, InvalidSettings
from cluster.basics.signature import SIGNATURE, BadSignature, new_key, sign_bundle, signer_of
from skills.framework.manifest import Kind, Manifest, Risk
from skills.framework.package import PackageUntrusted, Trust, read_package, write_package

SKILL = b"---\nname: s\ndescription: d\n---\nBe brief.\n"
BUNDLE = FileBundle("s", {"SKILL.md": SKILL, "references/a.md": b"One.", "references/b.md": b"Two."})
SCRIPT = Manifest(
    "sum_up",
    "Adds numbers.",
    Kind.PYTHON,
    {"type": "object", "properties": {"of": {"type": "array"}}},
    text="Only numbers.",
    code="def run(payload):\n    return {'sum': sum(payload['of'])}\n",
    category="Package/s",
)


def test_gw_07_a_signed_package_says_by_whom() -> None:
    """SK-06: trusted, unknown or unsigned; with `signed_only` only the first of them."""
    pem, public = new_key()
    signed, told = sign_bundle(BUNDLE, pem)
    assert told == public
    data = pack_zip(signed)
    known = read_package(data, [public], signed_only=True)
    assert (known.trust, known.signed_by, known.ignored) == (Trust.TRUSTED, public, ())
    other = new_key()[1]
    assert read_package(data, [other]).trust is Trust.UNKNOWN_KEY
    assert (read_package(pack_zip(BUNDLE), [public]).trust, read_package(pack_zip(BUNDLE)).signed_by) == (
        Trust.UNSIGNED,
        "",
    )
    for refused, why in ((data, "another key"), (pack_zip(BUNDLE), "not signed")):
        with pytest.raises(PackageUntrusted, match=why):
            read_package(refused, [other], signed_only=True)
    with pytest.raises(InvalidSettings):
        read_package(data, ["no base64!"])
    again, newer = sign_bundle(signed, new_key()[0])
    assert signer_of(again) == newer != public, "a second signature takes the place of the first"


@pytest.mark.parametrize(
    "change",
    [
        {"references/a.md": b"Two.", "references/b.md": b"One."},
        {"references/a.md": b"One"},
        {"references/c.md": b""},
        {"references/a.md": None},
        {SIGNATURE: b"{}"},
        {SIGNATURE: b""},
        {SIGNATURE: b"[" * 3_900},
        {SIGNATURE: b"\xff"},
        {"SKILL.md": SKILL + b"And be bold."},
    ],
    ids=["swapped", "cut", "added", "taken away", "empty", "nothing", "deep", "no text", "prompt"],
)
def test_sk_06_what_was_changed_after_it_was_signed_is_refused(change: dict[str, bytes | None]) -> None:
    """SK-06: every file counts, its name and its bytes, and so does the signature's own form."""
    signed, _ = sign_bundle(BUNDLE, new_key()[0])
    files = {path: content for path, content in {**signed.files, **change}.items() if content is not None}
    with pytest.raises(BadSignature):
        read_package(pack_zip(FileBundle("s", files)))


def test_a_signature_is_worth_nothing_elsewhere() -> None:
    signed, _ = sign_bundle(BUNDLE, new_key()[0])
    with pytest.raises(BadSignature):
        signer_of(FileBundle("t", signed.files))
    written = json.loads(signed.files[SIGNATURE])
    for key, value in (("key", new_key()[1]), ("key", b64encode(b"\0" * 32).decode()), ("algorithm", "none")):
        forged = {**signed.files, SIGNATURE: json.dumps({**written, key: value}).encode()}
        with pytest.raises(BadSignature):
            signer_of(FileBundle("s", forged))
    with pytest.raises(Invalid):
        sign_bundle(BUNDLE, b"-----BEGIN PRIVATE KEY-----\nno\n-----END PRIVATE KEY-----\n")


def test_sk_06_a_package_is_read_as_it_was_written() -> None:
    """SK-06: SKILL.md, references and scripts; the same parts give the same bytes."""
    skill = Manifest("s", 'Q &A: *all* of it, "quoted" # and more', text="# Prompt\n\nBe brief.", risk=Risk.READ)
    references = {"runbooks/disk.md": b"Look first.", "a.md": b"One."}
    data = write_package(skill, references, [SCRIPT])
    assert data == write_package(skill, dict(reversed(references.items())), [SCRIPT])
    package = read_package(data)
    assert (package.manifest, package.scripts, package.ignored) == (skill, (SCRIPT,), ())
    assert dict(package.references) == references
    with ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None and "s/scripts/sum_up.py" in archive.namelist()


def test_what_nothing_here_has_a_use_for_is_told() -> None:
    """A shell script is not run, a script that nothing describes is no skill: both are named, neither is a secret."""
    files = {**BUNDLE.files, "scripts/setup.sh": b"rm -rf /", "scripts/alone.py": b"x = 1", "LICENSE": b"MIT"}
    package = read_package(pack_zip(FileBundle("s", files)))
    assert package.ignored == ("LICENSE", "scripts/alone.py", "scripts/setup.sh") and package.scripts == ()


def test_a_script_gets_type_and_category_where_its_description_has_none() -> None:
    about = b"---\nname: x\ndescription: d\n---\n"
    files = {**BUNDLE.files, "scripts/x.md": about, "scripts/x.py": b"def run(payload): return {}"}
    (one,) = read_package(pack_zip(FileBundle("s", files))).scripts
    assert (one.kind, one.category, one.code) == (Kind.PYTHON, "Package/s", "def run(payload): return {}")


@settings(max_examples=150)
@given(st.text(min_size=1, max_size=40), st.binary(max_size=50))
def test_sk_06_a_name_stays_below_its_folder_or_is_refused(name: str, content: bytes) -> None:
    """SK-06: whatever is taken is a normal path of visible parts, none of which leads elsewhere."""
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        archive.writestr("s/SKILL.md", SKILL)
        try:
            archive.writestr(f"s/references/{name}", content)
        except (UnicodeEncodeError, ValueError):
            return
    try:
        bundle = unpack_zip(made.getvalue())
    except (BadPackage, PackageTooLarge):
        return
    for path in bundle.files:
        parts = path.split("/")
        assert path == unicodedata.normalize("NFC", path) and not {"", ".", ".."} & set(parts)
        assert not set("\\:\0") & set(path) and not any(unicodedata.category(c) in ("Cc", "Cf") for c in path)


@settings(max_examples=200)
@given(st.data())
def test_sk_06_a_package_with_any_bytes_changed_is_read_or_refused_by_name(data: st.DataObject) -> None:
    """SK-06: no other error comes out, whatever a few bytes become."""
    good = bytearray(pack_zip(BUNDLE))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at] = data.draw(st.integers(0, 255))
    try:
        bundle = unpack_zip(bytes(good))
    except (BadPackage, PackageTooLarge):
        return
    assert {len(content) for content in bundle.files.values()} <= {len(c) for c in BUNDLE.files.values()}
