"""Secrets do not get into records, and what is no secret stays readable."""

import ast
import base64
import json
import shlex
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit.errors import BundleError, RecipeError, UsageError
from reprokit.redaction import (
    MARK,
    redact,
    redact_command,
    redact_text,
    redact_url,
    secret_values,
    without,
)

PLANTED = "hunter2-S3cr3t"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        (f"https://alice:{PLANTED}@example.org/lab/code.git", "https://example.org/lab/code.git"),
        (f"https://{PLANTED}@example.org/lab/code.git", "https://example.org/lab/code.git"),
        (f"https://x-access-token:{PLANTED}@example.org:8443/a/b", "https://example.org:8443/a/b"),
        (f"https://a@b:{PLANTED}@example.org/a", "https://example.org/a"),
        (f"https://example.org/a.git?private_token={PLANTED}&x=1", "https://example.org/a.git"),
        (f"https://example.org/a.git#{PLANTED}", "https://example.org/a.git"),
        (f"ssh://git:{PLANTED}@example.org:22/a.git", "ssh://example.org:22/a.git"),
        ("git@example.org:lab/code.git", "example.org:lab/code.git"),
        (f"git:{PLANTED}@example.org:lab/code.git?token={PLANTED}", "example.org:lab/code.git"),
        (f"ext::ssh -i key {PLANTED}@example.org %S", f"ext::{MARK}"),
        (f"codecommit::eu-west-1://{PLANTED}@repo", f"codecommit::{MARK}"),
        ("/home/alice/private/code.git", "…/code.git"),
        ("../code", "…/code"),
        ("file:///home/alice/private/code", "file://…/code"),
        ("https://example.org/ghp_abcdefghijklmnopqrstuvwxyz0123456789/a", f"https://example.org/{MARK}/a"),
    ],
)
def test_an_address_keeps_where_and_loses_who(address, kept):
    assert redact_url(address) == kept
    assert PLANTED not in redact_url(address)


@pytest.mark.parametrize(
    "text",
    [
        f"clone https://alice:{PLANTED}@example.org/x failed",
        f"WANDB_API_KEY={PLANTED}",
        f"password: {PLANTED}",
        f"--db-password={PLANTED}",
        f"client_secret='{PLANTED} with spaces'",
        f"Authorization: Bearer {PLANTED}",
        f"https://bucket.example.org/data?X-Amz-Signature={PLANTED}&x=1",
        f"sas=1&sig=1&AccessKey={PLANTED}",
        f"git+ssh://git:{PLANTED}@example.org/x",
    ],
)
def test_text_loses_what_follows_a_telling_name(text):
    assert PLANTED not in redact_text(text)
    assert MARK in redact_text(text)


@pytest.mark.parametrize(
    "token",
    [
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
        "glpat-abcdefghij0123456789",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "xoxb-123456789012-abcdefghij",
        "sk-proj-abcdefghijklmnop0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_token_is_known_by_its_shape_wherever_it_stands(token):
    assert token not in redact_text(f"failed for {token} at noon")
    assert "at noon" in redact_text(f"failed for {token} at noon")
    assert redact({"a": [token]}) == {"a": [MARK]}


@pytest.mark.parametrize(
    "text",
    [
        "--max_tokens=4096 --tokenizer gpt2 --pad-token=<pad> eos_token=</s> num_tokens: 7",
        "author=alice authority=x",
        "https://example.org/a?b=c",
        "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2",
        "v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)",
        "sha256:91c73a469b186c3d8213d6debf18bfcf6d630ad06c26aae098b2f3addff0d11c",
        "task-sk-learn-pipeline-for-everybody",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "--api-key", PLANTED],
        ["python", "train.py", f"--api-key={PLANTED}"],
        ["python", "train.py", f"--password={PLANTED} and more"],
        ["python", "train.py", "--hf_token", PLANTED, "--seed", "7"],
        ["python", "train.py", "-token", PLANTED],
        ["python", "train.py", "--cred", PLANTED],
        ["python", "train.py", "--sas", PLANTED],
        ["python", "train.py", "--wifi-psk", PLANTED],
        ["env", f"AWS_SECRET_ACCESS_KEY={PLANTED}", "python", "train.py"],
        ["python", "train.py", f"--data=https://u:{PLANTED}@example.org/x"],
        ["python", "-c", f"login(token='{PLANTED}')"],
    ],
)
def test_a_command_line_loses_its_secrets_and_keeps_its_length(command):
    redacted = redact_command(command)
    assert PLANTED not in " ".join(redacted)
    assert len(redacted) == len(command)


def test_a_secret_looking_flag_without_a_value_does_not_swallow_the_next_option():
    assert redact_command(["run", "--use-auth", "--seed", "7"]) == ("run", "--use-auth", "--seed", "7")


def test_an_ordinary_command_line_is_untouched():
    command = ["python", "train.py", "--seed", "{seed}", "--logdir", "{run_dir}", "--max-tokens", "9"]
    assert redact_command(command) == tuple(command)


def test_records_are_redacted_to_the_bottom():
    record = {"a": {"api_key": PLANTED, "n": 1, "list": [{"url": f"https://u:{PLANTED}@h/x"}]}, "none": None}
    assert redact(record) == {
        "a": {"api_key": MARK, "n": 1, "list": [{"url": f"https://{MARK}@h/x"}]},
        "none": None,
    }


SECRET = "Zq7hunterXw9Lk2Vt8Bn4"  # noqa: S105
HEXADECIMAL = SECRET.encode().hex()[:40]
TESTS = Path(__file__).resolve().parents[2]


def lines_of(name):
    found = [line for line in (TESTS / name).read_text().splitlines() if not line.startswith("#")]
    return [
        line.replace("{S}", SECRET).replace("{U}", SECRET.upper()).replace("{H}", HEXADECIMAL)
        for line in found
    ]


def forms_of(line):
    """A command line redacted as words, as typed, as a shell quotes it, as JSON, as Python shows it."""
    words = shlex.split(line)
    texts = (line, shlex.join(words), json.dumps(words), json.dumps(json.dumps(words)), repr(words))
    return [" ".join(redact_command(words)), *map(redact_text, texts)]


@pytest.mark.parametrize("line", lines_of("planted_secrets.txt"))
def test_no_form_of_a_secret_gets_through(line):
    for form in forms_of(line):
        assert SECRET.lower() not in form.lower()
        assert HEXADECIMAL not in form
        assert MARK in form
        assert redact_text(form) == form


@pytest.mark.parametrize("line", lines_of("ordinary_commands.txt"))
def test_an_ordinary_command_stays_in_every_form(line):
    words = shlex.split(line)
    assert redact_command(words) == tuple(words)
    assert redact_text(line) == line
    assert redact_text(shlex.join(words)) == shlex.join(words)


@given(st.text(alphabet="ab1:/@=-_.'\" {}[],\\<>\ntokenpaskyurlhBrAuthorization", max_size=60))
def test_redacting_twice_gives_the_same(text):
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "a://",
        "user:",
        "token='",
        "token=[",
        "<token>",
        "a.b-c.",
        "\\",
        "x-a-",
        "a:b@",
        "-token ",
        "-u a ",
        "api_key_",
        "secretA",
        "token_prod_",
        "password_file_",
        "api_x_",
        "API key ",
        "token  a",
        "token: a[",
        "wandb={",
        "wandb:\n ",
        "[wandb]\n",
        "name=a",
        '"username":',
        '"key":',
        "''.join([",
        "set_token(",
        "&quot;token",
        "a/hooks/",
        "login(",
        "login(a,key=",
        "password:\n",
        "password:\n  ",
        "key=aaaaaaaaaaaaaaaa\n",
        "machine a ",
        "auth:\n{",
        "hf_a",
        "hf_aA_",
        "tgp_v1_a-",
        "basic ",
        "curl token -u",
        "wandb login --a ",
        '"--token", default',
        "token=field(",
        'variable "token" {',
        "value: token ",
        "token:\n value: a ",
        "token:\\n ",
        "token: &a ",
        "token or ",
        "A_TOKEN,",
        "a=",
        "default=token\n",
        '"--token",\n',
        "token:\n desc: a\n",
    ],
)
def test_no_text_takes_long(part):
    began = time.process_time()
    redact_text(part * 20_000 + " token")
    assert time.process_time() - began < 5


def test_a_secret_in_a_variable_is_known_where_it_stands_alone():
    variables = {"MYTOKEN": PLANTED, "PATH": "/usr/bin", "API_KEY": "short", "PROXY": "http://u:longenough@h"}
    found = secret_values(variables, command=("train", "--password", "second-secret", "--seed", "12345678"))
    assert [one for one in found if "-" in one or one == "longenough"] == [
        "hunter2-S3cr3t",
        "second-secret",
        "longenough",
    ]
    assert without(f"got {PLANTED} and second-secret", found) == f"got {MARK} and {MARK}"


def test_a_private_key_of_several_lines_goes_whole():
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PLANTED}\n{PLANTED}\n-----END OPENSSH PRIVATE KEY-----"
    assert redact_text(f"before\n{key}\nafter") == f"before\n{MARK}\nafter"
    assert redact_text(f"before\n{key[:60]}") == f"before\n{MARK}"


def _texts_of(tree):
    """The texts in a module but for those that explain it, with the name of a file for what is filled in."""
    parts = {
        id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in ast.walk(one)
    } | {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "src/train_v2.py" for part in one.values
            )
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in parts:
            yield one.value


def test_what_the_tool_itself_says_is_never_taken_for_a_secret():
    files = list((TESTS.parent / "reprokit").rglob("*.py"))
    said = [text for path in files for text in _texts_of(ast.parse(path.read_text())) if " " in text]
    assert said
    assert [text for text in said if redact_text(text) != text and not text.startswith("Bearer ")] == []


@pytest.mark.parametrize(
    "error",
    [
        BundleError(
            "files must not be given away: source/conf/a.yaml (line 3 holds what looks like a token)"
        ),
        RecipeError(
            "a recipe cannot hold a secret", where="recipes/hf_token/recipe.yaml:3", fix="read it there"
        ),
        RecipeError("a setting cannot be a secret", where="--set (training.api_key)"),
        UsageError("there is no such file", where="/home/ada/.cache/huggingface/token"),
        UsageError("permission denied", where="conf/api_key"),
    ],
)
def test_an_error_about_a_secret_keeps_its_place_and_its_words(error):
    assert redact_text(str(error)) == str(error)


def test_behind_the_path_of_a_file_what_looks_made_by_chance_is_still_taken_out():
    assert redact_text("conf/api_key: 8f14e45fceea167a") == f"conf/api_key: {MARK}"


@pytest.mark.parametrize(
    "printed",
    [
        repr,
        json.dumps,
        quote,
        quote_plus,
        lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
        lambda text: text.encode().hex(),
    ],
)
@pytest.mark.parametrize("secret", ['pa/ss+w0rd"é&x1y2', "/Zq7hunter+Xw9Lk2Vt8Bn4/abcdefgh1234"])
def test_a_known_secret_is_taken_out_as_json_addresses_base64_and_hexadecimal_write_it(secret, printed):
    text = printed(secret)
    known = secret_values({"HF_TOKEN2": secret, "TOKEN_FILE": "/run/secrets/token"})
    assert without(f"got {text}", known).replace('"', "").replace("'", "") == f"got {MARK}"
    assert "/run/secrets/token" not in known
