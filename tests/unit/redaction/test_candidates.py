"""What makes the search for secrets quick leaves none out: with and without it, the same is found."""

import ast
import random
from pathlib import Path

import pytest

from reprokit.features.bundles import secret_texts
from reprokit.redaction import lines, several_lines
from reprokit.redaction.candidates import lines_to_look_at
from reprokit.redaction.line_rules import HINTS, NAME_HINTS
from reprokit.redaction.lines import hidden_in
from reprokit.redaction.secret_names import is_secret_name

_TESTS = Path(__file__).resolve().parents[1]
_FILES = (
    "features/bundles/test_secret_files.py",
    "redaction/test_redaction.py",
    "redaction/test_forms.py",
    "attacks/test_secrets_that_look_otherwise.py",
)


def _samples():
    """Every text of the tests of what is a secret, whole and in lines."""
    texts = set(HINTS)
    for name in _FILES:
        if (_TESTS / name).is_file():
            tree = ast.parse((_TESTS / name).read_text())
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            texts |= {node.value for node in nodes if isinstance(node.value, str)}
    return sorted(texts)


SAMPLES = _samples()
SIGNS = (
    *("=", ": ", "=>", " ", '"', "'", "\n", "\n  ", ",", "@", "://", "-", "--", "_", ".", "(", ")"),
    *("\x1b[1m", "é", "ſ"),
)
WORDS = (
    *("api", "db", "loss", "user", "machine", "kind: Secret", "data:", "value", "kty"),
    "Zq7hunterXw9Lk2Vt8Bn4",
)


@pytest.fixture
def without_filters(monkeypatch):
    """Calls a function once more with every filter taken away."""

    def call(function, *arguments, **options):
        with monkeypatch.context() as patch:
            for module in (lines, several_lines):
                patch.setattr(module, "holds_one_of", lambda _hints, _lowered: True)
            patch.setattr(
                secret_texts, "lines_to_look_at", lambda text: [*enumerate(text.split("\n"), start=1)]
            )
            patch.setattr(secret_texts, "_KEYS", tuple((one, "") for one, _ in secret_texts._KEYS))
            patch.setattr(secret_texts, "_ENCODES", ("",))
            return function(*arguments, **options)

    return call


def _mixed(seed):
    generator = random.Random(seed)
    parts = []
    for _ in range(generator.randrange(1, 12)):
        part = generator.choice(generator.choice((SAMPLES, HINTS, WORDS, SIGNS)))
        change = generator.choice((str, str, str, str.upper, str.title))
        parts += [change(part), generator.choice(SIGNS)]
    return "".join(parts)


def _at_random(seed):
    generator = random.Random(seed)
    signs = "abcdefghijklmnopqrstuvwxyzABCXYZ0189 =:@/\"'\n-_.%\\" + "é"
    return "".join(generator.choices(signs, k=400))


@pytest.mark.parametrize("code", [False, True])
def test_in_the_samples_of_all_tests_the_same_is_found(code, without_filters):
    found = [secret_texts.found_in(text, code=code) for text in SAMPLES]
    assert found == [without_filters(secret_texts.found_in, text, code=code) for text in SAMPLES]
    assert sum(map(bool, found)) > 20


@pytest.mark.parametrize("make", [_mixed, _at_random])
def test_in_texts_made_by_chance_the_same_is_found(make, without_filters):
    texts = [make(seed) for seed in range(1500)]
    for text in texts:
        code = len(text) % 2 == 0
        quick = secret_texts.found_in(text, code=code)
        assert quick == without_filters(secret_texts.found_in, text, code=code), text
        line = text.partition("\n")[0]
        assert hidden_in(line) == without_filters(hidden_in, line), line


def test_every_line_with_a_hint_is_a_candidate_also_in_capitals_and_at_the_ends():
    for hint in HINTS:
        for line in (hint, f"x{hint.upper()}", f"{hint}x"):
            assert (2, line) in lines_to_look_at(f"loss 0.5\n{line}\n\n0.25")
            assert (1, line) in lines_to_look_at(line)


def test_lines_of_a_long_text_keep_their_numbers():
    text = "0123456789 0123456789\n" * 400_000 + "token\n"
    assert lines_to_look_at(text) == [(400_001, "token")]


def test_every_name_of_a_secret_holds_a_hint():
    names = {word for text in SAMPLES for word in text.replace('"', " ").replace("=", " ").split()}
    secret = [name for name in names if is_secret_name(name)]
    assert len(secret) > 20
    assert [name for name in secret if not any(hint in name.lower() for hint in NAME_HINTS)] == []
