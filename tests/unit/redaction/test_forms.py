"""Each form of a secret is found by everything that looks for one: in a bundle, in a log, in a command."""

from __future__ import annotations

import json

import pytest

from reprokit.features.bundles.secret_files import why_secret
from reprokit.redaction import MARK, redact, redact_command, redact_text

CHANCE = "q7Zt3KpW9xLm2VbN" + "8sRd"
DIGITS = "8f14e45fceea167a5a36dedd4bea2543"
WORD = "correct-Horse9"

#: {S} is made by chance, {H} in hexadecimal digits, {P} a password that someone thought of.
FORMS = r"""
API_TOKEN: Final[str] = '{S}'
api_token: typing.Final = '{S}'
token: Annotated[str, Field(min_length=4)] = '{S}'
token: ClassVar[str | None] = '{S}'
client.set_api_key('{S}')
client.Client().with_token("{S}")
client.setApiKey("{S}")
wandb.login(\n    key="{S}")
wandb.login(\n    anonymous="never",\n    key="{S}",\n)
[wandb]\nkey = '{S}'
[tool.openai]\nmodel = "a"\nkey = {S}
wandb:\n  entity: ada\n  key: {S}
{"wandb": {"entity": "ada", "key": "{S}"}}
KEY = ''.join(['hf_q7Zt3KpW9x', 'Lm2VbN8sRdabcdefghijklmnop'])
database:\n  user: ada\n  pass: {S}
database:\n  pass: "{P}"
pass: '{P}'
# token is: {S}
the API token was: {S}
priv_key={S}
licence_key={S}
serial_key={S}
oauth={S}
auth_code={S}
totp_seed={S}
KGAT_{H}
fly_v1_{S}{S}
FlyV1 fm2_{S}{S}
create_client(URL, 'sbp_{H}8f14e45f')
https://hooks.slack.com/triggers/T0/1/{S}
https://maker.ifttt.com/trigger/done/with/key/{H}
https://open.feishu.cn/open-apis/bot/v2/hook/{H}
https://open.larksuite.com/open-apis/bot/v2/hook/{H}
https://outlook.office.com/webhook/{H}
https://outlook.office365.com/webhook/{H}
https://mattermost.example.org/hooks/{H}
token：{S}
token ＝ {S}
token\u00a0=\u00a0{S}
{&quot;token&quot;:&quot;{S}&quot;}
TOKEN&#61;{S}
TOKEN%3D{S}
%22token%22%3A%22{S}%22
{"cfg": "token\\u003d{S}"}
token == "{S}"
token|{S}
Passwort: {P}
Kennwort = {P}
contraseña={P}
mot_de_passe={P}
senha={P}
пароль={P}
密码={P}
パスワード: {P}
비밀번호: {P}
wachtwoord: {P}
{"username":"bob","key":"{H}"}
{'key': '{H}', 'username': 'bob'}
<property name="password" value="{P}"/>
<add key="password" value="{P}"/>
<password value="{P}"/>
env:\n  - name: HF_TOKEN\n    value: {S}
password:\n  - {P}
password: >-\n  {P}
password:\n{P}
machine example.org\n  login ada\n  password {P}
wandb_api_key:\n  desc: null\n  value: {H}
wandb_api_key:\n  value: {H}\n  desc: null
WANDB_API_KEY ?= {H}
WANDB_API_KEY += {H}
WANDB_API_KEY ::= {H}
wandb login --relogin {H}
wandb login --cloud --relogin {H}
["wandb", "login", "--relogin", "{H}"]
curl -ubob:{S} https://example.org
- value: {H}\n  name: WANDB_API_KEY
{\n "value": "{H}",\n "name": "WANDB_API_KEY"\n}
{"value": "{H}", "name": "WANDB_API_KEY"}
api_key: &a {H}
api_key = '''\n{H}'''
WANDB_API_KEY,{H}
"HF_TOKEN","{S}"
HF_TOKEN;{S}
const API_KEY: &str = "{S}";
variable "api_key" {\n  default = "{S}"\n}
{"conf": "api_key:\\n  {S}"}
key = os.environ.get("WANDB_API_KEY") or "{H}"
process.env.API_KEY || "{S}"
p.add_argument("--api-key", type=str, default="{H}")
p.add_argument(\n    "--api-key",\n    type=str,\n    default="{H}",\n)
api_key: str = field(default="{H}")
wandb_v1_{S}{S}
rpa_{S}{S}
jina_{S}{S}
sk-lf-1234abcd-12ab-34cd-56ef-{H}
ABSK{S}{S}{S}
nfp_{S}{S}
vercel_blob_rw_{S}_{S}
e2b_{H}
hf_token .............................. {S}
--hf_token ............ {S}
- **hf_token**: `{S}`
<li><b>hf_token</b>: {S}</li>
<tr><td>api_key</td><td>{S}</td></tr>
<tr>\n  <td>api_key</td>\n  <td>{S}</td>\n</tr>
<dt>api_key</dt>\n<dd>{S}</dd>
{\n "args": [\n  "--lr",\n  "0.1",\n  "--api_key",\n  "{S}"\n ]\n}
args:\n  - --hf-token\n  - {S}\n  - --lr
train \ \n  --hf-token \ \n  {S} \ \n  --lr 0.1
--hf_token\n{S}
hf_token,{S}
os.environ.get("API_KEY", default="{S}")
flags.DEFINE_string("api_key", "{S}", "help")
wandb: {entity: ada, key: {H}}
Incorrect API key provided: {S}. You can find it
h = {'Authorization': 'Bearer ' + '{S}'}
api_key: ${oc.env:KEY,{S}}
api_key: ${KEY:-{S}}
api_key: SecretStr = SecretStr('{S}')
API_KEY = os.environ.get("API_KEY", "{H}")
os.environ["API_KEY"] = os.environ.get("API_KEY", "{S}")
api_key: os.environ.get('K', '{S}')
api_key = str(os.getenv("K", default='{S}'))
client = OpenAI(api_key=os.getenv("OPENAI_API_KEY", "{S}"))
api_key = getattr(args, "api_key", "{H}")
api_key = args.api_key or "{H}"
api_key = (os.environ.get("K", None) or "{S}")
api_key = cfg["key"] if cfg else "{S}"
const apiKey = process.env.API_KEY || "{S}"
api_key = os.environ.get(\n    "API_KEY",\n    "{H}",\n)
api_key = os.environ.get(\n    "K", "{S}"\n)
p.add_argument("--api-key", "-k", help="a key", default="{H}")
https://conda.anaconda.org/t/tk-{H}/lab/linux-64
- https://repo.example.org:8443/t/ju-1a2b3c4d-11aa-22bb-33cc-{H}/main
""".strip().splitlines()

OF_PROGRAMS = (
    *("API_", "api_token", "client", "KEY", "#", "key", "p.", "api_key: str", "const"),
    *("os.", "flags", "h = ", "api_key: Secret", "api_key = "),
)


def filled(form):
    text = form.replace("\\\\n", "\0").replace("\\n", "\n").replace("\0", "\\n").replace("\\u00a0", "\u00a0")
    return text.replace("{S}", CHANCE).replace("{H}", DIGITS).replace("{P}", WORD)


def holds(text):
    return any(one in text for one in (CHANCE, DIGITS, WORD, "Lm2VbN8sRd"))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_taken_out_of_a_log_and_keeps_a_file_out_of_a_bundle(form):
    text = filled(form)
    for around in ("{}", "before\n{}\nafter\n"):
        printed = redact_text(around.replace("{}", text))
        assert not holds(printed), printed
        assert MARK in printed
        assert redact_text(printed) == printed
        assert why_secret("conf/a.txt", around.replace("{}", text).encode())


@pytest.mark.parametrize("form", [one for one in FORMS if one.startswith(OF_PROGRAMS)])
def test_a_form_of_a_program_is_found_in_its_source(form):
    assert why_secret("train.py", filled(form).encode())


@pytest.mark.parametrize(
    "source",
    [
        ["wandb.login(\n", f'    key="{CHANCE}")\n'],
        ["client = make(\n", "    token=\n", f"    '{CHANCE}')\n"],
    ],
)
def test_a_cell_of_a_notebook_is_read_as_one_text(source):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    notebook = {"cells": [{**cell, "source": ["x = 1\n"]}, cell], "metadata": {}, "nbformat": 4}
    assert "cell 2" in why_secret("a.ipynb", json.dumps(notebook).encode())
    cell["source"] = ["wandb.login(\n", "    key=os.environ['WANDB_API_KEY'])\n"]
    assert why_secret("a.ipynb", json.dumps(notebook).encode()) == ""


def test_the_record_around_a_key_tells_what_it_is():
    assert redact({"username": "bob", "key": DIGITS}) == {"username": "bob", "key": MARK}
    assert redact({"wandb": {"entity": "ada", "key": CHANCE}}) == {"wandb": {"entity": "ada", "key": MARK}}
    kept = {"cache": {"key": DIGITS}, "wandb": {"key": "loss", "id": "1a2b3c4d"}}
    assert redact(kept) == kept


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", f"KEYS = {{'wandb': '{DIGITS}'}}\n"),
        ("a.py", f"api_keys = ['{DIGITS}', '{CHANCE}']\n"),
        ("a.py", f"API_KEYS = {{'a': '{CHANCE}'}}\n"),
        ("Makefile", f"WANDB_API_KEY := {DIGITS}\n"),
        ("a.csv", f"name,value\nWANDB_API_KEY,{DIGITS}\n"),
        ("a.ipynb", json.dumps({"cells": [{"source": [f"!wandb login --relogin {DIGITS}"]}]})),
    ],
)
def test_a_key_in_a_program_or_a_table_keeps_a_file_out_of_a_bundle(name, text):
    assert why_secret(name, text.encode())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", 'p.add_argument("--api-key", type=str, default=None)\np.add_argument("--a", default="b")\n'),
        ("a.py", 'key = os.environ.get("WANDB_API_KEY") or "your-key-1"\napi_keys = ["loss", "acc_1"]\n'),
        ("a.py", "SOURCES = {'github': '8f14e45fceea167a5a36dedd', 'hf': 'bert-base-uncased-v2'}\n"),
        ("a.yaml", "token_count:\n  desc: null\n  value: 1234\nlr:\n  desc: null\n  value: 0.1\n"),
        ("a.html", "<tr><th>password</th><th>description</th><th>f1_score</th></tr>\n"),
        ("a.html", "<tr><td>token</td><td>accuracy_of_v2</td></tr>\n"),
        ("a.md", "| `--token` | how |\n**token**: the word\n--password\nhidden\n"),
        ("a.txt", "usage:\n  --token\n  --lr 0.1\n  --hf-token\n  TOKEN\n  --api-key\n  your-key-1\n"),
        ("a.csv", "word,id\ntoken,step_1_of_22\npass,test_a1_b2_c3\n"),
        ("a.yaml", "api_key: ${oc.env:API_KEY,null}\npassword: ${PASSWORD:-postgres}\n"),
        ("a.py", "flags.DEFINE_string('api_key', None, 'the key')\nwandb = {key: my_long_variable_12}\n"),
        ("a.txt", "max_token ............. 4096\nkv_tokens ...... 16\n"),
        (
            "a.py",
            'api_key = os.environ.get("WANDB_API_KEY", "your-key-1")\ntoken = vocab.get("a", "step_1")\n',
        ),
        ("a.py", "# https://discuss.example.org/t/defaced-1a2b/12345 and https://h/t/<TOKEN>/main\n"),
        ("a.py", 'password = ask("user", "db2") if user else "none1"\ntoken = words[0] or "acc_1"\n'),
        ("a.tf", 'variable "api_key" {\n  sensitive = true\n}\nvariable "a" {\n  default = "eu-1a"\n}\n'),
    ],
)
def test_what_has_such_a_form_without_a_secret_stays(name, text):
    assert why_secret(name, text.encode()) == ""


@pytest.mark.parametrize(
    "command",
    [
        ["wandb", "login", "--relogin", DIGITS],
        ["wandb", "login", "--cloud", "--relogin", DIGITS],
        ["curl", f"-ubob:{WORD}", "https://example.org"],
        ["/usr/bin/mysql", "-u", "ada", f"-p{WORD}", "results"],
        ["train", "--api-keys", CHANCE, WORD, "--seed", "7"],
        ["sh", "-c", f"wandb login --relogin {DIGITS}"],
        ["sshpass", f"-p{WORD}", "ssh", "node"],
        ["redis-cli", "-h", "cache", "-a", WORD, "ping"],
        ["twine", "upload", "-u", "__token__", f"-p{WORD}", "dist/a.whl"],
        ["az", "login", "--service-principal", "-u", "app", "-p", WORD, "--tenant", "t"],
        ["podman", "login", "-u=ada", f"-p={WORD}", "example.org"],
        ["/usr/bin/unzip", "-P", WORD, "set.zip"],
        ["unzip", "-P", f"{WORD} and more", "a b.zip"],
        ["7z", "x", f"-p{WORD}", "set.7z"],
        ["vault", "login", CHANCE],
        ["aws", "configure", "set", "aws_secret_access_key", CHANCE],
        ["dvc", "remote", "modify", "--local", "store", "password", CHANCE],
    ],
)
def test_a_command_loses_it_in_every_place(command):
    redacted = redact_command(command)
    assert not holds(" ".join(redacted))
    assert len(redacted) == len(command)


def test_an_ordinary_command_beside_them_stays():
    for command in (
        ("wandb", "login", "--relogin"),
        ("curl", "-u", "-o", "a.txt"),
        ("train", "--tokens", "512", "1024"),
        ("mkdir", "-pv", "a"),
    ):
        assert redact_command(command) == command


def test_a_record_of_name_and_value_loses_the_value_of_a_secret_name():
    assert redact({"name": "HF_TOKEN", "value": WORD}) == {"name": "HF_TOKEN", "value": MARK}
    kept = [{"name": "lr", "value": "0.1"}, {"name": "token", "value": "hello"}]
    kept += [{"name": "API_KEY", "value": ""}]
    assert redact(kept) == kept


def test_only_an_option_in_the_plural_takes_more_than_one_secret():
    assert redact_command(("train", "--db-pass", WORD, "a.csv")) == ("train", "--db-pass", MARK, "a.csv")
