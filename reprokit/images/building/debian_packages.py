"""The distribution packages of a base: pinned by version and hash, fetched once, laid out as an archive."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    """A distribution package; ``architecture`` is ``amd64``, ``arm64`` or ``all``, ``digest`` the file's."""

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
    """``name old -> new`` for every package that changed, sorted."""
    return moved_versions(*({deb.name: deb.version for deb in debs} for debs in (before, after)))


def moved_versions(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """The same from name → version."""
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
    """Make sure that every package is in the cache, checked against its hash; returns their folder.

    ``sources`` gives lines of apt's sources, with no options; it is not called where nothing is missing.

    Raises:
        ImageError: The distribution no longer has a version, cannot be reached, or serves a different file.
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
    """Put packages into the cache, so that their base can be built again."""
    folder = cache / "debs"
    try:
        folder.mkdir(exist_ok=True)
        for path in paths:
            shutil.copyfile(path, folder / path.name)
    except OSError as error:
        raise cannot_write(folder, error) from error


def described(paths: Iterable[Path]) -> tuple[Deb, ...]:
    """The packages in files: name, version and architecture from their metadata, with their digests."""
    found = []
    for path in sorted(paths):
        fields = dict(
            line.split(": ", 1) for line in _control(path).splitlines() if re.match(r"[A-Z][\w-]*: ", line)
        )
        name, version, architecture = (fields[key] for key in ("Package", "Version", "Architecture"))
        found.append(Deb(name=name, version=version, architecture=architecture, digest=sha256_of(path)))
    return tuple(found)


def check_offered(names: Iterable[str], *, where: str) -> None:
    """Refuse a package that the distribution does not offer, before anything is installed for it.

    Where the host's lists of packages are empty, nothing is known, and the installation itself says so.

    Raises:
        ImageError: There is no such package, or no such version of it (``name=version``).
    """
    if shutil.which("apt-cache") is None or not _offers("libc6"):
        return
    for name in names:
        if not _offers(name):
            raise ImageError(
                f"the distribution has no package {name}",
                where=where,
                fix=f"`apt-cache policy {name.partition('=')[0]}` lists its versions",
            )


def _offers(asked: str) -> bool:
    name, _, version = asked.partition("=")
    command = ["apt-cache", "show", "--all-versions", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    versions = re.findall(r"^Version: (\S+)$", done.stdout, re.MULTILINE)
    return not done.returncode and (not version or version in versions)


def write_repository(debs: Sequence[Deb], packages: Path, folder: Path, *, suite: str) -> None:
    """Lay out an apt archive of ``suite`` with these packages only, in an empty folder.

    Raises:
        ImageError: A file differs from the one that the lock names.
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
            fix="remove the file; if the same one is downloaded again, do not use this archive",
        )


def _must_have(program: str) -> None:
    if shutil.which(program) is None:
        raise ImageError(
            f"{program} is not installed, and the base is built from distribution packages",
            fix="use a Debian-like host, an engine that reaches its registry, or --backend local",
        )


def _control(path: Path) -> str:
    _must_have("dpkg-deb")
    done = subprocess.run(["dpkg-deb", "--field", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError("not a distribution package", where=str(path), actual=done.stderr.strip())
    return done.stdout


def _download(debs: Sequence[Deb], sources: Sequence[str], architecture: str, root: Path) -> None:
    """Let apt fetch exact versions, with state folders of its own: the host's are not used."""
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
        "Acquire::Check-Valid-Until": "false",  # versions and hashes are pinned: an old list is as good
    }
    options = [f"-o{key}={value}" for key, value in settings.items()]
    _apt(["apt-get", *options, "update", "--error-on=any"], root)
    names = [deb.name for deb in debs]
    shown = _apt(["apt-cache", *options, "show", "--no-all-versions", *names], root, {0, 100})
    now = dict(re.findall(r"^Package: (\S+)\n(?:.+\n)*?Version: (\S+)$", shown, re.MULTILINE))
    if gone := [deb for deb in debs if now.get(deb.name) != deb.version]:
        raise ImageError(
            "neither the distribution nor the package cache has the pinned versions of the base",
            where="images/base",
            actual=", ".join(f"{deb.title} -> {now.get(deb.name, '(gone)')}" for deb in gone),
            fix="build from a vendored folder (--from-vendor), or pin today's: reprokit image lock base",
        )
    _apt(["apt-get", *options, "download", *(f"{deb.name}={deb.version}" for deb in debs)], root / "debs")


def _apt(command: list[str], folder: Path, accepted: Collection[int] = (0,)) -> str:
    lines: list[str] = []
    _must_have(command[0])
    variables = {**os.environ, "LC_ALL": "C.UTF-8"}
    ended = run_command(command, environment=variables, folder=folder, on_line=lines.append)
    if ended.exit_code not in accepted:
        raise ImageError(
            f"{command[0]} ended with exit code {ended.exit_code}",
            where="images/base",
            actual=ended.last_lines,
            fix="check that this host reaches its package mirror, or build from a vendored folder",
        )
    return "\n".join(lines)
