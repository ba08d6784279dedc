"""Which files look like credentials, and which ordinary source files do not."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import sqlite3
import tarfile
import zipfile
import zlib
from contextlib import closing

import pytest

from reprokit.features.bundles import packed
from reprokit.features.bundles.secret_files import why_secret

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
        (_KEY, "line 1 holds a private key"),
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


_SECRET = "8f14e45fceea167a5a36dedd4bea2543"  # noqa: S105
_YAML = f"host: example.org\napi_key: {_SECRET}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", f"api_key: {_SECRET}"),
        ("a.yaml", "db:\n  password: hunter2"),
        ("a.yaml", "db:\n  password: correct horse battery staple"),
        ("a.yaml", f"api_keys:\n  - {_SECRET}"),
        ("a.yaml", f"token: >-\n  {_SECRET}"),
        ("a.yaml", f"env:\n  - name: WANDB_API_KEY\n    value: {_SECRET}"),
        ("a.yaml", f"    client-key-data: {base64.b64encode(_KEY.encode()).decode()}"),
        ("setup.envrc.bak", f"export WANDB_API_KEY_PROD={_SECRET}"),
        ("run.sh", f"export WANDB_API_KEY={_SECRET}"),
        ("run.sh", "export PGPASSWORD=hunter2"),
        ("Dockerfile", f"ENV HF_TOKEN2={_SECRET}"),
        ("a.ini", "[db]\npassword = hunter2"),
        ("a.properties", "spring.datasource.password=hunter2"),
        ("a.toml", 'secret = "hunter2"'),
        ("hosts", "machine example.org login ada password hunter2"),
        ("hosts", "machine example.org\n  login ada\n  password hunter2"),
        ("putty", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\nAAAAIDo="),
        ("gcp.json", json.dumps({"type": "service_account", "private_key": _KEY})),
        ("gcp.json", json.dumps({"type": "service_account", "private_key": _KEY}, indent=1)),
        ("aws.json", json.dumps({"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYz"})),
        ("config.json", json.dumps({"auths": {"example.org": {"auth": "YWRhOmh1bnRlcjI="}}})),
        ("config.json", json.dumps({"username": "ada", "key": _SECRET})),
        ("config.json", json.dumps({"kty": "RSA", "n": "x", "d": _SECRET})),
        ("config.json", json.dumps({"api\u005fkey": _SECRET}).replace("_", "\\u005f")),
        ("train.ipynb", json.dumps({"cells": [{"source": [f"wandb.login(key='{_SECRET}')\n"]}]})),
        ("train.ipynb", json.dumps({"cells": [{"source": [f'login("x", key="{_SECRET}")']}]})),
        ("train.ipynb", json.dumps({"cells": [{"source": [f"!wandb login {_SECRET}"]}]})),
        ("train.ipynb", json.dumps({"cells": [{"outputs": [{"text": [f"API key: {_SECRET}"]}]}]})),
        ("train.py", "password = 'hunter2'"),
        ("train.py", "connect(user='ada', password='correcthorsebattery')"),
        ("train.py", f"TOKEN = (\n    '{_SECRET}'\n)"),
        ("train.py", f'"""Called as --api-key {_SECRET}."""'),
        ("train.py", f"KEY = ('-----BEGIN PRIVATE KEY-----\\n'\n    '{_KEY[-25:-1]}')"),
        ("train.py", f"# {base64.b64encode(_YAML.encode()).decode()}"),
        ("train.py", f"# {base64.b64encode(gzip.compress(_YAML.encode(), mtime=0)).decode()}"),
        ("train.py", f"# {_TOKEN.encode().hex()}"),
        ("train.py", f"headers = {{'Authorization': 'Bearer {_SECRET}'}}"),
        ("notes.md", f"Set `HF_TOKEN={_SECRET}` first."),
        ("npmrc", f"//registry.example.org/:_authToken={_SECRET}"),
        ("pypirc.cfg", "[pypi]\nusername = ada\npassword = hunter2"),
        ("users.csv", "user,password,age\nada,hunter2,3"),
        ("settings.json", json.dumps({"passwords": ["hunter2"]})),
        ("secret.yaml", f"kind: Secret\nstringData:\n  wandb: {_SECRET}"),
        ("a.fish", f"set -x WANDB_API_KEY {_SECRET}"),
        ("a.csh", f"setenv WANDB_API_KEY {_SECRET}"),
        ("train.py", f"os.environ['WANDB_API_KEY'] = '{_SECRET}'"),
        ("train.py", f"api_key: str = '{_SECRET}'"),
        ("train.py", f"def f(x, token: Optional[str] = '{_SECRET}'): ..."),
        ("train.py", "auth = ('ada', 'hunter2')"),
        ("train.py", "HTTPBasicAuth('ada', 'hunter2')"),
        ("train.py", "connect('host=x user=ada password=hunter2')"),
        ("train.py", "creds = {\n  'user': 'ada',\n  'pass': 'hunter2',\n}"),
        ("train.ipynb", json.dumps({"cells": [{"source": [f"%env WANDB_API_KEY {_SECRET}"]}]})),
        ("train.ipynb", json.dumps({"cells": [{"source": [f"x\nlogin('{_SECRET}')"]}]})),
        ("README.md", "curl -u ada:hunter2 https://example.org"),
        ("README.md", f"https://example.org/?next=api_key%3D{_SECRET}"),
        ("a.sql", "CREATE USER ada IDENTIFIED BY 'hunter2';"),
        ("log.txt", f"\x1b[31mapi_key\x1b[0m: {_SECRET}"),
        ("pip.conf", "index-url = https://ada:hunter2@example.org/simple"),
    ],
)
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.encode(),
        lambda text: b"# caf\xe9\n" + text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32"),
        lambda text: text.replace("\n", "\r\n").encode("cp1252"),
    ],
    ids=["utf-8", "latin-1", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "windows"],
)
def test_a_secret_is_found_in_every_form_and_encoding_and_told_with_its_line(name, text, written):
    why = why_secret(f"source/program/{name}", written(text))
    assert why.startswith("line "), why
    assert not any(one in why for one in (_SECRET, "hunter2", "horse", "MIIE"))


def _zipped(name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return made.getvalue()


def _tarred(name, content, mode="w"):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as packed:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        packed.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(_YAML.encode(), mtime=0), "unpacked: line 2"),
        (bz2.compress(_YAML.encode()), "unpacked: line 2"),
        (lzma.compress(_YAML.encode()), "unpacked: line 2"),
        (zlib.compress(_YAML.encode()), "unpacked: line 2"),
        (_zipped("conf/a.yaml", _YAML), "conf/a.yaml in it: line 2"),
        (_zipped("conf/.env", "A=1"), "conf/.env in it: files of this name"),
        (_tarred("conf/a.yaml", _YAML.encode()), "conf/a.yaml in it: line 2"),
        (_tarred("conf/a.yaml", _YAML.encode(), "w:gz"), "unpacked: conf/a.yaml in it: line 2"),
        (_tarred("conf/a.yaml", _YAML.encode(), "w:xz"), "unpacked: conf/a.yaml in it: line 2"),
        (
            _zipped("a.zip", _zipped("b.tar", _tarred("c.yaml", _YAML.encode()))),
            "a.zip in it: b.tar in it: c.yaml",
        ),
        (b"#!/bin/sh\n" + _zipped("a.yaml", _YAML), "a.yaml in it: line 2"),
        (pickle.dumps({"lr": 0.1, "api_key": _SECRET}), "it holds what looks like a password or key"),
        (pickle.dumps({"lr": 0.1, "password": "hunter2"}), "it holds what looks like a password or key"),
        (pickle.dumps({"a": [1, _TOKEN]}, protocol=2), "it holds what looks like a token"),
        (pickle.dumps({"token": _SECRET}, protocol=0), "it holds"),
        (b"\x82\xa2lr\x01\xa7api_key\xd9 " + _SECRET.encode(), "holds what looks like a password or key"),
        (b"\x00\x01x" + _TOKEN.encode() + b"\x00", "it holds what looks like a token"),
        (b"password: hunter2\n\x00", "line 1 holds what looks like a password or key"),
        (b"\x00\x01\x02" + _KEY.encode(), "holds a private key"),
        (b"\x00\x01" + _TOKEN.encode() + b"\x00", "it holds what looks like a token"),
        (
            b"\x00\x01\xff" + f"api_key={_SECRET}".encode("utf-16-le"),
            "line 1 holds what looks like a password",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes hold the time of packing
)
def test_a_secret_in_an_archive_or_among_other_bytes_is_found(content, told):
    assert told in why_secret("source/program/data.bin", content)


def _in_a_database(column, *cells):
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f'CREATE TABLE settings ("name", "{column}")')
        database.execute("INSERT INTO settings VALUES (?, ?)", cells)
        database.commit()
        return database.serialize()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.lzma", lzma.compress(_YAML.encode(), format=lzma.FORMAT_ALONE)),
        ("cut.gz", gzip.compress(_YAML.encode(), mtime=0)[:-6]),
        ("cut.bz2", bz2.compress(_YAML.encode() + bytes(range(256)) * 9_000)[:-9]),
        ("two.bz2", bz2.compress(b"x = 1\n") + bz2.compress(_YAML.encode())),
        ("cut.zip", _zipped("conf/a.yaml", _YAML)[:-40]),
        ("behind.zip", _zipped("conf/a.yaml", _YAML) + bytes(70_000)),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0zTXtComment\0\0" + zlib.compress(_YAML.encode())),
        ("paper.pdf", b"%PDF-1.7 \xff stream\n" + zlib.compress(_YAML.encode()) + b"endstream"),
        ("study.db", _in_a_database("password", "ada", _SECRET)),
        ("rows.db", _in_a_database("value", "WANDB_API_KEY", _SECRET)),
        ("a.bson", b"\x3c\0\0\0\x02password\0\x21\0\0\0" + _SECRET.encode() + b"\0\0"),
        ("a.txt", _YAML.encode().hex().encode()),
        ("a.py", b"CONFIGURATION = '" + base64.b32encode(_YAML.encode()) + b"'\n"),
        ("README.md", f"| user | password |\n|---|---|\n| ada | {_SECRET} |\n".encode()),
        ("b.md", f"# Keys\n\n| Service | API key |\n|:--|--:|\n| W&B | `{_SECRET}` |\n".encode()),
        ("a.xml", f"<w:t>api_key: </w:t><w:t>{_SECRET}</w:t>".encode()),
        ("a.html", b"api_key = " + b"".join(b"&#%d;" % one for one in _SECRET.encode())),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_secret_is_found_however_it_is_packed_or_written(name, content):
    assert why_secret(f"source/program/{name}", content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("weights.bin", random.Random(0).randbytes(1 << 20)),
        ("study.db", _in_a_database("password", "ada", "${PASSWORD}")),
        ("damaged.db", _in_a_database("value", "lr", "0.1")[:5_000]),
        ("README.md", b"| option | token |\n|---|---|\n| --hub | your access token |\n"),
        ("page.html", b"<label>Password:</label> <input> <p>Forgotten? We send another one.</p>\n"),
        ("a.py", b"ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGH'\n"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ordinary_packed_files_tables_and_pages_hold_none(name, content):
    assert why_secret(f"source/program/{name}", content) == ""


def test_what_is_too_large_unpacked_or_damaged_is_not_called_clean(monkeypatch):
    monkeypatch.setattr(packed, "MOST_BYTES", 1 << 20)
    assert "too much to be looked through" in why_secret("a.gz", gzip.compress(bytes(2 << 20)))
    assert why_secret("a.gz", gzip.compress(b"x = 1\n")) == ""


@pytest.mark.parametrize(
    "name",
    [
        *(
            "prod.envrc",
            "netrc",
            "ci/.netrc.bak",
            "putty.ppk",
            "conf/.npmrc",
            "conf/.pypirc",
            "hf_token",
            "token.txt",
        ),
        *(
            "service-account-prod.json",
            "service_account.json",
            ".dockercfg",
            "gcloud/adc.json",
            "api_key_prod.txt",
        ),
        f"run-{_TOKEN}.txt",
    ],
)
def test_a_name_alone_can_tell(name):
    assert why_secret(f"source/program/{name}", b"x\n") != ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.yaml",
            "tokenizer: gpt2\nmax_tokens: 512\nnum_keys: 3\nkey_dim: 64\nmonkey: 1\npad_token: <pad>\n",
        ),
        ("a.yaml", "api_key: ${WANDB_API_KEY}\npassword: your-password-here\nsecret: null\ntoken: $TOKEN\n"),
        (
            "a.yaml",
            "password_file: /run/secrets/db\napi_key_env: WANDB_API_KEY\nauth: basic\npassword: required\n",
        ),
        ("a.yaml", "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}\nsecret: !ENV SECRET\npass_1: 0.25\n"),
        (
            "a.json",
            '{"password": "string", "token": "<token>", "private_key": "One of a pair that is not shown"}',
        ),
        (
            "run.sh",
            'export HF_TOKEN="$HF_TOKEN"\nWANDB_API_KEY=$(cat /run/key)\ncurl -u "$USER:$PASSWORD" x\n',
        ),
        ("train.py", "def login(user: str, password: str, token: Optional[str] = None) -> None: ...\n"),
        ("train.py", "wandb.login(key=os.environ['WANDB_API_KEY'])\nkey = jax.random.PRNGKey(0)\n"),
        ("train.py", "secret = derive(secret_key_2, salt=b'x')\npassword = config.db.password2\n"),
        ("train.py", "for name in ('AWS_SECRET_ACCESS_KEY', 'WANDB_API_KEY'):\n    os.environ.pop(name)\n"),
        ("train.py", "image_token = '<image_1>'\nauth = 'oauth2'\nkeys = ['token_level_accuracy_v2']\n"),
        (
            "README.md",
            "Set `HF_TOKEN=<your token>`; see https://user:password@example.org, `--api-key YOUR_KEY`.\n",
        ),
        ("a.json", '{"examples": [["API_ACCESS_TOKEN"], ["API_KEY", "DATABASE_PASSWORD"]]}'),
        ("metrics.csv", "step,token_accuracy,tokens\n0,0.5,512\n"),
    ],
)
def test_ordinary_configuration_and_code_hold_none(name, text):
    assert why_secret(f"source/program/{name}", text.encode()) == ""


def test_an_example_of_such_a_file_and_bytes_that_are_no_text_hold_none():
    assert why_secret("source/program/.env.example", b"TOKEN=\n") == ""
    assert why_secret("source/program/weights.bin", b"\xff\xfe\x00") == ""


_CHANCE = "q7Zt3KpW9xLm2VbN" + "8sRd"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("login.sh", "docker login -u ada -p Hunter2x9 registry.example.org\n"),
        ("login.sh", f"az login --service-principal -u a -p {_CHANCE} --tenant t\n"),
        ("load.sh", "mysqldump -uroot -pHunter2x9 results > results.sql\n"),
        ("load.py", "connect('dbname=x user=y password=Hunter2x9 host=h')\n"),
        ("load.sh", "unzip -P Hunter2x9 set.zip\n"),
        ("load.sh", "7z x -pHunter2x9 set.7z\n"),
        ("load.sh", "openssl enc -d -k Hunter2x9 -in set.enc\n"),
        ("load.sh", "smbclient //host/share -U ada%Hunter2x9\n"),
        ("database.txt", "localhost:5432:runs:ada:Hunter2x9\n"),
        ("Dockerfile", "ENV DB_PASSWORD Hunter2x9\n"),
        ("settings.plist", f"<key>api_key</key>\n<string>{_CHANCE}</string>\n"),
        ("odbc.ini", "DSN=x;UID=ada;PWD=Hunter2x9;\n"),
        ("install.sh", f"pip install --index-url https://{_CHANCE}:@pypi.example.org/simple x\n"),
        ("mail.py", "smtp.login('ada@example.org', 'Hunter2x9')\n"),
        ("README.md", "Password: `Hunter2x9`\n"),
        ("api_keys.py", f"OPENAI = '{_CHANCE}'\n"),
        ("tokens.json", json.dumps({"openai": _CHANCE})),
        ("train.sh", f"export SESSION_KEY={_CHANCE}\n"),
    ],
)
def test_a_password_of_a_program_a_connection_or_a_call_is_found(name, text):
    assert why_secret(f"source/program/{name}", text.encode())


@pytest.mark.parametrize(
    "name",
    [
        *(
            "pgpass.conf",
            "lab.pgpass",
            "prod.env.local",
            ".env~",
            ".bash_history",
            ".python_history",
            ".authinfo",
            ".Xauthority",
        ),
        *("cookies.sqlite", "login.keychain-db", "gha-creds-1234abcd.json", ".m2/settings-security.xml"),
    ],
)
def test_histories_cookies_and_copies_of_such_files_are_known_by_their_names(name):
    assert why_secret(f"source/program/{name}", b"x\n") == "files of this name hold credentials"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "export HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxx\n"),
        ("README.md", "[![c](https://codecov.io/gh/a/b/branch/main/graph/badge.svg?token=KkHZ3siA3m)](c)\n"),
        ("serve.py", "client = OpenAI(base_url='http://localhost:8000/v1', api_key='not-needed')\n"),
        ("RECORD", "jsonschema/_keywords.py,sha256=r8_DrqAfn6QLwQnmXEggveiSU-UaIL2p2nuPINelfFc,14949\n"),
        ("tokens.json", '{"start": "the quick brown fox", "count": 1234567890123456}'),
        ("tokens.txt", "the\nof\n"),
        ("fit.sh", "python fit.py -p 12 --login never -k 5\nmysql -P 3306 -u root -p < a.sql\n"),
        ("fit.py", "fit(user=first, password=second2, host=third)\n"),
    ],
)
def test_placeholders_badges_and_digests_hold_none(name, text):
    assert why_secret(f"source/program/{name}", text.encode()) == ""
