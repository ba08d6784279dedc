"""Package locks: what they may hold, and what of it one machine needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.errors import ImageError
from reprokit.images.packages import Target, digest_of, packages_for, read_packages, requirements_text

A, B = "a" * 64, "b" * 64
X86 = Target(machine="x86_64", python="3.11")
ARM = Target(machine="aarch64", python="3.11")


def lock_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "requirements.lock"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_lock_gives_names_versions_and_every_hash(tmp_path: Path):
    path = lock_of(
        tmp_path, f"# by hand\nRuamel.YAML==0.19.1 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{B}\n"
    )
    (package,) = read_packages(path)
    assert package.pin == "ruamel-yaml==0.19.1"
    assert package.hashes == (f"sha256:{A}", f"sha256:{B}")


def test_a_comment_after_a_package_is_no_part_of_it(tmp_path: Path):
    path = lock_of(tmp_path, f"a==1 \\\n    --hash=sha256:{A}\n    # via b\nb==2 --hash=sha256:{B}  # why\n")
    assert [package.pin for package in read_packages(path)] == ["a==1", "b==2"]


def test_markers_are_judged_for_the_target_not_for_this_machine(tmp_path: Path):
    path = lock_of(
        tmp_path,
        f'a==1 ; platform_machine == "x86_64" --hash=sha256:{A}\n'
        f'a==2 ; platform_machine == "aarch64" --hash=sha256:{B}\n'
        f'w==1 ; sys_platform == "win32" --hash=sha256:{A}\n'
        f'o==1 ; python_version < "3.11" --hash=sha256:{A}\n',
    )
    packages = read_packages(path)
    assert [package.pin for package in packages_for(packages, X86)] == ["a==1"]
    assert [package.pin for package in packages_for(packages, ARM)] == ["a==2"]


def test_a_build_without_the_gil_has_the_markers_of_its_version(tmp_path: Path):
    path = lock_of(
        tmp_path, f'a==1 ; python_full_version >= "3.13" and python_version < "3.14" --hash=sha256:{A}\n'
    )
    without = Target(machine="x86_64", python="3.13t")
    assert [package.pin for package in packages_for(read_packages(path), without)] == ["a==1"]
    assert (without.version, without.abi) == ("3.13", "cp313t")


def test_what_an_installer_gets_has_no_markers_left(tmp_path: Path):
    path = lock_of(tmp_path, f'a==1 ; platform_machine == "x86_64" --hash=sha256:{A}\n')
    assert requirements_text(packages_for(read_packages(path), X86)) == f"a==1 --hash=sha256:{A}\n"


@pytest.mark.parametrize(
    "line",
    [
        "a==1",
        f"a>=1 --hash=sha256:{A}",
        f"a==1.* --hash=sha256:{A}",
        f"a==1,<2 --hash=sha256:{A}",
        f"a --hash=sha256:{A}",
        f"a==1 --hash=sha256:{A[:-1]}",
        f"a==1 --hash=sha256:{A} --hash=md5:{A[:32]}",
        f"a @ https://example.org/a-1.whl --hash=sha256:{A}",
        "--index-url https://example.org/simple",
        "--requirement other.lock",
        f"a==1 ; nonsense == 1 --hash=sha256:{A}",
    ],
)
def test_a_line_that_is_no_pin_with_hashes_is_refused_by_file_and_line(tmp_path: Path, line: str):
    path = lock_of(tmp_path, f"ok==1 --hash=sha256:{A}\n{line}\n")
    with pytest.raises(ImageError, match=r"requirements\.lock:2"):
        read_packages(path)


def test_a_missing_lock_says_what_to_do(tmp_path: Path):
    with pytest.raises(ImageError, match="cannot read") as caught:
        read_packages(tmp_path / "requirements.lock")
    assert caught.value.exit_code == 3
    assert caught.value.fix


def test_the_digest_is_that_of_the_bytes(tmp_path: Path):
    path = tmp_path / "lock"
    path.write_bytes(b"a\r\n")
    with_return = digest_of(path)
    path.write_bytes(b"a\n")
    assert digest_of(path) != with_return


@pytest.mark.parametrize("more", ["--index-url http://x", "--hash=md5:0", "b==1.0", "-r other.txt"])
def test_nothing_may_follow_the_hashes(tmp_path: Path, more: str):
    path = lock_of(tmp_path, f"a==1.0 --hash=sha256:{'0' * 64} {more}\n")
    with pytest.raises(ImageError, match="not pinned with its hashes"):
        read_packages(path)
