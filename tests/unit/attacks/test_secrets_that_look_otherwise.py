"""Secrets in unlikely forms, printed, logged and configured: no byte of a run, report or golden holds one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reprokit import reports
from reprokit.errors import GoldenError
from reprokit.harness import Request, judge_again
from reprokit.redaction import redact, redact_command, redact_text
from support.fake_backend import write_lines
from tests.unit.attacks.conftest import RECIPE

SECRET = "Zq7hunterXw9Lk2Vt8Bn4"  # noqa: S105
HEXADECIMAL = SECRET.encode().hex()[:40]

#: As a program, a library or a shell prints it; {S} is the secret, {H} it in hexadecimal digits.
PRINTED = r"""
password={S}
password: {S}
password = '{S}'
'password': '{S}'
"password":"{S}"
{"cfg": "{\"api_key\": \"{S}\"}"}
Client(api_key='{S}')
Config(token='{S}', lr=0.1)
<db password="{S}"/>
<Password>{S}</Password>
--registry-password {S}
['--api-key', '{S}']
"--api-key", "{S}"
export DB_PASSWORD={S}
set DB_PASSWORD={S}
$env:API_KEY="{S}"
//registry.example.org/:_authToken={S}
machine example.org login ada password {S}
jdbc:mysql://h/db?user=a&password={S}
Server=x;Uid=a;Pwd={S};
host=x user=a password='{S}'
spring.datasource.password={S}
https://example.org/?access_token={S}&x=1
https://example.org/?sv=1&sig={S}%3D
https://ada:{S}@example.org/lab.git
https://{S}@example.org/lab.git
https://ada:{S}/x@example.org/lab.git
postgresql+psycopg2://ada:{S}@example.org:5432/x
redis://:{S}@example.org:6379/0
https%3A%2F%2Fada%3A{S}%40example.org
curl -u ada:{S} https://example.org
curl --user=ada:{S} https://example.org
Authorization: Bearer {S}
Authorization: Basic {S}
Authorization: Token {S}
authorization: {S}
X-Api-Key: {S}
Cookie: session={S}
Set-Cookie: sid={S}; Path=/
{'X-Auth-Token': '{S}'}
AccountKey={S}{S}==
aws_session_token={S}
accessToken: {S}
{"clientSecret":"{S}"}
MYTOKEN={S}
KAGGLE_KEY={S}
AZURE_STORAGE_KEY={S}==
storage_key: {S}
--dd-app-key {S}
B2_APPLICATION_KEY = "{S}"
'cosmos_key': '{S}'
STRIPE_SK={S}
DISCORD_WEBHOOK=https://example.org/a/{S}
https%3A%2F%2Fhooks.slack.com%2Fservices%2FT0%2FB0%2F{S}
ghp_{S}
github_pat_{S}
glptt-{S}
hf_{S}
sk-ant-api03-{S}
xoxb-{S}
whsec_{S}
hvs.{S}
GOCSPX-{S}
figd_{S}
ATATT3{S}
lsv2_pt_00112233445566778899aabbccddeeff_{S}
eyJ{S}.{S}.{S}
pul-{H}
wandb login {H}
https://hooks.slack.com/services/T0/B0/{S}
https://discord.com/api/webhooks/1/{S}
https://api.telegram.org/bot12345678:{S}/x
-----BEGIN OPENSSH PRIVATE KEY-----{S}-----END OPENSSH PRIVATE KEY-----
fatal: Authentication failed for 'https://ada:{S}@example.org/x'
KeyError: 'no access with token={S}'
""".strip().splitlines()


def filled(line: str) -> str:
    return line.replace("{S}", SECRET).replace("{H}", HEXADECIMAL)


def holds(text: str | bytes) -> bool:
    found = text.encode() if isinstance(text, str) else text
    return any(one.encode() in found for one in (SECRET, HEXADECIMAL))


def leaks(*folders: Path, but: tuple[str, ...] = ()) -> list[str]:
    files = [path for folder in folders for path in folder.rglob("*")]
    return [
        str(path)
        for path in files
        if holds(str(path)) or (path.is_file() and path.name not in but and holds(path.read_bytes()))
    ]


@pytest.mark.parametrize("line", PRINTED)
def test_a_line_loses_its_secret(line):
    for around in ("{}", "INFO 12:00:01 {} ok", "\t{}", "\x1b[31m{}\x1b[0m", "x" * 3000 + " {}", "é {} ü"):
        text = around.replace("{}", filled(line))
        once = redact_text(text)
        assert not holds(once), around
        assert redact_text(once) == once


@pytest.mark.parametrize("line", PRINTED)
def test_a_record_loses_its_secret_wherever_it_stands(line):
    text = filled(line)
    for record in ({"a": text}, {text: 1}, {"a": [text]}, [{"b": {"c": (text,)}}], {"a": [[text, 1]]}):
        assert not holds(json.dumps(redact(record)))


def test_no_file_of_a_run_a_report_or_a_golden_holds_a_secret_that_was_printed(lab):
    def program(output: Path, run: int) -> None:
        write_lines(output / "log.jsonl", [{"step": step, "loss": 1 / (step + 1)} for step in range(4)])
        for stream in ("stdout.log", "stderr.log"):
            coloured = [f"\x1b[31m{filled(line)}\x1b[0m" for line in PRINTED]
            (output.parent / stream).write_text("\n".join([*map(filled, PRINTED), *coloured]) + "\n")

    folders = lab.runs(program)
    lab.promote(folders, allow_dirty=True)
    report = judge_again(folders, Request(command=filled("reprokit --api-key {S}")), project=lab.here)
    reports.render_all(report, lab.here.reports_dir / "train" / "T")
    assert report.exit_code == 0
    assert leaks(lab.here.runs_dir, lab.here.reports_dir, lab.here.golden_dir) == []


#: Where a host, a configuration and a golden's reason may hold one → how it gets there.
PLACES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "the branch": lambda host: host["source"].update(branch=f"ghp_{SECRET}"),
    "the remote": lambda host: host["source"].update(remote=f"https://ada:{SECRET}@example.org/x"),
    "a changed file": lambda host: host["source"].update(changed_files=[f"token={SECRET}"]),
    "a package": lambda host: host["plain_inside"]["packages"].update(
        {"x": f"1 @ https://ada:{SECRET}@example.org/x"}
    ),
    "where a package is from": lambda host: host["plain_inside"]["sources"].update(
        {"x": f"git+https://{SECRET}@example.org/x"}
    ),
    "a reason why something is missing": lambda host: host["plain_inside"]["missing"].update(
        {"torch": f"password={SECRET}"}
    ),
    "a variable": lambda host: host["plain_inside"].update(variables={"MY_TOKEN": SECRET}),
    "the kernel": lambda host: host.update(kernel=f"6.1 token={SECRET}"),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_place_of_the_environment_record_keeps_a_secret(lab, place):
    from tests.unit.attacks.conftest import machine  # noqa: PLC0415

    host = machine()
    PLACES[place](host)

    def program(output: Path, run: int) -> None:
        write_lines(output / "log.jsonl", [{"step": step, "loss": 1 / (step + 1)} for step in range(4)])

    folders = lab.runs(program, host=host)
    reports.render_all(
        judge_again(folders, Request(), project=lab.here), lab.here.reports_dir / "train" / "T"
    )
    lab.promote(folders, allow_dirty=True, allow_failed=True)
    assert leaks(lab.here.runs_dir, lab.here.reports_dir, lab.here.golden_dir) == []


@pytest.mark.parametrize(
    "record",
    [
        {"step": 0, f"token={SECRET}": 1},
        {"step": 0, "loss": 1, "note": f"token={SECRET}"},
        {"step": 0, "loss": 1, "config": {"api_key": SECRET}},
        {"step": 0, "loss": 1, "argv": ["--api-key", SECRET]},
        {"step": 0, "loss": 1, "note": f"ghp_{SECRET}"},
    ],
)
def test_a_secret_among_the_metrics_is_in_no_report_and_becomes_no_golden(lab, record):
    folders = lab.runs(lambda output, run: write_lines(output / "log.jsonl", [record]))
    report = judge_again(folders, Request(), project=lab.here)
    reports.render_all(report, lab.here.reports_dir / "train" / "T")
    assert leaks(lab.here.reports_dir) == []
    with pytest.raises(GoldenError) as refused:
        lab.promote(folders)
    assert not holds(str(refused.value))
    assert leaks(lab.here.golden_dir) == []
    assert leaks(lab.here.runs_dir, but=("log.jsonl", "metrics.jsonl")) == []


def test_the_recipe_with_a_secret_in_a_list_of_words_is_refused(lab):
    from reprokit.errors import RecipeError  # noqa: PLC0415

    for form in (
        f"[python, --api-key, {SECRET}]",
        f"[python, '--token={SECRET}']",
        f"[env, MYTOKEN={SECRET}]",
    ):
        with pytest.raises(RecipeError) as refused:
            lab.recipe(text=RECIPE.replace('[python, train.py, "{seed}", "{run_dir}"]', form))
        assert not holds(str(refused.value))
    assert not holds(" ".join(redact_command(["python", "--otp", SECRET])))
