"""Signatures in OpenSSH's own form, so that ``ssh-keygen -Y verify`` checks them without this tool.

This module knows keys and the format SSHSIG; it refuses to know what is signed, and it keeps no key:
the private one goes in, a signature comes out.

    >>> verify(sign(data, key=load_private(Path("id_ed25519").read_bytes(), passphrase=None)), data)
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…'

Source: PROTOCOL.sshsig of OpenSSH; RFC 4253 section 6.6, RFC 5656, RFC 8332, RFC 8709 for the keys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from typing import TYPE_CHECKING

from reprokit.errors import ReportError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    PrivateKey = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

#: What a signature is for: one made for another purpose, such as a commit, is none of a report.
NAMESPACE = "reprokit-report"

_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASHES = ("sha256", "sha512")
_MOST_BYTES = 64 << 10
_SMALLEST_RSA = 2048
_KINDS = "an Ed25519, RSA or ECDSA key as ssh-keygen makes it"


class PassphraseNeeded(Exception):  # noqa: N818  (a question, not a fault)
    """The private key is encrypted, and no passphrase was given."""


def load_private(data: bytes, *, passphrase: bytes | None, where: str = "") -> PrivateKey:
    """A private key in OpenSSH's form.

    Args:
        data: The file.
        passphrase: What it is encrypted with, or None.
        where: Its path, for messages.

    Raises:
        PassphraseNeeded: It is encrypted.
        UsageError: It is no such key, or the passphrase is wrong.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  (not needed to read a report)
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key  # noqa: PLC0415

    try:
        key = load_ssh_private_key(data, passphrase)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if passphrase is None and isinstance(error, TypeError):  # what the library says of an encrypted key
            raise PassphraseNeeded from error
        if passphrase is not None:  # nothing of the error is repeated: it could hold what was typed
            raise UsageError("the passphrase does not open the key", where=where) from None
        raise UsageError("not a private key that can sign", where=where, expected=_KINDS) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise UsageError("a key of this kind cannot sign a report", where=where, expected=_KINDS)
    return key


def sign(data: bytes, *, key: PrivateKey) -> bytes:
    """Sign data for ``NAMESPACE``; the armoured text that goes into a ``.sig`` file."""
    public = _public_blob(key)
    signed = _signed_data(hashlib.sha512(data).digest(), "sha512")
    blob = (
        _MAGIC
        + struct.pack(">I", _VERSION)
        + _string(public)
        + _string(NAMESPACE.encode())
        + _string(b"")
        + _string(b"sha512")
        + _string(_signature(key, signed))
    )
    text = base64.b64encode(blob).decode("ascii")
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join([_BEGIN, *lines, _END, ""]).encode("ascii")


def verify(armoured: bytes, data: bytes) -> str:
    """Check that a signature is one of this data, and say by which key.

    Returns:
        The public key, ``<type> <base64>``: whether it may sign is for the caller to decide.

    Raises:
        ReportError: It is no signature, for another purpose, or not of this data.
    """
    public, namespace, algorithm, signature = _parts(armoured)
    if namespace != NAMESPACE:
        raise ReportError(
            "the signature was made for another purpose", expected=NAMESPACE, actual=repr(namespace)
        )
    if algorithm not in _HASHES:
        raise ReportError("the signature uses a hash that is not allowed", actual=repr(algorithm))
    signed = _signed_data(hashlib.new(algorithm, data).digest(), algorithm)
    _check(public, signature, signed)
    return f"{_fields(public, 1)[0].decode('ascii')} {base64.b64encode(public).decode('ascii')}"


def public_of(key: PrivateKey) -> str:
    """The public half of a key, ``<type> <base64>``."""
    blob = _public_blob(key)
    return f"{_fields(blob, 1)[0].decode('ascii')} {base64.b64encode(blob).decode('ascii')}"


def _parts(armoured: bytes) -> tuple[bytes, str, str, bytes]:
    """Public key, namespace, hash, signature."""
    try:
        if len(armoured) > _MOST_BYTES:
            raise ValueError("too long")  # noqa: TRY301
        lines = armoured.decode("ascii").split()
        text = " ".join(lines)
        if not text.startswith(_BEGIN) or not text.endswith(_END):
            raise ValueError("no armour")  # noqa: TRY301
        blob = base64.b64decode(text[len(_BEGIN) : -len(_END)].replace(" ", ""), validate=True)
        if blob[:6] != _MAGIC or struct.unpack_from(">I", blob, 6)[0] != _VERSION:
            raise ValueError("no SSHSIG of version 1")  # noqa: TRY301
        public, namespace, _, algorithm, signature = _fields(blob[10:], 5, whole=True)
        return public, namespace.decode("utf-8"), algorithm.decode("ascii"), signature
    except (ValueError, struct.error, binascii.Error) as error:
        raise ReportError(f"not a signature of OpenSSH: {error}") from error


def _signed_data(digest: bytes, algorithm: str) -> bytes:
    return _MAGIC + _string(NAMESPACE.encode()) + _string(b"") + _string(algorithm.encode()) + _string(digest)


def _public_blob(key: PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return base64.b64decode(line.split(b" ")[1])


def _signature(key: PrivateKey, signed: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils  # noqa: PLC0415

    if isinstance(key, ed25519.Ed25519PrivateKey):
        return _string(b"ssh-ed25519") + _string(key.sign(signed))
    if isinstance(key, rsa.RSAPrivateKey):
        return _string(b"rsa-sha2-512") + _string(key.sign(signed, padding.PKCS1v15(), hashes.SHA512()))
    name = _fields(_public_blob(key), 1)[0]
    r, s = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(_curve_hash(name))))
    return _string(name) + _string(_string(_mpint(r)) + _string(_mpint(s)))


def _check(public: bytes, signature: bytes, signed: bytes) -> None:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415

    try:
        algorithm, value = _fields(signature, 2, whole=True)
        _check_by_kind(public, algorithm, value, signed)
    except InvalidSignature as error:
        raise ReportError("the signature is not one of this report") from error
    except (ValueError, TypeError, struct.error, UnsupportedAlgorithm) as error:
        raise ReportError(f"the signature cannot be checked: {error}") from error


def _check_by_kind(public: bytes, algorithm: bytes, value: bytes, signed: bytes) -> None:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key  # noqa: PLC0415

    kind = _fields(public, 1)[0]
    key = load_ssh_public_key(kind + b" " + base64.b64encode(public))
    if isinstance(key, rsa.RSAPublicKey):
        chosen = {b"rsa-sha2-512": hashes.SHA512(), b"rsa-sha2-256": hashes.SHA256()}.get(algorithm)
        if chosen is None or key.key_size < _SMALLEST_RSA:
            raise ValueError("a weak RSA signature")
        key.verify(value, signed, padding.PKCS1v15(), chosen)
    elif algorithm != kind:
        raise ValueError("key and signature are of two kinds")
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(value, signed)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        r, s = (int.from_bytes(one, "big") for one in _fields(value, 2, whole=True))
        key.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(_curve_hash(kind)))
    else:
        raise TypeError(f"keys of the kind {kind!r} are not taken")


def _curve_hash(name: bytes) -> hashes.HashAlgorithm:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

    return {b"256": hashes.SHA256(), b"384": hashes.SHA384(), b"521": hashes.SHA512()}[name[-3:]]


def _fields(blob: bytes, count: int, *, whole: bool = False) -> list[bytes]:
    """The first strings of a blob, each with its length before it."""
    found, at = [], 0
    for _ in range(count):
        (length,) = struct.unpack_from(">I", blob, at)
        if at + 4 + length > len(blob):
            raise ValueError("cut off")
        found.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    if whole and at != len(blob):
        raise ValueError("more than there should be")
    return found


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _mpint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")
