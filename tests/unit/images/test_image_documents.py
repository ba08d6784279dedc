"""The two documents of an image: right by their schemas, equal for equal images, of the image itself."""

from __future__ import annotations

import json
import re

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from reprokit.images.checking import provenance, sbom
from reprokit.images.checking.image_contents import Contents, PythonPackage, SystemPackage, installed

STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u14
Description: libraries
 Version: not this one

Package: adduser
Status: install ok installed
Architecture: all
Version: 1:3.134~x

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1.0
"""
SUBJECT = sbom.ImageSubject(
    name="reprokit/cpu",
    version="ca74d15ea062604b",
    id=f"sha256:{'1' * 64}",
    content=f"sha256:{'2' * 64}",
    created="2026-10-01T00:00:00Z",
)


def contents(*, torch: str = "2.13.0+cpu", python3: bool = True) -> Contents:
    found = [*installed(STATUS)]
    if python3:
        found.append(
            SystemPackage(name="python3", version="3.11.2-1", architecture="amd64", source="python3")
        )
    packages = [
        PythonPackage(name="torch", version=torch, expression="BSD-3-Clause", license=""),
        PythonPackage(name="farama-notifications", version="0.0.6", expression="", license="MIT License"),
    ]
    return Contents(
        python={one.name: one for one in packages},
        system={f"{one.name}:{one.architecture}": one for one in found},
        distribution="debian",
        release="12",
        interpreter="3.11.2",
    )


def bill(**changes):
    wheels = {"torch": f"sha256:{'3' * 64}", "farama-notifications": f"sha256:{'4' * 64}"}
    debs = {"libc6=2.36-9+deb12u14:amd64": f"sha256:{'5' * 64}"}
    return sbom.bill(SUBJECT, contents(**changes), wheels=wheels, debs=debs)


def complaints(document) -> str | None:
    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    return None if found is None else str(found)


@pytest.mark.parametrize("python3", [True, False], ids=["Debian's Python", "a Python of its own"])
def test_the_bill_is_valid_by_the_schema_of_cyclonedx(python3):
    assert complaints(bill(python3=python3)) is None


def test_the_validator_would_notice_a_bill_that_is_not():
    broken = bill()
    broken["components"][1]["hashes"] = [{"alg": "SHA-256", "content": "short"}]
    assert "short" in complaints(broken)


def test_only_installed_packages_of_the_distribution_are_listed():
    assert [(one.name, one.version) for one in installed(STATUS)] == [
        ("libc6", "2.36-9+deb12u14"),
        ("adduser", "1:3.134~x"),
    ]


def test_every_package_has_a_purl_that_leads_back_to_its_name_and_version():
    for component in bill()["components"]:
        if component["type"] == "library":
            purl = PackageURL.from_string(component["purl"])
            assert (purl.name, purl.version) == (component["name"], component["version"])


def test_a_hash_is_told_where_it_is_known_and_never_made_up():
    hashed = {one["name"]: one.get("hashes") for one in bill()["components"]}
    assert hashed["torch"] == [{"alg": "SHA-256", "content": "3" * 64}]
    assert hashed["libc6"] == [{"alg": "SHA-256", "content": "5" * 64}]
    assert hashed["adduser"] is None


def test_a_python_that_is_no_package_is_listed_by_itself():
    names = [one["name"] for one in bill(python3=False)["components"] if one["type"] == "platform"]
    assert names == ["python"]
    assert not [one for one in bill()["components"] if one["type"] == "platform"]


def test_equal_images_give_equal_bytes_and_another_package_another_serial_number():
    assert bill() == bill()
    assert bill()["serialNumber"] != bill(torch="2.13.1+cpu")["serialNumber"]


def statement():
    return provenance.statement(
        SUBJECT,
        provenance.BuildInputs(
            variant="cpu",
            machine="x86_64",
            python="3.11",
            epoch=1,
            base=f"docker.io/library/python:3.11@sha256:{'6' * 64}",
            files={"images/Dockerfile": f"sha256:{'7' * 64}"},
            wheels={"torch==2.13.0+cpu": f"sha256:{'8' * 64}"},
            bill=f"sha256:{'9' * 64}",
        ),
    )


def test_the_statement_has_the_form_of_in_toto_and_slsa():
    made = statement()
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://slsa.dev/provenance/v1"
    assert made["subject"] == [{"name": "reprokit/cpu", "digest": {"sha256": "1" * 64}}]
    definition, details = (made["predicate"][name] for name in ("buildDefinition", "runDetails"))
    assert set(definition) == {
        "buildType",
        "externalParameters",
        "internalParameters",
        "resolvedDependencies",
    }
    assert definition["buildType"].startswith("https://")
    assert details["builder"]["id"].startswith("https://")


def test_every_material_has_its_digest():
    materials = statement()["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert [one["name"] for one in materials] == [
        "docker.io/library/python:3.11",
        "images/Dockerfile",
        "torch==2.13.0+cpu",
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", one["digest"]["sha256"]) for one in materials)
