"""Which files look like credentials, and which ordinary source files do not."""

from __future__ import annotations

import pytest

from reprokit.bundles import why_secret

_TOKEN = "hf_" + "0123456789abcdefghij"
_KEY = "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0B\n"


@pytest.mark.parametrize(
    "name",
    [
        *("source/program/.env", "source/program/conf/.env.production", "source/program/.netrc"),
        *("source/program/id_ed25519", "source/program/server.pem", "source/program/.aws/config"),
        *("source/program/credentials.json", "source/program/.SSH/config", "source/program/kaggle.json"),
    ],
)
def test_a_file_with_the_name_of_credentials_is_one(name):
    assert why_secret(name, b"x = 1\n") == "files of this name hold credentials"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"import os\nTOKEN = '{_TOKEN}'\n", "line 2 holds what looks like a token"),
        (_KEY, "it holds a private key"),
        ("DATA = 'https://ada:hunter22@example.org/data'\n", "line 1 holds an address with a password"),
        ("api_key = '8f14e45fceea167a5a36dedd4bea2543'\n", "line 1 holds what looks like a password or key"),
    ],
)
def test_a_secret_in_a_text_is_found_and_not_repeated(text, why):
    assert why_secret("source/program/train.py", text.encode()) == why


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer = AutoTokenizer.from_pretrained('gpt2', token=args.token)\n",
        "parser.add_argument('--password', default=None, help='of the data base')\n",
        "auth_token = os.environ['HF_TOKEN']\nurl = f'https://{user}:{password}@example.org'\n",
        "key = jax.random.PRNGKey(0)\nkeys = ['policy_loss_and_value_loss']\n",
        "sha256: 'sha256:8f0d5f0c1a2b3c4d5e6f8f0d5f0c1a2b3c4d5e6f8f0d5f0c1a2b3c4d5e6f0000'\n",
        "max_token = 4096\npad_token = '<pad>'\n",
    ],
)
def test_ordinary_code_holds_none(text):
    assert why_secret("source/program/train.py", text.encode()) == ""


def test_an_example_of_such_a_file_and_bytes_that_are_no_text_hold_none():
    assert why_secret("source/program/.env.example", b"TOKEN=\n") == ""
    assert why_secret("source/program/weights.bin", b"\xff\xfe\x00") == ""
