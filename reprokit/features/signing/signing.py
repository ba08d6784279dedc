"""Sign a report, and verify who signed it, with OpenSSH's ``ssh-keygen -Y``.

Signed is ``report.json``: it has the digests of the evidence, and the other files of a report are drawn
from it. Only OpenSSH reads keys, signatures and the list of signers.

    >>> with signing_key(Path("~/.ssh/id_ed25519").expanduser(), may_ask=True) as key:
    ...     sign_report(Path("reports/x/T/report.json"), key=key)
    >>> check(Path("reports/x/T/report.json"), signers=Path("allowed_signers"))
    Signed(by='ada@example.org', problem='')

Source: ssh-keygen(1), "-Y sign", "-Y find-principals", "-Y verify" and ALLOWED SIGNERS; ssh-agent(1);
ssh-add(1); ssh(1), SSH_ASKPASS_REQUIRE.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import CannotRunError, ReportError, UsageError
from reprokit.workspace import write_atomic

SUFFIX = ".sig"
#: A signature made for another purpose, such as a commit, does not count for a report.
NAMESPACE = "reprokit-report"

_TIME_LIMIT_S = 60  # enough to touch a security key
_PASSPHRASE_LIMIT_S = 300
_MOST_BYTES = 64 << 10
_HOW_TO_MAKE_ONE = 'ssh-keygen -t ed25519 -f KEY -C "you@example.org"'
_A_KEY = re.compile(r"(?:ssh|ecdsa)-[\w@.-]+\s+AAAA")
_PUBLIC_KEY = re.compile(r"(?P<key>(?:sk-)?(?:ssh|ecdsa)-\S+\s+AAAA\S+)(?:\s+(?P<comment>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that signs without asking anyone."""

    path: Path  # the private key, or the public one of a key that an agent holds
    agent: Path | None = None  # socket of the agent that holds it; None for the caller's own agent, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Who signed, or why the signature does not count."""

    by: str
    problem: str


@contextmanager
def signing_key(path: Path, *, may_ask: bool) -> Iterator[SigningKey]:
    """A key that is tested before anything is run, so that a wrong passphrase costs no training.

    ``path`` is a private key, or the public key of one that the caller's agent holds. One with a passphrase
    that no agent holds is added to an agent of its own, which ends with the block: ``ssh-add`` asks for it,
    once, if someone can type it (``may_ask``), and this process never sees it.

    Raises:
        UsageError: The key cannot sign, or needs a passphrase that no one can type.
        CannotRunError: OpenSSH is not installed, or does not answer in time.
    """
    key = SigningKey(path=path.absolute())
    if not path.is_file():
        raise UsageError("there is no such key", where=str(path), fix=_HOW_TO_MAKE_ONE)
    signed = _sign(b"", key=key)
    if signed.returncode == 0:
        yield key
    elif b"passphrase" not in signed.stderr:
        raise _cannot_sign(path, signed)
    elif not may_ask:
        raise UsageError(
            "the key needs its passphrase, and there is no terminal to ask for it",
            where=str(path),
            fix="ssh-add KEY, or sign where you can type it: reprokit report sign REPORT --key KEY",
        )
    else:
        with _unlocked(key) as usable:
            yield usable


def sign_report(report: Path, *, key: SigningKey) -> Path:
    """Write the signature next to a ``report.json``, and return where.

    Raises:
        ReportError: The report cannot be read.
        UsageError: The key does not sign any more.
        CannotRunError: OpenSSH is not installed, or does not answer in time.
        WorkspaceError: The signature cannot be written.
    """
    target = signature_of(report)
    signed = _sign(_bytes(report), key=key)
    if signed.returncode:
        raise _cannot_sign(key.path, signed)
    write_atomic(target, signed.stdout)
    return target


def signature_of(report: Path) -> Path:
    """Where a report's signature lies."""
    return report.with_name(report.name + SUFFIX)


def check(report: Path, *, signers: Path) -> Signed:
    """Verify a report's signature, now, against an allowed_signers file or a file of public keys.

    Raises:
        UsageError: ``signers`` cannot be read or names no key.
        ReportError: The report cannot be read.
        CannotRunError: OpenSSH is not installed, or does not answer in time.
    """
    text = _read_signers(signers)
    place = signature_of(report)
    if not place.is_file():
        return Signed(by="", problem=f"{report} is not signed: there is no {place.name}")
    if place.stat().st_size > _MOST_BYTES:
        return Signed(by="", problem=f"{place}: too large to be a signature")
    keys = _public_keys(text)
    with tempfile.TemporaryDirectory(prefix="reprokit-signers-") as folder:
        allowed = Path(folder) / "allowed_signers"
        lines = [f'{name} namespaces="{NAMESPACE}" {key}\n' for name, (key, _) in keys.items()]
        allowed.write_text("".join(lines) or text, encoding="utf-8", newline="")
        by, problem = _verify(_bytes(report), signature=place.absolute(), allowed=allowed)
    if problem:
        return Signed(by="", problem=f"{place}: {problem.replace(str(allowed), str(signers))}")
    return Signed(by=keys[by][1] if keys else by, problem="")


def _verify(data: bytes, *, signature: Path, allowed: Path) -> tuple[str, str]:
    """Who signed the data, or why the signature does not count.

    As git does it: the names on the first line with this key are tried, each with all of its lines.
    """
    found = _run(["ssh-keygen", "-Y", "find-principals", "-s", str(signature), "-f", str(allowed)])
    if found.returncode:
        unknown = b"No principal matched" in found.stderr
        what = "its key is not among those who may sign" if unknown else "the signature cannot be read"
        return "", f"{what}: {_openssh_error(found)}"
    problem = "its key is listed for no one"
    for name in found.stdout.decode("utf-8", "replace").split("\n")[:-1]:
        if name.startswith("!"):  # whom a pattern leaves out is no one's name
            continue
        command = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-I", name]
        verified = _run([*command, "-s", str(signature), "-f", str(allowed)], data=data)
        if verified.returncode == 0:
            return name, ""
        problem = f"the signature of {name} does not count for this report: {_openssh_error(verified)}"
    return "", problem


def _read_signers(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8")  # a lone \r ends no line for OpenSSH, nor may it here
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the signers cannot be read: {error}", where=str(path)) from error
    if not any(_A_KEY.search(line) for line in _lines(text)):
        raise UsageError(
            "the file names no one who may sign",
            where=str(path),
            expected="a public key (id_ed25519.pub), or an allowed_signers file",
            fix='echo "ada@example.org $(cat id_ed25519.pub)" > allowed_signers',
        )
    return text


def _public_keys(text: str) -> dict[str, tuple[str, str]]:
    """A made-up name → key and comment, where every line is a public key as ``ssh-keygen`` wrote it."""
    found = [_PUBLIC_KEY.fullmatch(line) for line in _lines(text)]
    keys = [(one["key"], one["comment"] or "the key's owner") for one in found if one is not None]
    return {f"key-{at}": key for at, key in enumerate(keys)} if len(keys) == len(found) else {}


def _lines(text: str) -> list[str]:
    return [line for line in map(str.strip, text.split("\n")) if line and not line.startswith("#")]


@contextmanager
def _unlocked(key: SigningKey) -> Iterator[SigningKey]:
    """The key in an agent of its own, which ends when `cat` does: with the block, or with this process."""
    with tempfile.TemporaryDirectory(prefix="reprokit-agent-") as folder:
        socket = Path(folder) / "agent"
        with subprocess.Popen(
            [_program("ssh-agent"), "-a", str(socket), _program("cat")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as agent:
            _wait_for(agent)
            _add(key.path, socket)
            usable = SigningKey(path=key.path, agent=socket)
            signed = _sign(b"", key=usable)
            if signed.returncode:
                raise _cannot_sign(key.path, signed)
            try:
                yield usable
            finally:  # at once: an agent looks only every few seconds whether its parent is there
                _run(["ssh-add", "-q", "-D"], agent=socket)


def _wait_for(agent: subprocess.Popen[bytes]) -> None:
    """Wait until `cat` gives a line back: it is started when the agent listens."""
    answer = b""
    with contextlib.suppress(BrokenPipeError):
        if agent.stdin is not None and agent.stdout is not None:
            agent.stdin.write(b"ready\n")
            agent.stdin.flush()
            answer = agent.stdout.readline()
    if not answer:
        raise CannotRunError("ssh-agent did not start", fix="start one yourself, then: ssh-add KEY")


def _add(path: Path, socket: Path) -> None:
    """Have ``ssh-add`` ask for the passphrase, on the terminal or as SSH_ASKPASS says."""
    private = path.with_suffix("") if path.suffix == ".pub" else path
    try:
        added = subprocess.run(
            [_program("ssh-add"), "-q", str(private)],
            check=False,
            timeout=_PASSPHRASE_LIMIT_S,
            env={**os.environ, "SSH_AUTH_SOCK": str(socket)},
            stdout=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"no passphrase that opens the key within {_PASSPHRASE_LIMIT_S} s", where=str(path)
        ) from None
    if added.returncode:
        raise UsageError("the passphrase does not open the key", where=str(path))


def _sign(data: bytes, *, key: SigningKey) -> subprocess.CompletedProcess[bytes]:
    return _run(
        ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key.path)], data=data, agent=key.agent
    )


def _run(
    arguments: Sequence[str], *, data: bytes = b"", agent: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of OpenSSH's that asks no one: without a terminal, and with `false` for a prompt."""
    environment = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}
    if agent is not None:
        environment["SSH_AUTH_SOCK"] = str(agent)
    try:
        return subprocess.run(
            [_program(arguments[0]), *arguments[1:]],
            input=data,
            capture_output=True,
            check=False,
            env=environment,
            timeout=_TIME_LIMIT_S,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise CannotRunError(f"{arguments[0]} did not answer within {_TIME_LIMIT_S} s") from None


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise CannotRunError(
            f"{name} is not installed: reports are signed and signatures are verified with OpenSSH",
            fix="sudo apt-get install openssh-client",
        )
    return found


def _cannot_sign(path: Path, signed: subprocess.CompletedProcess[bytes]) -> UsageError:
    return UsageError(
        f"not a key that can sign: {_openssh_error(signed)}",
        where=str(path),
        expected="a private key of ssh-keygen's that only you can read, or a public key that ssh-agent holds",
        fix=f"{_HOW_TO_MAKE_ONE}, or for a key of yours: chmod 600 KEY",
    )


def _openssh_error(ended: subprocess.CompletedProcess[bytes]) -> str:
    """The first line of OpenSSH's error, or how it ended; later lines repeat the first."""
    lines = [line.strip(" @") for line in ended.stderr.decode("utf-8", "replace").splitlines()]
    return next(filter(None, lines), f"exit status {ended.returncode}")


def _bytes(report: Path) -> bytes:
    try:
        return report.read_bytes()
    except OSError as error:
        raise ReportError(f"cannot be read: {error.strerror}", where=str(report)) from error
