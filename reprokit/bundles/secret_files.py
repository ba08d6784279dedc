"""Files that look as if they held credentials: none of them goes into a bundle.

>>> why_secret("config/.env", b"A=1")
'files of this name hold credentials'
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from reprokit.issued_tokens import ISSUED_TOKEN
from reprokit.redaction import redact_text

_NAMES = (
    *(
        ".env",
        ".env.*",
        "*.env",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
    ),
    *(
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "*.pem",
        "*.key",
        "*.p12",
        "*.pfx",
        "*.keystore",
        "*.kdbx",
    ),
    *("credentials", "credentials.*", "*credentials.json", "client_secret*.json", "service-account*.json"),
    *("secrets.*", ".vault-token", "kaggle.json", "known_hosts", "authorized_keys"),
)
_FOLDERS = {".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure"}
#: Forms of such files that hold no credentials.
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".pub")
# A source file names its variables like secrets; what stands there as a text in quotes may be one.
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=]{16}")
_USER_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'{}<>$]+:[^\s/@\"'{}<>$]{4,}@[\w.-]+")
_QUOTED = re.compile(r"[\"'](?P<value>[A-Za-z0-9+/_=.-]{20,})[\"']")


def why_secret(name: str, content: bytes) -> str:
    """Why a file must not be given away; "" where nothing says so.

    Args:
        name: Its path, with ``/``.
        content: Its bytes; only text is looked at.
    """
    path = PurePosixPath(name.lower())
    named = any(fnmatchcase(path.name, pattern) for pattern in _NAMES) or _FOLDERS & set(path.parts[:-1])
    if named and not path.name.endswith(_EXAMPLES):
        return "files of this name hold credentials"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    if _PRIVATE_KEY.search(text):
        return "it holds a private key"
    found = ((number, _what_is_secret(line)) for number, line in enumerate(text.splitlines(), start=1))
    return next((f"line {number} holds {what}" for number, what in found if what), "")


def _what_is_secret(line: str) -> str:
    if ISSUED_TOKEN.search(line):
        return "what looks like a token"
    if _USER_IN_URL.search(line):
        return "an address with a password"
    quoted = (match["value"] for match in _QUOTED.finditer(line))
    return "what looks like a password or key" if any(_is_credential(one, line) for one in quoted) else ""


def _is_credential(value: str, line: str) -> bool:
    """Whether a long text in quotes, with letters and digits, is what a secret's name stands before."""
    mixed = re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value)
    return bool(mixed) and value in line and value not in redact_text(line)
