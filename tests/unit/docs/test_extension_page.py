"""The templates of the page about extensions: each is short, and passes the suite that the page names."""

import importlib
import json
import os
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from reprokit.api import extensions, testing
from reprokit.diagnosis import CATEGORIES
from reprokit.errors import UsageError

FAKE_PBS = Path(__file__).parents[2] / "sample_extension" / "tests" / "fake_pbs"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "extensions.md"
FILES = dict(re.findall(r"`pbs_queue/(\w+)\.py`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


@pytest.fixture(autouse=True)
def _package(tmp_path, monkeypatch):
    folder = tmp_path / "src" / "pbs_queue"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "pbs_queue"]:
        del sys.modules[name]


def of(module):
    return importlib.import_module(f"pbs_queue.{module}")


def run_folder(folder, where):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": 1, "where": where}))
    return folder


def test_there_is_a_template_of_each_kind_and_none_is_longer_than_a_screen():
    assert set(FILES) == {"__init__", "log_format", "row", "verb", "variation", "place", "section", "cause"}
    assert max(text.count("\n") for text in FILES.values()) <= 60


def test_the_declaration():
    testing.check_extension(importlib.import_module("pbs_queue").EXTENSION)


def test_the_log_format(tmp_path):
    content = b"".join(b"step=%d|loss=%r\n" % (step, 1 / step) for step in range(1, 9))
    testing.check_log_format(of("log_format").FORMAT, name="a.pbslog", content=content, folder=tmp_path)


def test_the_row(tmp_path):
    one, other = run_folder(tmp_path / "1", "pbs"), run_folder(tmp_path / "2", "local")
    testing.check_row(of("row").ROW, good=[one, one], bad=[one, other])


def test_the_verb():
    testing.check_verb(of("verb").command)


def test_the_variation():
    testing.check_variation("pbs_job", of("variation").VARIATION)


def test_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{FAKE_PBS}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_PBS", str(tmp_path / "jobs"))
    testing.check_place(of("place").open_place, settings={"queue": "work"}, folder=tmp_path / "place")
    assert {file.read_text() for file in tmp_path.glob("jobs/*/queue")} == {"work\n"}
    with pytest.raises(UsageError, match="has no such setting"):
        of("place").open_place({"que": "work"}, folder=tmp_path)


def test_the_section(tmp_path):
    one, other = run_folder(tmp_path / "1", "pbs"), run_folder(tmp_path / "2", "local")
    testing.check_section(of("section").SECTION, runs=[one, other])


def test_the_cause():
    tap = {"kind": "process_id", "file": "/lab/train.py", "line": 3, "differs": True}
    testing.check_cause(
        "job_number", of("cause").CAUSE, is_it={"taps": [tap]}, is_not={"taps": [{**tap, "kind": "clock"}]}
    )


@pytest.mark.parametrize(
    "record",
    [
        *(
            extensions.LogFormat,
            extensions.Reading,
            extensions.Row,
            extensions.JudgedRuns,
            extensions.Finding,
        ),
        *(extensions.NamedVariation, extensions.Task, extensions.TaskStatus, extensions.Section),
        *(extensions.SectionContent, extensions.SectionTable, extensions.NamedCause, extensions.Proposal),
    ],
)
def test_the_page_names_every_field_of_what_an_author_writes_or_gets(record):
    text = PAGE.read_text()
    names = [field.name for field in fields(record)]
    assert names
    assert [name for name in names if not re.search(rf"`{name}[`(]", text)] == []


def test_the_page_names_everything_that_extensions_are_written_and_tested_with():
    text = PAGE.read_text()
    every = [*extensions.__all__, *testing.__all__]
    assert [name for name in every if not re.search(rf"\b{name}\b", text)] == []


def test_the_page_names_every_category():
    assert [name for name in CATEGORIES if f"`{name}`" not in PAGE.read_text()] == []
