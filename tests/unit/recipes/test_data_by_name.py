"""Files that a recipe declares by name: what each entry may say, and what of it is in the recipe's digest."""

from __future__ import annotations

import pytest

GOOD = {"path": "raw/a", "sha256": f"'sha256:{'0' * 64}'", "size": "1"}
WRONG = {
    "no section": ("data: {a: 1}", "2: data.a must be a section with keys of its own. got 1"),
    "no digest": ({"sha256": None}, "2: data.a.sha256 is missing"),
    "a short digest": ({"sha256": "'sha256:0'"}, "2: data.a.sha256 must be sha256: and 64 hex digits"),
    "no size": ({"size": None}, "2: data.a.size is missing"),
    "a size below 0": ({"size": "-1"}, "2: data.a.size must be at least 0"),
    "no place": ({"path": None}, "2: data.a must be given either a url or a path"),
    "two kinds of places": ({"url": "'https://h/a'"}, "2: data.a must be given either a url or a path"),
    "an unknown protocol": ({"path": None, "url": "'ftp://h/a'"}, "2: data.a.url must be a URL that begins"),
    "a package of no version": (
        {"path": None, "url": "'package://a/b'"},
        "must be package://NAME==VERSION/PATH",
    ),
    "no URL of many": ({"path": None, "url": "[]"}, "2: data.a.url must be"),
    "a path that leads out": ({"path": "../a"}, "2: data.a.path must be a path below the project's folder"),
    "an absolute path": ({"path": "/a"}, "2: data.a.path must be a path below the project's folder"),
    "an unknown archive": ({"unpack": "rar"}, "2: data.a.unpack must be 'zip' or 'tar'"),
    "no licence to keep it": ({"redistribute": "false"}, "given the `licence` that keeps it from being"),
    "an empty licence": ({"licence": "' '"}, "2: data.a.licence must be the name of a licence"),
    "no form": ({"form": "'A form'"}, "2: data.a.form must be a format such as images"),
    "an unknown key": ({"md5": "x"}, "2: unknown key 'md5' in data.a"),
    "a name that is a path": ("data: {../a: {path: a}}", "named like a file"),
    "no file": ("data: {}", "2: data must be"),
}


def declared(**changed: str | None) -> str:
    keys = {**GOOD, **changed}
    return (
        f"data: {{a: {{{', '.join(f'{key}: {value}' for key, value in keys.items() if value is not None)}}}}}"
    )


@pytest.mark.parametrize("mistake", WRONG)
def test_each_mistake_is_told_with_its_line(folder, mistake):
    said, told = WRONG[mistake]
    folder.edit("schema: 1\n", f"schema: 1\n{said if isinstance(said, str) else declared(**said)}\n")
    assert told in folder.refusal()


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"path": None, "url": "'https://h/a'"},
        {"path": None, "url": "['s3://b/a']"},
        {"path": None, "url": "'package://a==1/b'"},
        {"licence": "CC0 1.0", "redistribute": "false", "form": "tokens/uint16/64"},
    ],
)
def test_a_place_is_no_part_of_the_digest(folder, place):
    folder.edit("schema: 1\n", f"schema: 1\n{declared()}\n")
    before = folder.load()
    folder.edit(declared(), declared(**place))
    assert folder.load().digest == before.digest
    folder.edit(declared(**place), declared(**place, unpack="tar"))
    assert folder.load().digest != before.digest
