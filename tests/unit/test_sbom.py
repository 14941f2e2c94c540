"""The bill of materials: packages with hash, licence and purl; programs, models and libraries inside packages."""

from datetime import UTC, datetime
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from cluster.console.supply.lock_files import LockedFile, LockedPackage, locked_packages
from cluster.console.supply.sbom import licence_entry, make_bill, wheel_hash

AT = datetime(2026, 1, 2, tzinfo=UTC)


def installed(root: Path, name: str, version: str, tag: str = "py3-none-any", requires: str = "") -> Distribution:
    folder = root / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    meta = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n{needs}"
    (folder / "METADATA").write_text(meta)
    (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
    (folder / "RECORD").write_text(f"{name}.libs/libx265-4883ecb5.so.217,,\n")
    return Distribution.at(folder)


@pytest.fixture
def bill(tmp_path: Path) -> dict[str, Any]:
    real = next(one for one in locked_packages(("runtime",)) if one.name == "anyio")
    return make_bill(
        [
            installed(tmp_path, "anyio", real.version, requires="idna>=2"),
            installed(tmp_path, "idna", "0.0.1"),
            installed(tmp_path, "tool", "1+cpu"),
            installed(tmp_path, "aos", "0.1.0"),
        ],
        {"anyio", "idna"},
        AT,
    )


def component(bill: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in bill["components"] if one["name"] == name]
    return found


def test_a_locked_package_has_licence_hash_and_purl(bill: dict[str, Any]) -> None:
    found = component(bill, "anyio")
    (file,) = next(one for one in locked_packages(("runtime",)) if one.name == "anyio").files
    assert found["hashes"] == [{"alg": "SHA-256", "content": file.sha256}]
    assert found["licenses"] == [{"expression": "MIT"}] and found["scope"] == "required"
    assert found["purl"] == f"pkg:pypi/anyio@{found['version']}"


def test_a_package_of_another_build_has_no_hash_rather_than_a_wrong_one(bill: dict[str, Any]) -> None:
    assert "hashes" not in component(bill, "idna")
    assert component(bill, "tool")["purl"] == "pkg:pypi/tool@1%2Bcpu"


def test_tools_are_excluded_and_the_product_describes_itself_once(bill: dict[str, Any]) -> None:
    assert component(bill, "tool")["scope"] == "excluded"
    assert bill["metadata"]["component"]["name"] == "aos"
    assert [one for one in bill["components"] if one["name"] == "aos"] == []


def test_programs_models_and_libraries_are_marked(bill: dict[str, Any]) -> None:
    uses = {one["name"]: one["properties"][-1]["value"] for one in bill["components"] if "properties" in one}
    for name in ("Tesseract", "LibreOffice", "HAProxy", "PostgreSQL", "bubblewrap"):
        assert uses[name] == "called as a program"
    assert uses["samba"] == "called as a program, by tests alone"
    assert component(bill, "all-MiniLM-L6-v2")["type"] == "machine-learning-model"
    assert uses["PDFium"] == "linked"
    assert "NOT RESOLVED" in uses["libx265"]


def test_every_reference_is_there_once(bill: dict[str, Any]) -> None:
    refs = [one["bom-ref"] for one in bill["components"]]
    assert len(refs) == len(set(refs))
    row = next(one for one in bill["dependencies"] if one["ref"] == component(bill, "anyio")["bom-ref"])
    assert row["dependsOn"] == ["pkg:pypi/idna@0.0.1"]
    assert bill["specVersion"] == "1.6" and bill["metadata"]["timestamp"] == "2026-01-02T00:00:00+00:00"


def test_the_hash_is_that_of_the_file_with_the_same_tags(tmp_path: Path) -> None:
    one = installed(tmp_path, "a", "1", "cp311-cp311-manylinux_2_28_x86_64")
    files = (
        LockedFile("a-1-cp311-cp311-manylinux_2_28_aarch64.whl", "aa" * 32),
        LockedFile("a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl", "bb" * 32),
    )
    assert wheel_hash(one, LockedPackage("a", "1", files)) == "bb" * 32
    assert wheel_hash(one, LockedPackage("a", "2", files)) is None


def test_words_that_are_no_expression_are_a_name() -> None:
    assert licence_entry("Apache-2.0 OR MIT") == [{"expression": "Apache-2.0 OR MIT"}]
    assert licence_entry("BSD 3-Clause License") == [{"license": {"name": "BSD 3-Clause License"}}]
    assert licence_entry("not stated by the package") == []


def test_the_bill_is_valid_by_the_schema_of_cyclonedx(bill: dict[str, Any]) -> None:
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    import json

    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
