"""The value of a secret variable is taken out of a log in every form in which programs print it."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote

import pytest

from reprokit.redaction import MARK, secret_values, without

SECRET = "q8Zr4+Lw9/Xk2Vb7Nm1>~?"  # noqa: S105


def _lower_escapes(text):
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def _as_encoded(raw):
    return base64.b64encode(raw).decode()


FORMS = {
    "hexadecimal digits in capitals": SECRET.encode().hex().upper(),
    "with colons": SECRET.encode().hex(":"),
    "with colons, in capitals": SECRET.encode().hex(":").upper(),
    "with spaces": SECRET.encode().hex(" "),
    "base64 of user and secret": _as_encoded(f"user:{SECRET}".encode()),
    "base64 of another user": _as_encoded(f"ada1:{SECRET}".encode()),
    "base64 of an assignment and more": _as_encoded(f"token={SECRET}&x=1".encode()),
    "base64 for addresses": base64.urlsafe_b64encode(f"ab:{SECRET}".encode()).decode(),
    "base64 with a line's end": _as_encoded(f"{SECRET}\n".encode()),
    "base64 twice": _as_encoded(_as_encoded(SECRET.encode()).encode()),
    "base32": base64.b32encode(SECRET.encode()).decode(),
    "HTML": html.escape(SECRET),
    "HTML, quotes left": html.escape(SECRET, quote=False),
    "percent escapes": _lower_escapes(quote(SECRET, safe="")),
    "percent escapes but for slashes": _lower_escapes(quote(SECRET)),
    "JSON with slashes escaped": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "JSON for HTML": json.dumps(SECRET)[1:-1].replace(">", "\\u003e"),
    "JSON for HTML, in capitals": json.dumps(SECRET)[1:-1].replace(">", "\\u003E"),
    "both": json.dumps(SECRET)[1:-1].replace("/", "\\/").replace(">", "\\u003e"),
    "a line's end inside": f"{SECRET[:9]}\n{SECRET[9:]}",
    "a line's end inside, on Windows": f"{SECRET[:9]}\r\n{SECRET[9:]}",
    "indented": f"{SECRET[:14]}\n        {SECRET[14:]}",
    "in a box": f"{SECRET[:5]}  │\n│ {SECRET[5:]}",
    "a colour inside": f"{SECRET[:5]}\x1b[1m{SECRET[5:]}\x1b[0m",
    "in a coloured box": f"{SECRET[:5]} \x1b[34m│\x1b[0m\n\x1b[34m│\x1b[0m {SECRET[5:]}",
    "a colour for each part": f"\x1b[1m{SECRET[:8]}\x1b[0m\x1b[32m{SECRET[8:]}",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_form_of_a_known_value_stays(form):
    known = secret_values({"HF_TOKEN": SECRET})
    redacted = without(f"at first\nx {form} y\nat last", known)
    assert MARK in redacted
    # What is left of base64 are the letters of the user, and at most one that the secret has a part in.
    assert len(redacted.replace(MARK, "")) <= len("at first\nx  y\nat last") + 16
    assert redacted.startswith("at first\nx ")
    assert redacted.endswith("y\nat last")


@pytest.mark.parametrize("width", range(20, 60, 7))
def test_a_long_value_wrapped_again_and_again_is_found(width):
    secret = "".join(f"{base64.b32encode(bytes([one])).decode()[:2]}{one}" for one in range(40, 90))
    lines = [secret[at : at + width] for at in range(0, len(secret), width)]
    redacted = without("key:\n" + "\n    ".join(lines) + "\ndone", secret_values({"MY_TOKEN": secret}))
    assert not any(line in redacted for line in lines)
    assert redacted.endswith("\ndone")


def test_what_only_begins_like_a_known_value_stays():
    known = secret_values({"HF_TOKEN": SECRET, "DB_PASSWORD": "resnet50-run"})
    text = f"resnet50\nrun 1, resnet50-\nrunning is no part of it: {SECRET[:11]}"
    assert "resnet50\nrun 1" in without(text, known)
    assert SECRET[:11] in without(text, known)
    assert without("resnet50 -run", known) == "resnet50 -run"


def test_a_short_value_and_its_forms_are_not_looked_for():
    assert (
        without("cats, Y2F0cw==, 63617473", secret_values({"HF_TOKEN": "cats"})) == "cats, Y2F0cw==, 63617473"
    )
