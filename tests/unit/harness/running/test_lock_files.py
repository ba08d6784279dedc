"""The lock in a run's folder: what should have been installed, whatever has become of images/ since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit import layout
from reprokit.core.records import digest_bytes
from reprokit.harness import Request, judge_again
from reprokit.harness.running.environments.lock_files import locked_versions
from reprokit.records import run_json

ROOT = Path(__file__).resolve().parents[4]
HASH = f"--hash=sha256:{'0' * 64}"
LOCK = f"""# solved on a Friday
numpy==2.4.6 \\
    {HASH}
torch==2.13.0+cpu ; platform_machine == 'x86_64' {HASH}
torch==2.13.0 ; platform_machine == 'aarch64' {HASH}
tomli==2.0.0 ; python_version < '3.11' {HASH}
""".encode()
DIGEST = digest_bytes(LOCK)


@pytest.fixture
def pair(make, programs):
    """Makes two runs whose environment is of a lock, with the packages that are installed in it."""

    def made(lock: bytes = LOCK, *, packages: dict[str, str] | None = None):
        def program(spec, output, on_tick):
            programs["training"]()(spec, output, on_tick)
            inside = json.loads((output / "environment.json").read_text())
            inside["python"]["minor"], inside["sources"] = "3.11", {}
            inside["packages"] = packages or {"numpy": "2.4.6", "torch": "2.13.0+cpu"}
            (output / "environment.json").write_text(json.dumps(inside))

        return make.of_recipe(program, program, lock=lock)

    return made


def row(folders, here):
    report = judge_again(folders, Request(), project=here)
    return next(row for row in report.checks if row.id == "versions_locked")


def test_what_is_installed_and_what_the_lock_says_are_the_same(pair, here):
    found = row(pair(), here)
    assert (found.status, found.reason) == ("PASSED", f"2 packages recorded, all from the lock {DIGEST}")


@pytest.mark.parametrize(
    ("packages", "because"),
    [
        ({"numpy": "2.4.5", "torch": "2.13.0+cpu"}, "numpy 2.4.5 is installed, but the lock has 2.4.6"),
        ({"numpy": "2.4.6", "torch": "2.13.0"}, "torch 2.13.0 is installed, but the lock has 2.13.0+cpu"),
        (
            {"numpy": "2.4.6", "torch": "2.13.0+cpu", "tomli": "2.0.0"},
            "tomli 2.0.0 is installed, but the lock has no such package",
        ),
    ],
    ids=["another version", "another build", "not for this Python"],
)
def test_a_package_that_is_not_what_the_lock_says_fails_the_row(pair, here, packages, because):
    found = row(pair(packages=packages), here)
    assert found.status == "FAILED"
    assert found.reason.endswith(because)


def test_a_copy_of_another_lock_proves_nothing(pair, here):
    [first, _] = pair()
    record, environment = run_json.read(first), json.loads((first / "environment.json").read_text())
    assert locked_versions(first, record, environment) == {"numpy": "2.4.6", "torch": "2.13.0+cpu"}
    (first / layout.LOCK).write_bytes(LOCK.replace(b"2.4.6", b"2.4.5"))
    assert locked_versions(first, record, environment) is None


def test_a_copy_behind_a_link_is_no_copy(pair, tmp_path):
    [first, _] = pair()
    record, environment = run_json.read(first), json.loads((first / "environment.json").read_text())
    (first / layout.LOCK).rename(tmp_path / "elsewhere")
    (first / layout.LOCK).symlink_to(tmp_path / "elsewhere")
    assert locked_versions(first, record, environment) is None


@pytest.mark.parametrize("lacking", ["cpu", "python"])
def test_a_record_without_machine_or_python_cannot_say_what_the_lock_means(pair, lacking):
    [first, _] = pair()
    record, environment = run_json.read(first), json.loads((first / "environment.json").read_text())
    del environment["inside"][lacking]
    assert locked_versions(first, record, environment) is None


def test_a_lock_that_is_no_lock_proves_nothing(pair, here):
    assert "in an environment made from the lock" in row(pair(b"numpy\n"), here).reason


def test_a_run_that_kept_no_copy_says_less(pair, here):
    assert "in an environment made from the lock" in row(pair(b""), here).reason
