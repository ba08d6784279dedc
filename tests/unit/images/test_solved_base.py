"""Which packages a base is made of today: those that apt would install on an empty system."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.locks import BootstrapBase, read_lock

PACKAGES = {
    "apt": "",
    "base-files": "Essential: yes\n",
    "shell": "Priority: required\n",
    "python3": "Depends: library\nRecommends: extra\n",
    "library": "",
    "extra": "",
}


@pytest.fixture
def solve(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What is solved from a small archive on this disk."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("apt or dpkg-deb is not installed")
    debs, archive, cache = (tmp_path / name for name in ("debs", "archive", "cache"))
    for folder in (debs, archive, cache):
        folder.mkdir()
    for name, fields in PACKAGES.items():
        control = tmp_path / name / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.write_text(
            f"Package: {name}\nVersion: 1.0\nArchitecture: amd64\nMaintainer: Ada <ada@example.org>\n"
            f"{fields}Description: one\n"
        )
        built = debs / f"{name}_1.0_amd64.deb"
        subprocess.run(["dpkg-deb", "--build", tmp_path / name, built], check=True, capture_output=True)
    described = debian_packages.described(sorted(debs.glob("*.deb")))
    debian_packages.write_repository(described, debs, archive, suite="forky")
    monkeypatch.setattr(bootstrap, "sources", lambda _base: (f"deb [trusted=yes] copy:{archive} ./",))
    monkeypatch.setattr(bootstrap, "_KEYRING", str(tmp_path / "none"))

    def found_for(*packages: str) -> list[str]:
        base = BootstrapBase(suite="forky", packages=packages, timestamp=dt.datetime.now(dt.UTC))
        lock = replace(read_lock(project), bootstrap=base)
        found = bootstrap.solve_base(lock, machine="x86_64", cache=cache, on_progress=print)
        assert {one.file_name for one in found} == {path.name for path in (cache / "debs").iterdir()}
        return [one.name for one in found]

    return found_for


def test_a_base_is_what_every_system_needs_and_what_its_packages_need(solve):
    assert solve("python3") == ["apt", "base-files", "library", "python3", "shell"]


def test_a_package_that_the_release_does_not_have_is_named(solve):
    with pytest.raises(ImageError, match=r"apt cannot get the packages of forky.*python3\.99"):
        solve("python3.99")
