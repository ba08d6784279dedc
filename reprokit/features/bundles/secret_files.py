"""Files that look as if they held credentials: none of them goes into a bundle.

All bytes are looked at: texts in every usual encoding, the texts within other files, base64, the members of
archives, what is deflated anywhere, and the rows of SQLite databases.

>>> why_secret("config/.env", b"A=1")
'files of this name hold credentials'
"""

from __future__ import annotations

import base64
import codecs
import json
import pickletools
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import PurePosixPath

from reprokit.features.bundles import database_rows, packed
from reprokit.features.bundles.secret_texts import found_in, has_token
from reprokit.redaction import redact_text
from reprokit.redaction.credentials import is_credential, looks_random
from reprokit.redaction.issued_tokens import ISSUED_TOKEN
from reprokit.redaction.secret_names import is_secret_name

_NAMES = (
    *(".env", ".env.*", "*.env", ".envrc", ".envrc.*", "*.envrc", "*netrc", ".netrc.*", "*pgpass", ".npmrc"),
    *(
        "pgpass.conf",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".boto",
        ".s3cfg",
        ".dockercfg",
        ".dockerconfigjson",
    ),
    *("rclone.conf", ".my.cnf", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p8"),
    *("*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.ovpn", "*.tfstate", "*.kubeconfig"),
    *("kubeconfig", ".databrickscfg", ".vault_pass*", ".vault-token", "credentials"),
    *("*credentials.json", "client_secret*.json", "service[-_]account*.json", "kaggle.json"),
    *("known_hosts", "authorized_keys", "*.env.local", ".env~", ".*_history", ".authinfo*", ".xauthority"),
    *("cookies.sqlite", "*.keychain", "*.keychain-db", "gha-creds-*.json", "settings-security.xml"),
)
#: Unless it is code: what stands in it is looked at.
_NAMES_OF_DATA = ("credentials.*", "secrets.*")
_FOLDERS = {".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".kaggle", "gcloud"}
#: Forms of such files that hold no credentials.
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".pub")
#: How the name of a file ends that holds one value alone.
_ALONE = {"", ".txt", ".secret"}
_CODE = {
    *(".c", ".cc", ".cpp", ".css", ".cu", ".cuh", ".go", ".h", ".hpp", ".html", ".ipynb", ".java", ".jl"),
    *(".js", ".lua", ".m", ".md", ".py", ".pyi", ".pyx", ".r", ".rb", ".rmd", ".rs", ".rst", ".tex"),
    *(".ts", ".tsx"),
}
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins like the mark of UTF-16: must stand before it
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_WIDE = (
    (re.compile(rb"(?:[\t\n\r\x1b\x20-\x7e]\0){8,}"), "utf-16-le"),
    (re.compile(rb"(?:\0[\t\n\r\x1b\x20-\x7e]){8,}"), "utf-16-be"),
    (re.compile(rb"(?:[\t\n\r\x1b\x20-\x7e]\0\0\0){8,}"), "utf-32-le"),
    (re.compile(rb"(?:\0\0\0[\t\n\r\x1b\x20-\x7e]){8,}"), "utf-32-be"),
)
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_UNSHOWN = re.compile(r"[^\t\n\r\x20-\x7e]+")
# A name, what a format puts between, and a value: in pickles, databases and compiled code.
_NAME_THEN_VALUE = re.compile(
    r"(?P<name>[\w.-]{3,60})[\"']?[^\x20-\x7e]{1,8}[\x20-\x7e]?[^\x20-\x7e]{0,8}(?<![\w+/.~-])(?P<value>[\w+/=.~-]{12,200})",
    re.ASCII,
)
_ISSUED = re.compile(ISSUED_TOKEN.pattern.removeprefix(r"\b"), re.ASCII)  # a name may stand right before it
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{60,}\\?n?\s+)*[A-Za-z0-9+/_-]{24,}={0,2}")
_BETWEEN_WORDS = re.compile(r"\\n|\s")
_SET_APART = re.compile(r"(?:[=:][ \t]*|[\"'])([\w-]{16,100})(?=[\"',\s]|\Z)", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BASE32 = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{32,}(?![A-Za-z0-9])")
_HEXADECIMAL = re.compile(r"(?<![0-9A-Fa-f])(?:[2-7][0-9A-Fa-f]|0[9AaDd]){16,}(?![0-9A-Fa-f])")
_MOST_PICKLE_BYTES = 16 << 20
_PICKLED = (b"\x80", b"(dp", b"(lp", b"ccopy_reg")
_PICKLES = {".pkl", ".pickle", ".joblib"}
_DEEPEST = 6
_TOO_MUCH = (
    f"unpacked it has more than {packed.MOST_BYTES >> 20} MiB, too much to be looked through for secrets"
)
_LINE_END = "\n"
_SHORTEST_RUN = 6
_HOLDS = "it holds what looks like a password or key"


def why_secret(name: str, content: bytes) -> str:
    """Why a file must not be given away, with the line or the member; "" where nothing says so.

    Args:
        name: Its path, with ``/``.
        content: Its bytes.
    """
    try:
        return _why_secret(name, content, depth=0)
    except packed.TooMuchError:
        return _TOO_MUCH


def _why_secret(name: str, content: bytes, *, depth: int) -> str:
    path = PurePosixPath(name.lower())
    if _is_named(path):
        return "files of this name hold credentials"
    if redact_text(name) != name:
        return "its name holds what looks like a secret"
    is_code = path.suffix in _CODE
    for text in _texts(content):
        if found := found_in(text, code=is_code) or _under_name(path, text) or _encoded_in(text, depth=depth):
            return found
    in_cells = _in_cells(content) if path.suffix == ".ipynb" else ""
    if found := in_cells or (_in_members(content, depth=depth) if depth < _DEEPEST else ""):
        return found
    if any(map(_is_assigned, _pairs(path, content))):
        return _HOLDS
    is_text = not _NO_TEXT.search(content) and _is_utf8(content)
    return "" if is_text else _in_bytes(content, is_code=is_code)


def _is_named(path: PurePosixPath) -> bool:
    patterns = _NAMES if path.suffix in _CODE else (*_NAMES, *_NAMES_OF_DATA)
    named = any(fnmatchcase(path.name, pattern) for pattern in patterns) or _FOLDERS & set(path.parts[:-1])
    alone = path.suffix in _ALONE and is_secret_name(path.stem.lstrip("."))
    return bool(named or alone) and not path.name.endswith(_EXAMPLES)


def _under_name(path: PurePosixPath, text: str) -> str:
    """What looks made by chance, in quotes or behind a sign, in a file called ``api_keys`` or ``tokens``."""
    stem = path.stem.lstrip(".")
    if not (is_secret_name(stem) or stem in {"tokens", "keys"}):
        return ""
    words = (match[1] for match in _SET_APART.finditer(text))
    return _HOLDS if any(looks_random(one) and not _DIGEST.fullmatch(one) for one in words) else ""


def _in_cells(content: bytes) -> str:
    """What a cell of a notebook holds, read as one text: in the file it is a list of its lines."""
    try:
        cells = json.loads(content)["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""  # no notebook, and looked through as a text
    found = ((number, found_in(source, code=True)) for number, source in enumerate(sources, start=1))
    return next((f"cell {number}: {what}" for number, what in found if what), "")


def _in_members(content: bytes, *, depth: int) -> str:
    for member, inner in packed.members(content):
        if found := _why_secret(member, inner, depth=depth + 1):
            return f"{redact_text(member)} in it: {found}" if member else f"unpacked: {found}"
    return ""


def _texts(content: bytes) -> Iterator[str]:
    """The texts that the bytes stand for: in their own encoding, and wide ones among other bytes."""
    for mark, encoding in _BOMS.items():
        if content.startswith(mark):
            yield content[len(mark) :].decode(encoding, "replace")
            return
    if not _NO_TEXT.search(content):
        yield content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
        return
    for pattern, encoding in _WIDE:
        if runs := [match[0].decode(encoding) for match in pattern.finditer(content)]:
            yield "".join(runs)


def _in_bytes(content: bytes, *, is_code: bool) -> str:
    """What stands among bytes that are no text, or in a text with a few of them."""
    text = content.decode("latin-1")
    few = len(_NO_TEXT.findall(content)) * 10 < len(content)
    if few and (found := found_in(_CONTROL.sub("", text), code=is_code)):
        return found
    if has_token(text, _ISSUED):
        return "it holds what looks like a token"
    shown = "\n".join(one for one in _UNSHOWN.split(text) if len(one) >= _SHORTEST_RUN)
    if found := found_in(shown, code=True):
        return re.sub(r"^line \d+ holds", "it holds", found)
    pairs = ((match["name"], match["value"]) for match in _NAME_THEN_VALUE.finditer(text))
    return _HOLDS if any(is_secret_name(name) and looks_random(value) for name, value in pairs) else ""


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _pairs(path: PurePosixPath, content: bytes) -> Iterator[tuple[str, str]]:
    """What may be a name and its value, in forms that keep them apart."""
    if content.startswith(_PICKLED) or path.suffix in _PICKLES:
        yield from pairwise(_pickled(content))
    if content.startswith(database_rows.MARK):
        yield from database_rows.names_and_values(content)


def _pickled(content: bytes) -> Iterator[str]:
    """The texts in a pickle, in their order, which is that of names and values; nothing of it is run."""
    if len(content) > _MOST_PICKLE_BYTES:
        return
    try:
        for _code, value, _at in pickletools.genops(content):
            if isinstance(value, str | bytes):
                yield value if isinstance(value, str) else value.decode("latin-1")
    except (ValueError, UnicodeDecodeError, EOFError, IndexError, OverflowError):
        return


def _is_assigned(pair: tuple[str, str]) -> bool:
    name, value = pair
    return is_secret_name(name) and is_credential(name, value, quoted=True, code=True)


def _encoded_in(text: str, *, depth: int) -> str:
    """What words in base64, base32 or hexadecimal digits, also over several lines, stand for."""
    if depth >= _DEEPEST:
        return ""
    for pattern, inside in ((_BASE64, _from_base64), (_BASE32, _from_base32), (_HEXADECIMAL, bytes.fromhex)):
        for match in pattern.finditer(text):
            if (inner := inside(match[0])) and (found := _why_secret("", inner, depth=depth + 1)):
                return f"line {text.count(_LINE_END, 0, match.start()) + 1} holds an encoded text: {found}"
    return ""


def _from_base64(words: str) -> bytes:
    """The bytes, where they are a text or something packed; else none, as most are pictures and weights."""
    plain = _BETWEEN_WORDS.sub("", words).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "===")
    except ValueError:
        return b""
    is_text = content.isascii() and not _NO_TEXT.search(content)
    return content if is_text or content.startswith(packed.MARKS) else b""


def _from_base32(word: str) -> bytes:
    """The text that a word stands for; none where it stands for other bytes, as most words in capitals do."""
    try:
        content = base64.b32decode(word + "=" * (-len(word) % 8))
    except ValueError:
        return b""
    return content if content.isascii() and not _NO_TEXT.search(content) else b""
