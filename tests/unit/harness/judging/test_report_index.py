from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import re
from pathlib import Path

import pytest

from reprokit import extras, reports
from reprokit.core.checklist import Verdict
from reprokit.harness.judging.report_index import INDEX, earlier_reports, write_index
from support import hostile
from support import sample_report as samples


def _write(folder: Path, recipe: str, name: str, verdict: Verdict, moment: str) -> None:
    report = dataclasses.replace(samples.sample_report(verdict), created_at=moment)
    reports.render_all(report, folder / recipe / name)
    write_index(folder)


def _links(folder: Path) -> list[str]:
    return re.findall(r'<a href="([^"]*)"', (folder / INDEX).read_text(encoding="utf-8"))


def test_the_index_lists_every_report_newest_first_with_its_verdict_and_its_page(tmp_path: Path) -> None:
    _write(tmp_path, "one", "b", Verdict.REGRESSION, "2026-11-20T10:00:00+00:00")
    _write(tmp_path, "two", "a", Verdict.REPRODUCED, "2026-11-21T10:00:00+00:00")
    _write(tmp_path, "one", "a", Verdict.REPRODUCED, "2026-11-19T10:00:00+02:00")

    page = (tmp_path / INDEX).read_text(encoding="utf-8")

    assert _links(tmp_path) == ["./two/a/report.html", "./one/b/report.html", "./one/a/report.html"]
    assert re.findall(r'class="answer">(\w+)<', page) == ["REPRODUCED", "REGRESSION", "REPRODUCED"]
    assert "The newest report passed for 1 of 2 recipes." in page
    assert "2026-11-19 08:00:00 UTC" in page
    assert all((tmp_path / link).is_file() for link in _links(tmp_path))


def test_a_comparison_is_listed_by_its_answer(tmp_path: Path) -> None:
    folder = tmp_path / "compare" / "train" / "20261120T101500Z"
    folder.mkdir(parents=True)
    answer = {"answer": "different", "sentence": "b is another program"}
    stored = {"created_at": "2026-11-20T10:15:00+00:00", "answer": answer}
    (folder / "compare.json").write_text(json.dumps(stored))

    write_index(tmp_path)

    page = (tmp_path / INDEX).read_text(encoding="utf-8")
    assert _links(tmp_path) == ["./compare/train/20261120T101500Z/report.html"]
    assert 'class="answer">different<' in page
    assert "b is another program" in page


@pytest.mark.parametrize("text", ["", "{", "[]", '{"verdict": "REPRODUCED"}', "[" * 100_000])
def test_a_report_that_cannot_be_read_is_listed_as_such(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "recipe" / "20261120T101500Z"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(text)
    (folder.parents[1] / "compare" / "x" / "y").mkdir(parents=True)
    (folder.parents[1] / "compare" / "x" / "y" / "compare.json").write_text(text)

    write_index(tmp_path)

    page = (tmp_path / INDEX).read_text(encoding="utf-8")
    assert page.count('class="answer">NOT READABLE<') == 2
    assert "passed for 0 of" in page


def test_earlier_reports_are_those_of_the_same_recipe_seed_and_platform_before_one(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    report = samples.sample_report(Verdict.REGRESSION)
    changes = {
        "a/before": {"created_at": "2026-11-19T10:00:00+00:00"},
        "a/this": {"created_at": "2026-11-20T10:00:00+00:00"},
        "a/after": {"created_at": "2026-11-21T10:00:00+00:00"},
        "a/other-seed": {"created_at": "2026-11-19T10:00:00+00:00", "seed": 7},
        "a/other-platform": {"created_at": "2026-11-19T10:00:00+00:00", "platform": "xla-cpu"},
        "b/before": {"created_at": "2026-11-19T10:00:00+00:00"},
    }
    for name, change in changes.items():
        reports.render_all(dataclasses.replace(report, **change), folder / name)
    this = dataclasses.replace(report, **changes["a/this"])

    found = earlier_reports(folder, this, own=folder / "a" / "this", folder=tmp_path)

    assert [one.place for one in found] == ["reports/a/before/report.html"]
    assert [one.verdict for one in found] == ["REGRESSION"]


def test_reports_that_are_written_at_one_time_are_all_listed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    moments = [f"2026-11-20T10:00:{second:02}+00:00" for second in range(8)]
    writers = [
        context.Process(target=_write, args=(tmp_path, f"recipe{at}", "a", Verdict.REPRODUCED, moment))
        for at, moment in enumerate(moments)
    ]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0] * 8
    assert _links(tmp_path) == [f"./recipe{at}/a/report.html" for at in reversed(range(8))]


def test_equal_folders_give_equal_pages(tmp_path: Path) -> None:
    for name in ("one", "two"):
        _write(tmp_path / name, "recipe", "a", Verdict.REPRODUCED, "2026-11-20T10:00:00+00:00")

    assert (tmp_path / "one" / INDEX).read_bytes() == (tmp_path / "two" / INDEX).read_bytes()


def test_a_page_of_someone_else_stays(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text("<p>mine</p>")

    _write(tmp_path, "recipe", "a", Verdict.REPRODUCED, "2026-11-20T10:00:00+00:00")

    assert (tmp_path / INDEX).read_text() == "<p>mine</p>"


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link"])
def test_what_cannot_be_written_changes_nothing_and_does_not_wait(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / INDEX).mkdir()
    elif kind == "pipe":
        os.mkfifo(tmp_path / INDEX)
    else:
        (tmp_path / INDEX).symlink_to(tmp_path / "nowhere" / "at" / "all")

    _write(tmp_path, "recipe", "a", Verdict.REPRODUCED, "2026-11-20T10:00:00+00:00")

    assert (tmp_path / "recipe" / "a" / "report.json").is_file()
    assert not (tmp_path / "nowhere").exists()


def test_without_jinja_there_is_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "jinja2")

    write_index(tmp_path)

    assert not (tmp_path / INDEX).exists()


@pytest.mark.parametrize("text", hostile.TEXTS)
def test_hostile_words_of_a_report_stay_text(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "recipe" / "20261120T101500Z"
    folder.mkdir(parents=True)
    harmless = {"verdict": "x", "sentence": "x", "platform": "x", "created_at": "x", "runs": ["x"], "seed": 1}
    if not text:
        harmless |= {"platform": "", "seed": ""}  # what is not known has no line
    (folder / "report.json").write_text(json.dumps(harmless))
    write_index(tmp_path)
    expected = _tags(tmp_path)

    (folder / "report.json").write_text(json.dumps(dict.fromkeys(harmless, text) | {"runs": [text]}))
    write_index(tmp_path)

    assert _tags(tmp_path) == expected


def _tags(folder: Path) -> list[str]:
    page = (folder / INDEX).read_text(encoding="utf-8")
    return re.findall(r"<[/!]?[a-zA-Z]+", page[page.index("<body>") : page.index("<script>")])
