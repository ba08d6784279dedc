"""The published schemas: they are those of the records, each verb has one, and files are as they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import jsonschema
import pytest
from ruamel.yaml import YAML

from reprokit import cli
from support import json_schemas

ROOT = Path(__file__).resolve().parents[3]
PAST = ROOT / "tests/data/schemas"
DEMO = ROOT / "reprokit/features/demo/recorded"
SCHEMAS = {schema["x-file"]: schema for schema in json_schemas.schemas().values() if schema["x-file"]}
FILES = [
    *sorted(PAST.glob("*.json/*.json")),
    *sorted(ROOT.glob("golden/**/provenance.json")),
    *sorted(file for file in DEMO.rglob("*.json") if file.name in SCHEMAS),
    *sorted(file for file in (ROOT / "tests/data/schema-1").rglob("*.json") if file.name in SCHEMAS),
]

PROGRAM = """\
import json, random, sys
random.seed(int(sys.argv[1]))
with open(f"{sys.argv[2]}/metrics.jsonl", "w") as log:
    for step in range(3):
        log.write(json.dumps({"step": step, "loss": random.random()}) + "\\n")
"""


def schema_of(file):
    return SCHEMAS[file.name if file.name in SCHEMAS else file.parent.name]


def name_of(file):
    return str(file.relative_to(ROOT))


def test_schemas_and_their_page_are_those_of_the_records():
    program = [sys.executable, "benchmarks/schemas.py", "--check"]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_schema_is_one():
    for schema in json_schemas.schemas().values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_verb_that_prints_json_has_a_schema():
    verbs = json_schemas.verbs_with_json(cli.root, click.Context(cli.root, info_name="reprokit"))
    printed = {verb for schema in json_schemas.schemas().values() for verb in schema["x-verbs"]}
    assert set(verbs) - printed == set()


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_of_this_and_of_earlier_versions_are_as_the_schemas_say(file):
    document = json.loads(file.read_bytes())
    assert list(jsonschema.Draft202012Validator(schema_of(file)).iter_errors(document)) == []


def test_what_a_run_leaves_and_prints_is_as_the_schemas_say(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    words = ["reproduce", "--json", "--seed", "7", "--", "python", "train.py", "{seed}", "{run_dir}"]
    ended = subprocess.run(
        [sys.executable, "-m", "reprokit", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert json_schemas.problem(json.loads(ended.stdout), "report") == ""
    assert json_schemas.problems_below(tmp_path) == []


@pytest.mark.parametrize("file", sorted(ROOT.glob("recipes/*/recipe.yaml")), ids=name_of)
def test_recipes_are_as_their_schema_says(file):
    document = YAML(typ="safe", pure=True).load(file)
    assert list(jsonschema.Draft202012Validator(SCHEMAS["recipe.yaml"]).iter_errors(document)) == []


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("verdict", "FINE", "$.verdict"),
        ("exit_code", "0", "$.exit_code"),
        ("runs", [1], "$.runs[0]"),
        ("checks", [{"id": "seeded"}], "$.checks[0]"),
        ("verdicts", "one more", "$"),
    ],
)
def test_a_document_of_another_form_is_refused_by_its_place(key, value, place):
    report = json.loads((ROOT / "tests/data/schema-1/reports/cartpole_baseline/T/report.json").read_bytes())
    assert json_schemas.problem(report, "report") == ""
    assert f"report: {place}: " in json_schemas.problem({**report, key: value}, "report")
