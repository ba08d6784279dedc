"""A report signed, and its signature held against those who may sign.

This module knows where a signature lies and who is named in a list of signers; it refuses to know
how a verdict follows. Signed is ``report.json``: it names the digests of the evidence, and all other
files of a report are drawn from it.

    >>> check(Path("reports/x/T/report.json"), signers=read_signers(Path("allowed_signers")), now=now)
    Signed(by='ada@example.org', problem='')

Source: ssh-keygen(1), section ALLOWED SIGNERS.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reprokit.errors import ReportError, UsageError
from reprokit.reports import sshsig
from reprokit.workspace import write_atomic

if TYPE_CHECKING:
    from reprokit.reports.sshsig import PrivateKey

SUFFIX = ".sig"
_KEY_LINE = re.compile(r"(?:^|\s)(?P<kind>(?:sk-)?(?:ssh|ecdsa)-[\w@.-]+)\s+(?P<key>AAAA[A-Za-z0-9+/]+=*)")
_OPTION = re.compile(r'(?P<name>[a-z-]+)(?:="(?P<value>[^"]*)")?', re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Somebody who may sign.

    Attributes:
        name: The principal, or the key's comment.
        key: Public key, ``<type> <base64>``.
        namespaces: Patterns of what the key may sign; empty for everything.
        after: The key counts from then on, UTC, or None.
        before: And until then, or None.
    """

    name: str
    key: str
    namespaces: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What came of checking a signature: by whom, or why it does not count."""

    by: str
    problem: str


def open_key(path: Path, *, ask: Callable[[], str]) -> PrivateKey:
    """The private key of a file.

    Args:
        path: As ``ssh-keygen`` wrote it.
        ask: Called for the passphrase where the key is encrypted.

    Raises:
        UsageError: It cannot be read, is no such key, or the passphrase does not open it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the key cannot be read: {error.strerror}", where=str(path)) from error
    if b"PRIVATE KEY-----" not in data:
        raise UsageError(
            "not a private key", where=str(path), fix='ssh-keygen -t ed25519 -f KEY -C "you@example.org"'
        )
    try:
        return sshsig.load_private(data, passphrase=None, where=str(path))
    except sshsig.PassphraseNeeded:
        return sshsig.load_private(data, passphrase=ask().encode(), where=str(path))


def sign_report(report: Path, *, key: PrivateKey) -> Path:
    """Write the signature beside a ``report.json``, and return where.

    Raises:
        ReportError: The report cannot be read.
        WorkspaceError: The signature cannot be written.
    """
    target = signature_of(report)
    write_atomic(target, sshsig.sign(_bytes(report), key=key))
    return target


def signature_of(report: Path) -> Path:
    """Where a report's signature lies."""
    return report.with_name(report.name + SUFFIX)


def check(report: Path, *, signers: Sequence[Signer], now: datetime) -> Signed:
    """Hold a report's signature against those who may sign.

    Raises:
        ReportError: The report cannot be read.
    """
    place = signature_of(report)
    if not place.is_file():
        return Signed(by="", problem=f"{report} is not signed: there is no {place.name}")
    try:
        key = sshsig.verify(place.read_bytes(), _bytes(report))
    except (ReportError, OSError) as error:
        return Signed(by="", problem=f"{place}: {error}")
    known = [one for one in signers if one.key == key]
    if not known:
        return Signed(by="", problem=f"{place}: signed by a key that is not among those who may sign")
    fitting = [one for one in known if _counts(one, now)]
    if not fitting:
        return Signed(by="", problem=f"{place}: the key of {known[0].name} may not sign this, or not today")
    return Signed(by=fitting[0].name, problem="")


def read_signers(path: Path) -> tuple[Signer, ...]:
    """Those who may sign: a public key file, or an ``allowed_signers`` file.

    Certificate authorities are not taken.

    Raises:
        UsageError: The file cannot be read or names no key.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the signers cannot be read: {error}", where=str(path)) from error
    texts = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    found = [_signer(text, f"{path}:{number}") for number, text in texts if text and not text.startswith("#")]
    signers = tuple(one for one in found if one is not None)
    if not signers:
        raise UsageError(
            "names nobody who may sign",
            where=str(path),
            expected="a public key (id_ed25519.pub), or an allowed_signers file",
            fix='echo "ada@example.org $(cat id_ed25519.pub)" > allowed_signers',
        )
    return signers


def _signer(text: str, where: str) -> Signer | None:
    found = _KEY_LINE.search(text)
    if found is None:
        raise UsageError("not a line of an allowed_signers file", where=where, actual=repr(text[:60]))
    before, after = text[: found.start()].strip(), text[found.end() :].strip()
    name, _, rest = before.partition(" ")
    options = {one["name"].lower(): one["value"] or "" for one in _OPTION.finditer(rest)}
    if "cert-authority" in options:
        return None
    return Signer(
        name=name or after or "the key's owner",
        key=f"{found['kind']} {found['key']}",
        namespaces=tuple(part for part in options.get("namespaces", "").split(",") if part),
        after=_time(options.get("valid-after"), where),
        before=_time(options.get("valid-before"), where),
    )


def _time(text: str | None, where: str) -> datetime | None:
    """``YYYYMMDD[HHMM[SS]][Z]``; without Z it is local time, as ssh-keygen has it."""
    if not text:
        return None
    digits = text.removesuffix("Z")
    form = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}.get(len(digits), "")
    try:
        moment = datetime.strptime(digits, form)  # noqa: DTZ007  (the zone follows)
    except ValueError as error:
        raise UsageError("not a time", where=where, expected="YYYYMMDD[HHMM[SS]][Z]", actual=text) from error
    return moment.replace(tzinfo=UTC) if text.endswith("Z") else moment.astimezone(UTC)


def _counts(signer: Signer, now: datetime) -> bool:
    allowed = not signer.namespaces or any(
        fnmatch.fnmatchcase(sshsig.NAMESPACE, pattern) for pattern in signer.namespaces
    )
    begun = signer.after is None or signer.after <= now
    return allowed and begun and (signer.before is None or now < signer.before)


def _bytes(report: Path) -> bytes:
    try:
        return report.read_bytes()
    except OSError as error:
        raise ReportError(f"cannot be read: {error.strerror}", where=str(report)) from error
