"""Engines with known ways out of their containers."""

import pytest

from reprokit.features.doctor.escapes import ESCAPES, known_escapes


def names(version):
    return [escape.name for escape in known_escapes(version)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("29.5.1", []),
        ("30.0.0", []),
        ("29.5.0", ["CVE-2026-41567"]),
        ("29.0.0", ["CVE-2026-41567"]),
        ("28.5.2", ["CVE-2026-41567"]),
        ("28.5.1", ["CVE-2026-41567", "CVE-2025-31133"]),
        ("24.0.9", ["CVE-2026-41567", "CVE-2025-31133"]),
        ("24.0.8", ["CVE-2026-41567", "CVE-2025-31133", "CVE-2024-21626"]),
        ("25.0.1", ["CVE-2026-41567", "CVE-2025-31133", "CVE-2024-21626"]),
        ("25.0.2", ["CVE-2026-41567", "CVE-2025-31133"]),
        ("20.10.24+dfsg1", ["CVE-2026-41567", "CVE-2025-31133", "CVE-2024-21626"]),
        ("18.09.1", [escape.name for escape in ESCAPES]),
        ("18.09.2-ce", ["CVE-2026-41567", "CVE-2025-31133", "CVE-2024-21626"]),
    ],
)
def test_an_engine_has_the_escapes_that_were_fixed_after_it(version, expected):
    assert names(version) == expected


@pytest.mark.parametrize("version", [None, "", "dev", "master-abc"])
def test_a_version_that_is_no_number_is_not_judged(version):
    assert names(version) == []


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.name)
def test_every_escape_names_its_advisory(escape):
    assert escape.source.startswith("https://")
    assert escape.what
    assert escape.fixed_in


def test_the_newest_fix_stands_first():
    newest = [max(escape.fixed_in) for escape in ESCAPES]
    assert newest == sorted(newest, reverse=True)
