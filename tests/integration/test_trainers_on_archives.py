"""Trainers of this repository read archives that are unpacked, and files that a step prepared of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.archived_data import (
    CLEAN,
    Study,
    digest,
    empty_cache,
    make_study,
    prepare,
    table,
    tarred,
    write_tabular,
    zipped,
)

pytest.importorskip("torch")
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make_study(tmp_path)


BACKENDS = [
    pytest.param("local", id="virtual environment"),
    pytest.param("docker", id="container", marks=[pytest.mark.engine]),
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_classifier_reads_a_file_of_an_archive_that_is_unpacked(study, backend, request):
    if backend == "docker":
        request.getfixturevalue("engine")
    content = zipped(tables__digits_csv=table(120, 64, 10, largest=16), tables__other_csv="not,read\n")
    entry = study.put("digits.zip", content)
    study.write("digits_mlp", data=f"data:\n  digits: {entry}\n", steps=192, file="digits/tables/digits.csv")
    study("data", "fetch", "digits_mlp")
    report = study.reproduced("digits_mlp", "--backend", backend)
    for run in report["runs"]:
        assert json.loads((Path(run) / "run.json").read_text())["data"] == {"digits": digest(content)}

    # What is unpacked is compared with the archive before a run: a changed byte trains nothing.
    (unpacked,) = (study.cache / "data").glob("*.zip")
    other = unpacked / "tables" / "other.csv"
    other.chmod(0o644)
    other.write_text("not,reaf\n")
    refused = json.loads(study("reproduce", "digits_mlp", "--json", "--backend", backend, code=3))
    assert refused["not_run"]["outcome"] == "data_unavailable"
    study("data", "fetch", "digits_mlp")
    study.reproduced("digits_mlp", "--backend", backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cross_validation_reads_a_file_prepared_of_an_unpacked_archive(study, backend, request):
    if backend == "docker":
        request.getfixturevalue("engine")
    write_tabular(study)
    made = prepare(study, backend=backend)
    report = study.reproduced("tabular", "--backend", backend)
    record = json.loads((Path(report["runs"][0]) / "run.json").read_text())
    assert (record["preparation"]["clean"]["preparations"], record["data"]["wine.csv"]) == (2, made)

    # Another step has made nothing yet: the same bytes, but nothing that shows it, and no verdict.
    study.recipe("tabular").with_name("clean.py").write_text(f"{CLEAN}# another comment\n")
    unshown = json.loads(study("reproduce", "tabular", "--json", "--backend", backend, code=4))
    (row,) = [one for one in unshown["checks"] if one["id"] == "data_recorded"]
    assert row["status"] == "ERROR"


def test_a_language_model_reads_texts_that_are_unpacked(study):
    texts = {"a": "to be or not to be\n" * 40, "b": "that is the question\n" * 40, "hamlet": "whether\n" * 60}
    entry = study.put("plays.tar", tarred(**texts), "unpack: tar")
    study.write(
        "char_gpt",
        data=f"data:\n  texts: {entry}\n",
        steps=3,
        archive="texts",
        members='"plays/*.txt"',
        validation="[hamlet]",
    )
    study("data", "fetch", "char_gpt")
    study.reproduced("char_gpt", "--backend", "local")


def test_a_bundle_of_prepared_data_is_reproduced_offline_where_it_is_prepared_again(study, tmp_path):
    write_tabular(study, licence=", licence: CC BY 4.0")
    prepare(study, backend="local")
    study.commit()
    report = study.reproduced("tabular", "--backend", "local")
    study("golden", "promote", *report["runs"], "--reason", "first golden", "--allow-dirty")
    made = json.loads(study("bundle", "golden/tabular", "--output", str(tmp_path / "b.tar.gz"), "--json"))
    assert {one["name"]: one["bundled"] for one in made["data"]} == {"wines": True, "wine.csv": False}
    study.root.rename(tmp_path / "gone")

    (tmp_path / "reviewer").mkdir()
    reviewer = Study(tmp_path / "reviewer", empty_cache(tmp_path / "reviewers_cache"))
    alone = ("unshare", "--net", "--map-root-user")
    words = ("reproduce", str(tmp_path / "b.tar.gz"), "--backend", "local", "--json")
    found = json.loads(reviewer(*words, before=alone))
    assert found["verdict"] == "REPRODUCED", found["sentence"]
    (row,) = [one for one in found["checks"] if one["id"] == "data_recorded"]
    assert row["status"] == "PASSED"
    record = json.loads((Path(found["runs"][0]) / "run.json").read_text())
    assert record["preparation"]["clean"]["preparations"] == 2
