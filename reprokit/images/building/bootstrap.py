"""Builds the root file system of a base with mmdebstrap: the same packages give the same bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images.building import debian_packages
from reprokit.images.building.architecture import architecture
from reprokit.images.building.debian_packages import Deb
from reprokit.images.building.in_memory import with_folder_in_memory
from reprokit.images.building.suites import MOVING_SUITES, PYTHON_OF_SUITE, second_python
from reprokit.images.cache import Progress
from reprokit.images.locks import BootstrapBase, Lock
from reprokit.images.subprocesses import heartbeat, run_command

# What mmdebstrap takes from the host that runs it: its name, its name server, its archives.
_NEUTRAL = (
    'echo localhost > "$1/etc/hostname"',
    ': > "$1/etc/resolv.conf"',
    'echo "# made of pinned packages: no archive" > "$1/etc/apt/sources.list"',
)
# Half of the time went into flushing each file to the disk, for a root file system that is made again anyhow
# where the power fails. The setting leaves no trace, not even in the time of its folder.
_LEFT_BY_IT = 'cd "$1/etc/dpkg/dpkg.cfg.d"; at=$(stat --format=%Y .); rm 99mmdebstrap; touch --date="@$at" .'
_WITHOUT_FLUSHING = ("--dpkgopt=force-unsafe-io", f"--customize-hook={_LEFT_BY_IT}")
# The list of packages of an unfinished release says that it expires within days, and mirrors lag behind. Its
# signature is still checked, and what is found is written into a lock.
_LAGGING = "Acquire::Check-Valid-Until"
# A system of packages is some four times as large as they are, and for a while both are there. Half of the
# time went into writing it to a disk and freeing it there again, only to make an archive of it.
_UNPACKED = 6
_USUAL_BYTES = 1 << 30
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def sources(base: BootstrapBase) -> tuple[str, ...]:
    """Lines of apt's sources for the distribution: the archives that this host is configured with.

    Raises:
        ImageError: The host has no apt, or knows no archive of this distribution.
    """
    listed: list[str] = []
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    if shutil.which(command[0]):
        run_command(command, environment={**os.environ, "LC_ALL": "C.UTF-8"}, on_line=listed.append)
    fields = [line.split() for line in listed]
    offered = [field for field in fields if len(field) == 3 and field[2] == "main"]
    found = tuple(
        f"deb {uri} {release} main" for uri, release, _ in offered if release.split("-")[0] == base.suite
    )
    if not found and base.suite in PYTHON_OF_SUITE:
        # An archive of Debian has all its releases side by side, under one address.
        same = dict.fromkeys(uri for uri, release, _ in offered if release in PYTHON_OF_SUITE)
        found = tuple(f"deb {uri} {base.suite} main" for uri in same)
    if not found:
        raise ImageError(
            f"apt on this host has no sources for {base.suite}, which the base is built from",
            fix=f"use a {base.suite} host, build from a vendored folder (--from-vendor), or let the engine "
            "reach its registry",
        )
    return found


def make_rootfs(lock: Lock, rootfs: Path, *, machine: str, cache: Path, on_progress: Progress) -> None:
    """Build the root file system from the base's lock, or from current packages where it has none."""
    _mmdebstrap_path()
    base, path = lock.bootstrap, lock.base_packages(machine)
    named = architecture(machine)
    if not path.is_file():
        on_progress(
            f"base: images/base/{path.name} is missing, so the distribution's current packages are used"
        )
        with heartbeat(on_progress, f"base: installing {base.suite} packages"):
            _mmdebstrap(base, rootfs, architecture=named, archive=sources(base))
        return
    pinned = debian_packages.read_base_lock(path)
    packages = debian_packages.fetch(
        pinned, sources=lambda: sources(base), architecture=named, cache=cache, on_progress=on_progress
    )
    with tempfile.TemporaryDirectory(prefix="archive-", dir=cache) as name:
        debian_packages.write_repository(pinned, packages, Path(name), suite=base.suite)
        with heartbeat(on_progress, f"base: installing {len(pinned)} {base.suite} packages"):
            local = (f"deb [trusted=yes] copy://{name} ./",)
            names = [package.name for package in pinned]
            size = sum((packages / one.file_name).stat().st_size for one in pinned)
            _mmdebstrap(
                base,
                rootfs,
                architecture=named,
                archive=local,
                include=names,
                needs_bytes=max(_USUAL_BYTES, size * _UNPACKED),
            )


def solve_base(lock: Lock, *, machine: str, cache: Path, on_progress: Progress) -> tuple[Deb, ...]:
    """The packages that the distribution would install today; they are kept in the cache.

    Raises:
        ImageError: There is no archive of the distribution, or it has no such packages.
    """
    base = lock.bootstrap
    archive, named = sources(base), architecture(machine)
    with tempfile.TemporaryDirectory(prefix="solve-", dir=cache) as name:
        with heartbeat(on_progress, f"base: resolving the current packages of {base.suite}"):
            _download(base, Path(name), architecture=named, archive=archive)
        found = sorted((Path(name) / "archives").glob("*.deb"))
        debian_packages.keep(found, cache=cache)
        return debian_packages.described(found)


def _download(base: BootstrapBase, folder: Path, *, architecture: str, archive: Sequence[str]) -> None:
    """What ``mmdebstrap --variant=minbase`` would install, as apt finds it for an empty system.

    To install all of it, only to see what it is, took minutes.
    """
    for one in ("lists/partial", "archives/partial"):
        (folder / one).mkdir(parents=True)
    (folder / "status").touch()
    signed = f"[signed-by={_KEYRING}] " if Path(_KEYRING).is_file() else ""
    lines = [f"deb {signed}{line.removeprefix('deb ')}\n" for line in archive]
    (folder / "sources.list").write_text("".join(lines), encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        **dict.fromkeys(("Dir::Etc::sourceparts", "Dir::Etc::preferences"), "/dev/null"),
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::State::extended_states": folder / "extended_states",
        "Dir::Cache": folder,
        "Dir::Cache::archives": folder / "archives",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",  # the folder is this user's own
        "Acquire::Languages": "none",
        **({_LAGGING: "false"} if base.suite in MOVING_SUITES else {}),
    }
    options = [f"--option={name}={value}" for name, value in settings.items()]
    wanted = ["?essential", "?priority(required)", "apt", *base.packages]
    for words in (["update", "--error-on=any"], ["install", "--download-only", "--yes", *wanted]):
        command = ["apt-get", "--quiet", "--quiet", *options, *words]
        ended = run_command(command, environment={**os.environ, "LC_ALL": "C.UTF-8"})
        if ended.exit_code:
            raise ImageError(
                f"apt cannot get the packages of {base.suite}",
                where=" ".join(["apt-get", *words]),
                actual=ended.last_lines,
                fix="check that this host reaches its package mirror, or use --backend local",
            )


def _mmdebstrap(
    base: BootstrapBase,
    rootfs: Path,
    *,
    architecture: str,
    archive: Sequence[str],
    include: Sequence[str] = (),
    needs_bytes: int = _USUAL_BYTES,
) -> None:
    """Bit-identical when run twice on the same packages: the clamp is the epoch."""
    second = second_python(base.packages)  # its packages leave the name `python3` to the release's own
    linked = [f'ln --symbolic python{second} "$1/usr/bin/python3"'] if second else []
    command = [
        _mmdebstrap_path(),
        "--variant=minbase",
        "--format=tar",
        f"--architectures={architecture}",
        f"--include={','.join(sorted({*base.packages, *include}))}",
        *(f"--customize-hook={one}" for one in (*_NEUTRAL, *linked)),
        *_WITHOUT_FLUSHING,
        base.suite,
        str(rootfs),
        *archive,
    ]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(base.epoch), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="system-", dir=rootfs.parent) as folder:
        placed = with_folder_in_memory(command, Path(folder), needs_bytes=needs_bytes)
        ended = run_command(placed, environment=variables)
    if ended.exit_code:
        raise ImageError(
            f"mmdebstrap ended with exit code {ended.exit_code}",
            where=" ".join(command),
            actual=ended.last_lines,
            fix="check that this host reaches its package mirror, or use --backend local",
        )


def _mmdebstrap_path() -> str:
    program = shutil.which("mmdebstrap")
    if program is None:
        raise ImageError(
            "mmdebstrap is not installed, and without a registry the base is built with it",
            fix="sudo apt-get install mmdebstrap debian-archive-keyring, or use --backend local",
        )
    return program
