"""The locks that are committed: complete, of one mind, and free of addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.images.locks import read_lock
from reprokit.images.packages import Target, packages_for, read_packages

LOCKS = ["requirements.lock", "requirements-dev.lock", "images/cpu/requirements.lock"]
TARGETS = [
    Target(machine=machine, python=python)
    for machine in ("x86_64", "aarch64")
    for python in ("3.11", "3.12", "3.13")
]


def versions(path: Path, target: Target) -> dict[str, str]:
    return {package.name: package.version for package in packages_for(read_packages(path), target)}


@pytest.mark.parametrize("name", LOCKS)
def test_no_lock_holds_an_address_or_a_path(project: Path, name: str):
    text = (project / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--find-links" not in text
    assert "/home/" not in text


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.machine}-{target.python}")
def test_tests_run_with_the_very_packages_of_the_tool_and_of_the_environment(project: Path, target: Target):
    everything = versions(project / "requirements-dev.lock", target)
    for name in ("requirements.lock", "images/cpu/requirements.lock"):
        assert versions(project / name, target).items() <= everything.items()


def test_the_environment_has_one_version_of_each_package_and_the_promised_ones(project: Path):
    for machine in read_lock(project).variant("cpu").machines:
        packages = packages_for(
            read_packages(project / "images/cpu/requirements.lock"), Target(machine=machine, python="3.11")
        )
        pins = {package.pin for package in packages}
        assert len({package.name for package in packages}) == len(packages)
        assert {"torch==2.13.0+cpu", "numpy==2.4.6", "gymnasium==1.4.0"} <= pins


def test_torch_is_locked_by_the_hashes_of_lock_toml_for_both_machines(project: Path):
    external = next(one for one in read_lock(project).external if one.version.startswith("2.13"))
    expected = {digest for wheel, digest in external.wheels.items() if "-cp311-" in wheel}
    (torch,) = [p for p in read_packages(project / "images/cpu/requirements.lock") if p.name == "torch"]
    assert set(torch.hashes) == expected
    assert len(expected) == 2
