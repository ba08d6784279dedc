"""The distribution packages of a base: exact versions with hashes, fetched once and kept.

This module knows their lock, where the packages come from, and how to lay them out so that nothing
but them can be installed; it refuses to know what a base is for.

    >>> read_base_lock(Path("images/base/x86_64.lock"))[0].title
    'adduser 3.134'
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images.cache import Progress, held
from reprokit.images.packages import read_text
from reprokit.images.subprocesses import heartbeat, run_command
from reprokit.workspace import cannot_write, sha256_of

_LINE = re.compile(r"(\S+) (\S+) (\S+) (sha256:[0-9a-f]{64})")
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deb:
    """One distribution package.

    Attributes:
        name: Its name.
        version: Exact version.
        architecture: ``amd64``, ``arm64`` or ``all``.
        digest: ``sha256:…`` of the file.
    """

    name: str
    version: str
    architecture: str
    digest: str

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def file_name(self) -> str:
        """As archives call it: the colon of an epoch is quoted."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def read_base_lock(path: Path) -> tuple[Deb, ...]:
    """Read the package list of a base: name, version, architecture and digest, a package a line.

    Raises:
        ImageError: The file is missing, or a line is anything else.
    """
    found = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ImageError(
                "not a pinned package",
                where=f"{path}:{number}",
                expected="name version architecture sha256:<64 hex digits>",
                actual=repr(line[:120]),
                fix="solve the lock again: reprokit image lock base",
            )
        found.append(Deb(name=match[1], version=match[2], architecture=match[3], digest=match[4]))
    return tuple(found)


def lock_text(debs: Iterable[Deb]) -> str:
    """The package list as a file, sorted."""
    rows = sorted(f"{deb.name} {deb.version} {deb.architecture} {deb.digest}\n" for deb in debs)
    return (
        "# Every package of the base that is made without a registry. Solved by `reprokit image lock base`.\n"
        + "".join(rows)
    )


def moved(before: Sequence[Deb], after: Sequence[Deb]) -> tuple[str, ...]:
    """``name old -> new`` for every package that is not as before, sorted."""
    old, new = ({deb.name: deb.version for deb in debs} for debs in (before, after))
    return tuple(
        f"{name} {old.get(name, '(none)')} -> {new.get(name, '(gone)')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def fetch(
    debs: Sequence[Deb],
    *,
    sources: Callable[[], Sequence[str]],
    architecture: str,
    cache: Path,
    on_progress: Progress,
) -> Path:
    """Make sure that every package lies in the cache, checked against its hash.

    Args:
        debs: What is wanted.
        sources: Gives lines of apt's sources, with no options; not asked where nothing is missing.
        architecture: ``amd64`` or ``arm64``.
        cache: The cache folder.
        on_progress: Called with a line now and then.

    Returns:
        The folder of packages; others may lie in it too.

    Raises:
        ImageError: The distribution has moved on, cannot be reached, or serves another file.
    """
    folder = cache / "debs"
    with held(cache, "debs", on_progress=on_progress):
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(folder, error) from error
        missing = [deb for deb in debs if not _is_there(folder, deb)]
        if missing:
            with (
                heartbeat(on_progress, f"base: fetching {len(missing)} of {len(debs)} packages"),
                tempfile.TemporaryDirectory(prefix="apt-", dir=cache) as name,
            ):
                _download(missing, sources(), architecture, Path(name))
                for path in (Path(name) / "debs").glob("*.deb"):
                    path.rename(folder / path.name)
        for deb in missing:
            _must_be_there(folder, deb)
    return folder


def keep(paths: Iterable[Path], *, cache: Path) -> None:
    """Put packages into the cache, so that the base that they make can be made again."""
    folder = cache / "debs"
    try:
        folder.mkdir(exist_ok=True)
        for path in paths:
            shutil.copyfile(path, folder / path.name)
    except OSError as error:
        raise cannot_write(folder, error) from error


def described(paths: Iterable[Path]) -> tuple[Deb, ...]:
    """What package files are, by their own account, with their digests.

    Raises:
        ImageError: One is no package.
    """
    found = []
    for path in sorted(paths):
        fields = dict(
            line.split(": ", 1) for line in _control(path).splitlines() if re.match(r"[A-Z][\w-]*: ", line)
        )
        found.append(
            Deb(
                name=fields["Package"],
                version=fields["Version"],
                architecture=fields["Architecture"],
                digest=sha256_of(path),
            )
        )
    return tuple(found)


def write_repository(debs: Sequence[Deb], packages: Path, folder: Path, *, suite: str) -> None:
    """Lay out a package archive that holds nothing but these.

    Args:
        debs: What it holds.
        packages: Where the files lie; they are checked again.
        folder: An empty folder; becomes the archive.
        suite: The name that the archive answers to.

    Raises:
        ImageError: A file is not the one that the lock names.
    """
    entries = []
    for deb in debs:
        _must_be_there(packages, deb)
        source = packages / deb.file_name
        shutil.copyfile(source, folder / f"{deb.name}.deb")
        entries.append(
            f"{_control(source).strip()}\nFilename: ./{deb.name}.deb\nSize: {source.stat().st_size}\n"
            f"SHA256: {deb.digest.removeprefix('sha256:')}\n"
        )
    index = "\n".join(entries).encode()
    (folder / "Packages").write_bytes(index)
    listed = f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
    (folder / "Release").write_text(f"Suite: {suite}\nCodename: {suite}\nSHA256:\n{listed}", encoding="utf-8")


def _is_there(folder: Path, deb: Deb) -> bool:
    path = folder / deb.file_name
    return path.is_file() and sha256_of(path) == deb.digest


def _must_be_there(folder: Path, deb: Deb) -> None:
    path = folder / deb.file_name
    if not _is_there(folder, deb):
        raise ImageError(
            f"{deb.title}: the package is not the one that the lock names",
            where=str(path),
            expected=deb.digest,
            actual=sha256_of(path) if path.is_file() else "no such file",
            fix="remove the file; if it comes back the same, the archive serves another one: do not use it",
        )


def _must_have(program: str) -> None:
    if shutil.which(program) is None:
        raise ImageError(
            f"{program} is not installed, and the base is made of the distribution's packages",
            fix="use a Debian-like host, an engine that reaches its registry, or --backend local",
        )


def _control(path: Path) -> str:
    _must_have("dpkg-deb")
    done = subprocess.run(["dpkg-deb", "--field", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError("not a distribution package", where=str(path), actual=done.stderr.strip())
    return done.stdout


def _download(debs: Sequence[Deb], sources: Sequence[str], architecture: str, root: Path) -> None:
    """Let apt fetch exact versions, in a state of its own: the host's packages are not looked at."""
    (root / "debs").mkdir()
    (root / "state" / "lists" / "partial").mkdir(parents=True)
    (root / "cache" / "archives" / "partial").mkdir(parents=True)
    (root / "status").touch()
    lines = [line.replace("deb ", f"deb [signed-by={_KEYS}] ", 1) for line in sources]
    (root / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = {
        "Dir::State": root / "state",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "Dir::Etc::SourceList": root / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    options = [f"-o{key}={value}" for key, value in settings.items()]
    _apt(["apt-get", *options, "update", "--error-on=any"], root)
    said = _apt(
        ["apt-cache", *options, "show", "--no-all-versions", *(deb.name for deb in debs)], root, {0, 100}
    )
    now = dict(re.findall(r"^Package: (\S+)\n(?:.+\n)*?Version: (\S+)$", said, re.MULTILINE))
    if gone := [deb for deb in debs if now.get(deb.name) != deb.version]:
        raise ImageError(
            "the distribution has moved on, and no package cache here has what the base is pinned to",
            where="images/base",
            actual=", ".join(f"{deb.title} -> {now.get(deb.name, '(gone)')}" for deb in gone),
            fix="build from a vendored folder (--from-vendor), or pin today's: reprokit image lock base",
        )
    _apt(["apt-get", *options, "download", *(f"{deb.name}={deb.version}" for deb in debs)], root / "debs")


def _apt(command: list[str], folder: Path, accepted: Sequence[int] | set[int] = (0,)) -> str:
    lines: list[str] = []
    _must_have(command[0])
    ended = run_command(
        command, environment={**os.environ, "LC_ALL": "C.UTF-8"}, folder=folder, on_line=lines.append
    )
    if ended.exit_code not in accepted:
        raise ImageError(
            f"{command[0]} ended with exit code {ended.exit_code}",
            where="images/base",
            actual=ended.last_lines,
            fix="check that this host reaches its package mirror, or build from a vendored folder",
        )
    return "\n".join(lines)
