"""Signatures: OpenSSH signs and verifies, by its own rules, and nothing that was changed counts."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reprokit.errors import CannotRunError, UsageError
from reprokit.features.signing import signing

PASSPHRASE = "correct horse"  # noqa: S105  (of keys that live as long as this test)
FORMER = Path(__file__).with_suffix("") / "former_signatures"

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (openssh-client)"
)


def keygen(*words, **options):
    return subprocess.run(["ssh-keygen", "-q", *words], check=True, capture_output=True, **options)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A key of each kind, one with a passphrase, one of someone else, and one that signs others' keys."""
    folder = tmp_path_factory.mktemp("keys")
    kinds = {
        "ed25519": "ed25519",
        "rsa": "rsa",
        "ecdsa": "ecdsa",
        "locked": "ed25519",
        "foreign": "ed25519",
        "authority": "ed25519",
        "certified": "ed25519",
    }
    for name, kind in kinds.items():
        word = PASSPHRASE if name == "locked" else ""
        keygen("-t", kind, "-N", word, "-C", f"{name}@example.org", "-f", folder / name)
    keygen("-s", folder / "authority", "-I", "ada", "-n", "ada@example.org", folder / "certified.pub")
    return folder


@pytest.fixture(autouse=True)
def no_agent(monkeypatch):
    for name in ("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"verdict": "REPRODUCED"}\n')
    return path


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Have a passphrase typed by the program that SSH_ASKPASS names, which counts how often it is asked."""

    def types(word):
        program = tmp_path / "askpass"
        program.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho {word}\n")
        program.chmod(0o700)
        monkeypatch.setenv("SSH_ASKPASS", str(program))
        monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
        return lambda: (tmp_path / "asked").read_text().count("asked")

    return types


def sign(report, key, *, may_ask=False):
    with signing.signing_key(key, may_ask=may_ask) as usable:
        return signing.sign_report(report, key=usable)


def checked(report, keys, name="ed25519"):
    return signing.check(report, signers=keys / f"{name}.pub")


def public(keys, name="ed25519"):
    """Type and key, without the comment."""
    return " ".join((keys / f"{name}.pub").read_text().split()[:2])


def allowed(tmp_path, text):
    path = tmp_path / "allowed_signers"
    path.write_text(text)
    return path


def keygen_takes(report, keys, name, tmp_path, *, namespace=signing.NAMESPACE):
    signers = allowed(tmp_path, f"ada@example.org {public(keys, name)}\n")
    with report.open("rb") as data:
        done = subprocess.run(
            [
                "ssh-keygen",
                "-Y",
                "verify",
                "-f",
                signers,
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


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_ssh_keygen_verifies_what_we_sign_and_nothing_else(report, keys, name, tmp_path):
    sign(report, keys / name)
    assert keygen_takes(report, keys, name, tmp_path)
    assert not keygen_takes(report, keys, name, tmp_path, namespace="git")
    report.write_text(report.read_text().replace("REPRODUCED", "REGRESSION"))
    assert not keygen_takes(report, keys, name, tmp_path)


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_we_verify_what_ssh_keygen_signs(report, keys, name):
    keygen("-Y", "sign", "-n", signing.NAMESPACE, "-f", keys / name, report)
    assert checked(report, keys, name) == signing.Signed(by=f"{name}@example.org", problem="")


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_signatures_that_were_made_without_ssh_keygen_still_count(name, tmp_path):
    report = Path(shutil.copy(FORMER / "report.json", tmp_path))
    shutil.copy(FORMER / f"{name}.sig", signing.signature_of(report))
    assert checked(report, FORMER, name) == signing.Signed(by=f"{name}@example.org", problem="")
    report.write_bytes(report.read_bytes() + b" ")
    assert checked(report, FORMER, name).problem


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
def test_a_changed_report_and_a_foreign_key_do_not_count(report, keys, name):
    sign(report, keys / name)
    assert "not among those who may sign" in checked(report, keys, "foreign").problem
    report.write_text(report.read_text() + " ")
    assert "incorrect signature" in checked(report, keys, name).problem


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
    found = checked(report, keys)
    assert found.problem
    assert not found.by


def test_every_flipped_bit_of_a_signature_is_found(report, keys):
    place = sign(report, keys / "ed25519")
    lines = place.read_bytes().splitlines()
    blob = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    version = range(6, 10)  # OpenSSH takes 0 for 1, and signs the number with nothing
    for at in sorted(set(range(len(blob))) - set(version)):
        blob[at] ^= 1
        place.write_bytes(b"\n".join([lines[0], base64.b64encode(bytes(blob)), lines[-1], b""]))
        assert not checked(report, keys).by, f"byte {at}"
        blob[at] ^= 1
    place.write_bytes(b"\n".join([lines[0], base64.b64encode(bytes(blob)), lines[-1], b""]))
    assert checked(report, keys).by


def test_every_flipped_bit_of_a_report_is_found(report, keys):
    sign(report, keys / "ed25519")
    data = bytearray(report.read_bytes())
    for at in range(len(data)):
        data[at] ^= 1
        report.write_bytes(data)
        assert not checked(report, keys).by, f"byte {at}"
        data[at] ^= 1


def test_a_signature_for_another_purpose_is_none(report, keys):
    keygen("-Y", "sign", "-n", "git", "-f", keys / "ed25519", report)
    assert "namespace does not match" in checked(report, keys).problem


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("# people\n\nada@example.org KEY\n", "ada@example.org"),
        ("ada@example.org\tKEY\n", "ada@example.org"),
        ('"ada lovelace" KEY\n', "ada lovelace"),
        ('ada@example.org namespaces="reprokit-*,git" KEY\n', "ada@example.org"),
        ('ada@example.org namespaces="git" KEY\n', ""),
        ('ada@example.org namespaces="!reprokit-report,*" KEY\n', ""),
        ('ada@example.org valid-after="20200101Z" KEY\n', "ada@example.org"),
        ('ada@example.org valid-after="20990101" KEY\n', ""),
        ('ada@example.org valid-before="20200101120000" KEY\n', ""),
        ('ada@example.org namespaces="reprokit-report",valid-before="20990101Z" KEY\n', "ada@example.org"),
        ('ada@example.org valid-after="soon" KEY\n', ""),
        ('ada@example.org expires-never="yes" KEY\n', ""),
        ("ada@example.org cert-authority KEY\n", ""),
        ("!ada@example.org KEY\n", ""),
        ("!eve@example.org,*@example.org KEY\n", "*@example.org"),
        ('ada@example.org namespaces="git" KEY\nada@example.org KEY\n', "ada@example.org"),
        ("hello\nada@example.org ssh-ed25519 AAAAC3Nz\nada@example.org KEY\n", "ada@example.org"),
        ("ada@example.org FOREIGN\n", ""),
    ],
)
def test_an_allowed_signers_file_is_read_by_openssh(report, keys, tmp_path, line, by):
    sign(report, keys / "ed25519")
    text = line.replace("KEY", public(keys)).replace("FOREIGN", public(keys, "foreign"))
    found = signing.check(report, signers=allowed(tmp_path, text))
    assert (found.by, bool(found.problem)) == (by, not by), found.problem


def test_what_openssh_says_names_the_file_and_its_line(report, keys, tmp_path):
    sign(report, keys / "ed25519")
    signers = allowed(tmp_path, f'# old\nada valid-before="20200101Z" {public(keys)}\n')
    assert f"{signers}:2: key has expired" in signing.check(report, signers=signers).problem


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("*@example.org cert-authority AUTHORITY\n", "ada@example.org"),
        ("eve@example.org cert-authority AUTHORITY\n", ""),
        ('*@example.org cert-authority,namespaces="git" AUTHORITY\n', ""),
        ("*@example.org AUTHORITY\n", ""),
    ],
)
def test_an_authority_vouches_for_the_names_on_a_certificate(report, keys, tmp_path, line, by):
    keygen("-Y", "sign", "-n", signing.NAMESPACE, "-f", keys / "certified-cert.pub", report)
    signers = allowed(tmp_path, line.replace("AUTHORITY", public(keys, "authority")))
    assert signing.check(report, signers=signers).by == by


@pytest.mark.parametrize("text", ["", "# no one\n", "hello\n", "ada@example.org\n"])
def test_a_file_that_names_nobody_is_refused(report, tmp_path, text):
    with pytest.raises(UsageError, match="names no one"):
        signing.check(report, signers=allowed(tmp_path, text))


def test_a_file_of_several_public_keys_names_each_by_its_comment(report, keys, tmp_path):
    sign(report, keys / "rsa")
    text = "".join((keys / f"{name}.pub").read_text() for name in ("ed25519", "rsa"))
    assert signing.check(report, signers=allowed(tmp_path, text)).by == "rsa@example.org"
    signers = allowed(tmp_path, f"{public(keys, 'rsa')}\n")
    assert signing.check(report, signers=signers).by == "the key's owner"


def test_a_passphrase_is_asked_for_once_and_before_anything_is_run(report, keys, tmp_path, typed):
    asked = typed(PASSPHRASE)
    with signing.signing_key(keys / "locked", may_ask=True) as key:
        assert asked() == 1
        assert not signing.signature_of(report).exists()
        signing.sign_report(report, key=key)
        other = tmp_path / "other.json"
        other.write_text("{}")
        signing.sign_report(other, key=key)
    assert asked() == 1
    assert keygen_takes(report, keys, "locked", tmp_path)
    assert checked(other, keys, "locked").by


def test_the_agent_that_holds_the_unlocked_key_ends_with_the_block(report, keys, typed):
    typed(PASSPHRASE)
    with signing.signing_key(keys / "locked", may_ask=True) as key:
        assert key.agent is not None
        assert "SSH_AUTH_SOCK" not in os.environ  # or whatever is trained would sign too
    assert not key.agent.exists()
    with pytest.raises(UsageError):
        signing.sign_report(report, key=key)


def test_a_wrong_passphrase_is_told_and_not_repeated(report, keys, typed, monkeypatch):
    typed("hunter2")
    monkeypatch.setattr(signing, "_PASSPHRASE_LIMIT_S", 2)  # ssh-add asks again until it is interrupted
    with pytest.raises(UsageError, match="passphrase") as caught:
        sign(report, keys / "locked", may_ask=True)
    assert "hunter2" not in str(caught.value)
    assert not signing.signature_of(report).exists()


def test_an_empty_passphrase_gives_up(report, keys, typed):
    typed("")
    with pytest.raises(UsageError, match="does not open"):
        sign(report, keys / "locked", may_ask=True)


def test_nobody_is_asked_where_nobody_is_there(report, keys):
    with pytest.raises(UsageError, match="no terminal"):
        sign(report, keys / "locked", may_ask=False)


def test_a_key_without_a_passphrase_never_takes_the_terminal(report, keys, typed):
    asked = typed("never")
    sign(report, keys / "ed25519", may_ask=True)
    with pytest.raises(FileNotFoundError):
        asked()


def test_a_key_that_the_caller_s_agent_holds_signs_without_a_passphrase(report, keys, typed, monkeypatch):
    typed(PASSPHRASE)
    with signing.signing_key(keys / "locked", may_ask=True) as unlocked:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(unlocked.agent))
        for path in (keys / "locked", keys / "locked.pub"):
            with signing.signing_key(path, may_ask=False) as key:
                assert key.agent is None
                signing.sign_report(report, key=key)
            assert checked(report, keys, "locked").by
            signing.signature_of(report).unlink()


@pytest.mark.parametrize("content", ["", "hello", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_what_is_no_key_is_refused_before_anything_is_signed(report, tmp_path, content):
    (tmp_path / "key").write_text(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(UsageError, match="not a key that can sign"):
        sign(report, tmp_path / "key")
    assert not signing.signature_of(report).exists()


def test_a_public_key_whose_private_half_nobody_holds_is_told(report, keys, tmp_path):
    alone = shutil.copy(keys / "ed25519.pub", tmp_path)
    with pytest.raises(UsageError, match="No private key found"):
        sign(report, Path(alone))


def test_a_key_that_others_can_read_is_told_with_the_remedy(report, keys, tmp_path):
    path = Path(shutil.copy(keys / "ed25519", tmp_path / "open"))
    path.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        sign(report, path)


def test_a_host_without_openssh_is_told_the_package(report, keys, monkeypatch, tmp_path):
    sign(report, keys / "ed25519")
    monkeypatch.setenv("PATH", str(tmp_path))
    for attempt in (lambda: sign(report, keys / "ed25519"), lambda: checked(report, keys)):
        with pytest.raises(CannotRunError, match="apt-get install openssh-client"):
            attempt()


def test_a_program_that_does_not_answer_is_given_up(report, keys, monkeypatch, tmp_path):
    (tmp_path / "ssh-keygen").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "ssh-keygen").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(signing, "_TIME_LIMIT_S", 1)
    with pytest.raises(CannotRunError, match="did not answer"):
        sign(report, keys / "ed25519")


def test_a_line_that_openssh_does_not_end_is_not_ended_here(report, keys, tmp_path):
    """A lone carriage return is a character of the comment, so no one is allowed by what follows."""
    sign(report, keys / "ed25519")
    hidden = f"# former \rada@example.org {public(keys)}\n"
    signers = allowed(tmp_path, f"{hidden}bob@example.org {public(keys, 'foreign')}\n")
    assert signing.check(report, signers=signers).by == ""
