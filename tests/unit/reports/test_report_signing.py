"""Signatures: OpenSSH takes ours, we take OpenSSH's, and neither takes what was changed."""

from __future__ import annotations

import base64
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from reprokit.errors import ReportError, UsageError
from reprokit.reports import signing, sshsig

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PASSPHRASE = "correct horse"  # noqa: S105  (of keys that live as long as this test)

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (openssh-client)"
)


def nobody() -> str:
    raise AssertionError("nobody is there to be asked")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A key of each kind, one with a passphrase, and one of somebody else."""
    folder = tmp_path_factory.mktemp("keys")
    kinds = {"ed25519": "ed25519", "rsa": "rsa", "ecdsa": "ecdsa", "locked": "ed25519", "foreign": "ed25519"}
    for name, kind in kinds.items():
        word = PASSPHRASE if name == "locked" else ""
        subprocess.run(
            ["ssh-keygen", "-q", "-t", kind, "-N", word, "-C", f"{name}@example.org", "-f", folder / name],
            check=True,
        )
    return folder


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"verdict": "REPRODUCED"}\n')
    return path


def sign(report, key, *, ask=nobody):
    return signing.sign_report(report, key=signing.open_key(key, ask=ask))


def checked(report, keys, name="ed25519", *, now=NOW):
    return signing.check(report, signers=signing.read_signers(keys / f"{name}.pub"), now=now)


def keygen_takes(report, keys, name, tmp_path, *, namespace=sshsig.NAMESPACE):
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ada@example.org {(keys / f'{name}.pub').read_text()}")
    with report.open("rb") as data:
        done = subprocess.run(
            [
                "ssh-keygen",
                "-Y",
                "verify",
                "-f",
                allowed,
                "-I",
                "ada@example.org",
                "-n",
                namespace,
                "-s",
                signing.signature_of(report),
            ],
            stdin=data,
            capture_output=True,
            check=False,
        )
    return done.returncode == 0


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa", "locked"])
def test_ssh_keygen_verifies_what_we_sign_and_nothing_else(report, keys, name, tmp_path):
    sign(report, keys / name, ask=lambda: PASSPHRASE)
    assert keygen_takes(report, keys, name, tmp_path)
    assert not keygen_takes(report, keys, name, tmp_path, namespace="git")
    report.write_text(report.read_text().replace("REPRODUCED", "REGRESSION"))
    assert not keygen_takes(report, keys, name, tmp_path)


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_we_verify_what_ssh_keygen_signs(report, keys, name):
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", sshsig.NAMESPACE, "-f", keys / name, report],
        check=True,
        capture_output=True,
    )
    assert checked(report, keys, name) == signing.Signed(by=f"{name}@example.org", problem="")


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_a_changed_report_and_a_foreign_key_do_not_count(report, keys, name):
    sign(report, keys / name)
    assert "not among those" in checked(report, keys, "foreign").problem
    report.write_text(report.read_text() + " ")
    assert "not one of this report" in checked(report, keys, name).problem


def test_a_report_without_a_signature_is_not_signed(report, keys):
    assert "is not signed" in checked(report, keys).problem


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"SSH", b"PGP"),
        lambda text: text.replace(text[60:64], b"AAAA", 1),
        lambda text: b"\xff" * 100,
        lambda text: text * 2000,
    ],
)
def test_a_damaged_signature_is_told_as_such(report, keys, damage):
    place = sign(report, keys / "ed25519")
    place.write_bytes(damage(place.read_bytes()))
    assert checked(report, keys).problem


def test_every_flipped_bit_of_a_signature_is_found(report, keys):
    data = report.read_bytes()
    lines = sign(report, keys / "ed25519").read_bytes().splitlines()
    blob = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    signer = sshsig.verify(b"\n".join(lines), data)
    for at in range(len(blob)):
        blob[at] ^= 1
        forged = b"\n".join([lines[0], base64.b64encode(bytes(blob)), lines[-1]])
        try:
            taken = sshsig.verify(forged, data) == signer
        except ReportError:
            taken = False
        assert not taken, f"byte {at}"
        blob[at] ^= 1


def test_a_signature_for_another_purpose_is_none(report, keys):
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", keys / "ed25519", report],
        check=True,
        capture_output=True,
    )
    assert "another purpose" in checked(report, keys).problem


def signers(tmp_path, text):
    path = tmp_path / "allowed_signers"
    path.write_text(text)
    return signing.read_signers(path)


def test_an_allowed_signers_file_names_people_and_what_they_may_sign(report, keys, tmp_path):
    sign(report, keys / "ed25519")
    key = (keys / "ed25519.pub").read_text()
    for options, counts in {
        "": True,
        'namespaces="reprokit-*,git" ': True,
        'namespaces="git" ': False,
        'valid-after="20261120Z" ': True,
        'valid-after="20261121Z" ': False,
        'valid-before="20261120115959Z" ': False,
        'namespaces="reprokit-report",valid-before="202611201201Z" ': True,
    }.items():
        known = signers(tmp_path, f"# people\n\nada@example.org {options}{key}")
        found = signing.check(report, signers=known, now=NOW)
        assert (found.by == "ada@example.org") is counts, options


def test_local_time_is_taken_where_no_zone_is_named(keys, tmp_path):
    key = (keys / "ed25519.pub").read_text()
    [one] = signers(tmp_path, f'ada valid-after="20261120" {key}')
    assert one.after is not None
    assert one.after.tzinfo is UTC
    assert abs(one.after - datetime(2026, 11, 20, tzinfo=UTC)) <= timedelta(hours=14)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nobody\n",
        "ada@example.org cert-authority ssh-ed25519 AAAAC3Nz\n",
        "hello\n",
        'ada valid-after="soon" ssh-ed25519 AAAAC3Nz\n',
    ],
)
def test_a_file_that_names_nobody_is_refused(tmp_path, text):
    with pytest.raises(UsageError):
        signers(tmp_path, text)


def test_a_wrong_passphrase_is_told_and_not_repeated(report, keys):
    with pytest.raises(UsageError, match="does not open") as caught:
        sign(report, keys / "locked", ask=lambda: "hunter2")
    told = caught.value
    assert "hunter2" not in str(told)
    assert told.__cause__ is None


@pytest.mark.parametrize("content", ["", "hello", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_what_is_no_key_is_refused_before_anything_is_signed(report, tmp_path, content):
    (tmp_path / "key").write_text(content)
    with pytest.raises(UsageError):
        sign(report, tmp_path / "key")
    assert not signing.signature_of(report).exists()


def test_the_public_half_in_place_of_the_private_one_is_told(report, keys):
    with pytest.raises(UsageError, match="not a private key"):
        sign(report, keys / "ed25519.pub")
