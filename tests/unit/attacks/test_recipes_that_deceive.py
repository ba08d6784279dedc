"""Recipes that try to grant themselves a pass: refused by name, or judged as strictly as ever."""

from __future__ import annotations

import os
from typing import Any

import pytest

from reprokit import recipes
from reprokit.errors import ReprokitError
from reprokit.harness.running.programs.program import declared
from support.fake_backend import write_lines

HEAD = "schema: 1\nname: train\ntitle: t\n"
BODY = HEAD + "variant: none\ncommand: [python, train.py, '{seed}']\nseeds: [3]\nplatforms: [cpu-x86_64]\n"

REFUSED: dict[str, str] = {
    # --- numbers that are none, or too large
    "a tolerance of NaN": BODY + "tolerances: {default: {atol: .nan}}\n",
    "a tolerance of infinity": BODY + "tolerances: {default: {rtol: .inf}}\n",
    "a tolerance of 1e400": BODY + "tolerances: {default: {rtol: 1e400}}\n",
    "a negative tolerance": BODY + "tolerances: {default: {atol: -1}}\n",
    "a tolerance of true": BODY + "tolerances: {default: {atol: true}}\n",
    "a tolerance of text": BODY + "tolerances: {default: {atol: '1'}}\n",
    "a tolerance in hexadecimal text": BODY + "tolerances: {default: {atol: 0x1p4}}\n",
    "a mean of everything at no tolerance": BODY + "tolerances: {metrics: {a: {mean_of: 10}}}\n",
    "a mean of nothing": BODY + "tolerances: {metrics: {a: {mean_of: 0, atol: 1}}}\n",
    "a mean of a billion": BODY + "tolerances: {metrics: {a: {mean_of: 1000000000, atol: 1}}}\n",
    "a mean by default": BODY + "tolerances: {default: {mean_of: 10, atol: 1}}\n",
    "a tolerance of a platform that is not declared": BODY
    + "tolerances: {platforms: {cuda-h200: {default: {atol: 1}}}}\n",
    "a seed that is negative": BODY.replace("[3]", "[-1]"),
    "a seed that is a float": BODY.replace("[3]", "[3.0]"),
    "a seed that is true": BODY.replace("[3]", "[true]"),
    "a seed of 2^32": BODY.replace("[3]", "[4294967296]"),
    "a seed twice": BODY.replace("[3]", "[3, 3]"),
    "a seed twice, once in octal": BODY.replace("[3]", "[3, 0o3]"),
    "no seed": BODY.replace("[3]", "[]"),
    "no platform": BODY.replace("[cpu-x86_64]", "[]"),
    "a platform that is misspelt": BODY.replace("cpu-x86_64", "cpu-x86-64"),
    "a platform with a path in it": BODY.replace("cpu-x86_64", "cuda-../../x"),
    "a platform twice": BODY.replace("[cpu-x86_64]", "[cpu-x86_64, cpu-x86_64]"),
    "a limit of infinity": BODY + "limits: {memory_gib: 1e300}\n",
    "no time": BODY + "limits: {timeout_s: 0}\n",
    # --- what a verdict rests on
    "the row repeatable relaxed": BODY + "checks: {relax: [{check: repeatable, because: x}]}\n",
    "the row equals_golden relaxed": BODY + "checks: {relax: [{check: equals_golden, because: x}]}\n",
    "a row relaxed without a reason": BODY + "checks: {relax: [{check: seeded, because: ' '}]}\n",
    "a row relaxed and required": BODY
    + "checks: {relax: [{check: seeded, because: x}], require: [seeded]}\n",
    "a row relaxed twice": BODY
    + "checks: {relax: [{check: seeded, because: x}, {check: seeded, because: y}]}\n",
    "rows relaxed by a pattern": BODY + "checks: {relax: [{check: '*', because: x}]}\n",
    "a metric volatile without a reason": BODY + "volatile: [{metric: loss, because: ''}]\n",
    "a metric volatile by name alone": BODY + "volatile: [loss]\n",
    "network without a reason": BODY + "network: {because: ''}\n",
    "network by true": BODY + "network: true\n",
    # --- YAML
    "a key twice": BODY + "seeds: [4]\n",
    "a key in another normal form": BODY + "ｓeeds: [4]\n",
    "an unknown key": BODY + "tolerance: {atol: 1}\n",
    "a merge key": BODY + "limits:\n  <<: {pids: 1}\n",
    "a tag": BODY + "limits: !!python/object/apply:os.system [true]\n",
    "a tag on a number": BODY + "limits: {pids: !!int '9'}\n",
    "a tag on a key": BODY + "!!str volatile: []\n",
    "a second document": BODY + "---\n" + BODY,
    "YAML 1.1": "%YAML 1.1\n---\n" + BODY,
    "an alias into itself": BODY + "data: &a [*a]\n",
    "an alias bomb": BODY
    + "data:\n - &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f" - &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)),
    "100 levels": BODY + "data: " + "[" * 100 + "]" * 100 + "\n",
    "a NUL": BODY + "description: 'a\0b'\n",
    "text that runs backwards": BODY + "description: 'a\u202eb'\n",
    "an invisible letter in a key": BODY + "vola\u200btile: []\n",
    "an escape sequence": BODY + "description: 'a\x1b[31mb'\n",
    "an escape sequence, escaped": BODY + 'description: "a\\e[31mb"\n',
    "half a surrogate, escaped": BODY + 'description: "\\ud800"\n',
    "a title of two lines": BODY.replace("title: t", 'title: "a\\nb"'),
    "the Norway problem": BODY.replace("[3]", "[NO]"),
    "a date": BODY.replace("[3]", "[2001-01-01]"),
    "digits with underscores": BODY.replace("[3]", "[1_0]"),
    "nothing": "",
    "a comment": "# nothing\n",
    "a list": "- schema: 1\n",
    "text": "schema\n",
    "a schema of the future": BODY.replace("schema: 1", "schema: 2"),
    "a schema of true": BODY.replace("schema: 1", "schema: true"),
    # --- names
    "a name that leads elsewhere": BODY.replace("name: train", "name: ../train"),
    "another folder's name": BODY.replace("name: train", "name: other"),
    "a name that is an option": BODY.replace("name: train", "name: --strict"),
    # --- commands
    "a command and a trainer": BODY + "trainer: ppo\n",
    "neither": BODY.replace("command: [python, train.py, '{seed}']\n", ""),
    "an empty command": BODY.replace("[python, train.py, '{seed}']", "[]"),
    "a command of text": BODY.replace("[python, train.py, '{seed}']", "python train.py"),
    "a command with a number": BODY.replace("'{seed}'", "3"),
    "a NUL in a word": BODY.replace("'{seed}'", '"a\\0b"'),
    "portable numerics in any environment": BODY + "numerics: portable\n",
    "PYTHONHASHSEED": BODY + "env: {PYTHONHASHSEED: random}\n",
    "LD_PRELOAD": BODY + "env: {LD_PRELOAD: /tmp/evil.so}\n",
    "PATH": BODY + "env: {PATH: /tmp}\n",
    "HOME": BODY + "env: {HOME: /tmp}\n",
    "a variable of reprokit's": BODY + "env: {REPROKIT_X: '1'}\n",
    "a variable with an equals sign": BODY + "env: {'A=B': '1'}\n",
    "a variable that is a number": BODY + "env: {A: 1}\n",
    "a working folder above": BODY + "working_dir: ../x\n",
    "an absolute working folder": BODY + "working_dir: /tmp\n",
    "files above": BODY + "sees: ['../*']\n",
    "absolute files": BODY + "sees: [/etc/passwd]\n",
    "no files": BODY + "sees: []\n",
    "results above": BODY + "collect: [../]\n",
    "absolute results": BODY + "collect: [/tmp]\n",
    "outputs above": BODY + "outputs: ['../../*']\n",
    "absolute outputs": BODY + "outputs: [/etc/passwd]\n",
    "a pattern without a metric": BODY + "printed: ['loss']\n",
    "a pattern of the step alone": BODY + "printed: ['(?P<step>1)']\n",
    "a pattern that is none": BODY + "printed: ['(']\n",
    "no pattern": BODY + "printed: []\n",
    "an instrument that is unknown": BODY + "instrument: heavy\n",
    "a command's key in a trainer's recipe": HEAD
    + "variant: cpu\ntrainer: ppo\nseeds: [3]\nplatforms: [cpu-x86_64]\nvolatile: []\n",
    "a trainer in no environment": HEAD
    + "variant: none\ntrainer: ppo\nseeds: [3]\nplatforms: [cpu-x86_64]\n",
    "a trainer that leads elsewhere": HEAD
    + "variant: cpu\ntrainer: ../ppo\nseeds: [3]\nplatforms: [cpu-x86_64]\n",
    # --- secrets
    "a secret in the command": BODY.replace("'{seed}'", "--api-key, hunter2hunter2"),
    "a secret in the environment": BODY + "env: {MY_TOKEN: hunter2hunter2}\n",
    "a secret in a comment": BODY + "# password: hunter2hunter2\n",
    "a secret in the description": BODY + "description: 'ghp_0123456789abcdefghijklmnop'\n",
    "a secret in an address": BODY + "description: 'https://a:hunter2@example.org/x'\n",
    "a secret over two lines": BODY + 'env: {MY_TOKEN:\n  "hunter2hunter2"}\n',
    "a secret whose name is escaped": BODY + 'env: {"MY_TOK\\x45N": hunter2hunter2}\n',
    "a private key": BODY + "description: |\n  -----BEGIN OPENSSH PRIVATE KEY-----\n  b3BlbnNzaC1rZXk\n",
}


@pytest.mark.parametrize("attack", REFUSED)
def test_it_is_refused(lab, attack):
    with pytest.raises(ReprokitError) as refused:
        lab.recipe(text=REFUSED[attack])
    assert refused.value.exit_code == 2
    assert "hunter2" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_the_recipe_without_a_trick_is_read(lab):
    assert lab.recipe(text=BODY).name == "train"


@pytest.mark.parametrize("raw", [b"\xff\xfe" + BODY.encode("utf-16-le"), BODY.encode() + b"\xff", b"\0" * 9])
def test_bytes_that_are_no_text_are_refused(lab, raw):
    (lab.here.recipes_dir / "train" / "recipe.yaml").write_bytes(raw)
    with pytest.raises(ReprokitError):
        recipes.load("train", recipes_dir=lab.here.recipes_dir)


@pytest.mark.parametrize(
    "name",
    ["../train", "/etc", "train/../train", "train\n", "", ".", "trainers", "train\0", "a" * 300, "tra*"],
)
def test_a_name_that_is_no_recipe_is_refused(lab, name):
    with pytest.raises(ReprokitError):
        recipes.load(name, recipes_dir=lab.here.recipes_dir)


_SHA = "sha256:" + "0" * 64
DATA = {
    "a name that leads elsewhere": f"{{name: ../../train.py, sha256: '{_SHA}', steps: []}}",
    "an absolute name": f"{{name: /etc/passwd, sha256: '{_SHA}', steps: []}}",
    "the recipe itself": f"{{name: recipe.yaml, sha256: '{_SHA}', steps: []}}",
    "no digest": "{name: levels.json, steps: []}",
    "a digest that is short": "{name: levels.json, sha256: 'sha256:00', steps: []}",
    "a digest in capitals": f"{{name: levels.json, sha256: '{_SHA.upper()}', steps: []}}",
    "another digest": f"{{name: levels.json, sha256: '{_SHA}', steps: []}}",
    "text": "levels.json",
    "a list": "[levels.json]",
    "nothing": "~",
    "a file that is not there": f"{{name: gone.json, sha256: '{_SHA}', steps: []}}",
    "a link out of the project": f"{{name: link.json, sha256: '{_SHA}', steps: []}}",
    "a folder": f"{{name: folder, sha256: '{_SHA}', steps: []}}",
    "a pipe": f"{{name: pipe, sha256: '{_SHA}', steps: []}}",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("attack", DATA)
def test_data_that_is_not_what_it_says_is_refused(lab, attack, tmp_path):
    folder = lab.here.recipes_dir / "train"
    made = [folder / name for name in ("levels.json", "link.json", "folder", "pipe")]
    (tmp_path / "outside").write_text("x")
    made[0].write_text("x")
    made[1].symlink_to(tmp_path / "outside")
    made[2].mkdir()
    os.mkfifo(made[3])
    try:
        with pytest.raises(ReprokitError):
            declared(lab.recipe(f"data: [{DATA[attack]}]\n"))
    finally:
        made[2].rmdir()
        for path in (made[0], made[1], made[3]):
            path.unlink()


def _worse(output: Any, run: int) -> None:
    write_lines(output / "log.jsonl", [{"step": step, "loss": 9.0, "eval/return": 1.0} for step in range(4)])


def _good(output: Any, run: int) -> None:
    write_lines(output / "log.jsonl", [{"step": step, "loss": 1.0, "eval/return": 1.0} for step in range(4)])


@pytest.mark.parametrize(
    "more",
    [
        "volatile: [{metric: loss, because: I like green}]\n",
        "volatile: [{metric: 'l*', because: I like green}]\n",
        "outputs: ['*.jsonl']\n",
        "tolerances: {default: {rtol: 0.999, atol: 1.0e+300}}\n",
        "checks: {relax: [{check: logs_complete, because: x}, {check: versions_locked, because: x}]}\n",
        "printed: ['(?P<loss>x)']\n",
        "env: {A: b}\n",
        "nondeterminism: [everything]\n",
        "expected: {loss: {value: 9.0}}\n",
    ],
)
def test_nothing_that_a_recipe_says_later_excuses_a_difference_from_its_golden(lab, more):
    lab.promote(lab.runs(_good))
    assert lab.report(_worse, more).exit_code != 0
