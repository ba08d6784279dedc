"""``reprokit runs`` as typed: filters, tables, side by side, and text that acts on nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reprokit import runs
from reprokit.cli.commands import runs as verb
from reprokit.core.records import Outcome
from reprokit.errors import ReportError, UsageError
from reprokit.harness.judging.compared_with.reference_run import recipe_of

HOSTILE = "\x1b[2J\u202eevil\x9b31m::error::x"


@pytest.fixture
def reprokit(workshop, monkeypatch):
    monkeypatch.chdir(workshop.project.root)

    def call(*arguments: str):
        return CliRunner().invoke(verb.command, arguments, standalone_mode=False, catch_exceptions=False)

    return call


def listed(answer) -> list[str]:
    return [row["run_id"] for row in json.loads(answer.stdout)]


def test_the_table_has_a_line_a_run_with_its_verdict(workshop, reprokit):
    workshop.report(workshop.run())
    head, line = reprokit("list").stdout.splitlines()
    assert head.split()[:3] == ["run", "recipe", "seed"]
    assert {"REPRODUCED", "complete", "abababab", "2026-11-20T10:15:00Z"} <= set(line.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--recipe", "tiny"), [1, 2, 3]),
        (("--recipe", "none"), []),
        (("--since", "2026-11-02"), [2, 3]),
        (("--until", "2026-11-02"), [1, 2]),
        (("--since", "2026-11-02", "--until", "2026-11-02"), [2]),
        (("--until", "2026-11-02T10:14:59"), [1]),
        (("--verdict", "regression"), [2]),
        (("--verdict", "-"), [1, 3]),
        (("--outcome", "crashed"), [3]),
        (("--environment", "cpu"), [1, 2, 3]),
        (("--environment", "cpu venv"), [1, 2, 3]),
        (("--environment", "image"), []),
        (("--environment", "sha256:abab"), [1, 2, 3]),
        (("--environment", "cdcd"), [1, 2, 3]),
        (("--environment", "dcdc"), []),
    ],
)
def test_the_list_can_be_narrowed(workshop, reprokit, arguments, expected):
    names = {day: f"202611{day:02d}T101500Z-aaaa-seed42-1" for day in (1, 2, 3)}
    workshop.run(names[1])
    workshop.report(workshop.run(names[2]), verdict="REGRESSION")
    workshop.run(names[3], outcome=Outcome.CRASHED)
    assert listed(reprokit("list", "--json", *arguments)) == [names[day] for day in expected]


def test_hostile_text_from_a_run_folder_is_shown_and_acts_on_nothing(workshop, reprokit):
    folder = workshop.run(
        modified=[HOSTILE], backend=HOSTILE, files={"source/x.py": HOSTILE.encode("utf-8", "surrogatepass")}
    )
    workshop.change(folder, outcome=HOSTILE, message=HOSTILE, command=[HOSTILE])
    (folder / HOSTILE.replace("/", "")).write_text("")
    workshop.report(folder, verdict=HOSTILE)
    other = workshop.run(
        "20261120T101500Z-bbbb-seed42-1", metrics=json.dumps({"step": 1, HOSTILE: HOSTILE}) + "\n"
    )
    printed = [
        reprokit(*words)
        for words in (
            ("list",),
            ("list", "--json"),
            ("show", folder.name),
            ("show", folder.name, "--json"),
            ("compare", folder.name, other.name, "--all"),
            ("compare", folder.name, other.name, "--json"),
            ("prune", "--keep", "0"),
            ("prune", "--keep", "0", "--json"),
        )
    ]
    for answer in printed:
        text = answer.stdout + answer.stderr
        assert "evil" in text or "going" in text or "kept" in text
        assert not {"\x1b", "\u202e", "\x9b"} & set(text)
        assert not any(line.lstrip().startswith("::error") for line in text.splitlines())


def test_show_reads_every_byte_and_says_why_a_run_is_not_complete(workshop, reprokit):
    folder = workshop.run()
    report = workshop.report(folder)
    assert str(report) in reprokit("show", folder.name).stdout
    (folder / "metrics.jsonl").write_text((folder / "metrics.jsonl").read_text().replace("0.25", "0.26"))
    assert "metrics.jsonl was changed after the run" in reprokit("show", folder.name).stdout


def test_equal_runs_side_by_side_have_no_difference_and_exit_with_0(workshop, reprokit):
    one, two = workshop.run(), workshop.run("20261120T101500Z-bbbb-seed42-1")
    answer = reprokit("compare", one.name, two.name)
    assert answer.return_value == 0
    assert "Configuration: no differences" in answer.stdout
    assert "A and B: IDENTICAL" in answer.stdout


def test_what_differs_stands_side_by_side_and_exits_with_1(workshop, reprokit, tmp_path):
    source = "source/trainers/ppo.py"
    one = workshop.run(digests={"trainer": "sha256:1"}, files={source: b"a = 1\nb = 2\n"})
    two = workshop.run(
        "20261120T101500Z-bbbb-seed42-1",
        metrics='{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.75}\n',
        digests={"trainer": "sha256:2"},
        files={source: b"a = 1\nb = 3\n", "config.yaml": b"training: {gamma: 0.98}\n"},
    )
    three = workshop.run("20261120T101500Z-cccc-seed42-1")
    plot = tmp_path / "curves.svg"
    answer = reprokit("compare", one.name, two.name, three.name, "--plot", str(plot))
    assert answer.return_value == 1
    lines = [line.split() for line in answer.stdout.splitlines()]
    assert ["training.gamma", "0.99", "0.98", "0.99"] in lines
    assert ["digests.trainer", "sha256:1", "sha256:2", "-"] in lines
    assert ["-b", "=", "2"] in lines
    assert ["+b", "=", "3"] in lines
    assert ["loss", "0.25", "0.75", "0.25", "0.5", "0.0"] in lines
    drawn = {
        line.get("class")
        for line in ET.parse(plot).iter(  # noqa: S314  written by the code under test
            "{http://www.w3.org/2000/svg}polyline"
        )
    }
    assert {"run-0", "run-1", "run-2"} <= drawn
    assert ".run-2 {" in plot.read_text()


def test_the_comparison_as_json_has_a_value_for_every_run(workshop, reprokit):
    one = workshop.run(metrics='{"step": 1, "loss": NaN}\n')
    two = workshop.run("20261120T101500Z-bbbb-seed42-1", outcome=Outcome.CRASHED)
    answer = reprokit("compare", one.name, two.name, "--json")
    told = json.loads(answer.stdout, parse_constant=pytest.fail)
    assert [field["values"] for field in told["metrics"]] == [["nan", 0.25]]
    assert told["comparisons"][0]["identical"] is False
    assert "the program crashed" in told["warnings"][0]
    assert "proves nothing" in answer.stderr


def test_runs_without_metrics_cannot_be_compared_and_exit_with_2(workshop, reprokit):
    folders = [workshop.run(f"20261120T101500Z-aaaa-seed42-{number}") for number in (1, 2)]
    for folder in folders:
        (folder / "metrics.jsonl").unlink()
    assert reprokit("compare", *(folder.name for folder in folders)).return_value == 2


def test_one_run_is_not_a_comparison(workshop, reprokit):
    with pytest.raises(UsageError, match="two runs"):
        reprokit("compare", workshop.run().name)


def test_prune_is_dry_until_yes(workshop, reprokit):
    folder = workshop.run(outcome=Outcome.CRASHED)
    dry = reprokit("prune", "--incomplete")
    assert f"would go {folder}" in dry.stdout
    assert "--yes" in dry.stderr
    assert folder.is_dir()
    assert "1 runs removed" in reprokit("prune", "--incomplete", "--yes").stdout
    assert not folder.exists()


def test_a_plain_command_cannot_be_repeated_and_the_way_out_is_named(workshop, reprokit):
    folder = workshop.run(plain_command=["python", "train.py"])
    with pytest.raises(UsageError, match=r"not pinned.*runs compare"):
        reprokit("reproduce", folder.name)


def test_a_run_that_was_changed_is_no_measure(workshop, reprokit):
    folder = workshop.run()
    (folder / "metrics.jsonl").write_text("")
    with pytest.raises(Exception, match=r"metrics.jsonl was changed after the run") as caught:
        reprokit("reproduce", folder.name)
    assert caught.value.exit_code == 4


def test_a_run_without_its_source_is_refused(workshop, reprokit):
    with pytest.raises(ReportError, match="no snapshot"):
        reprokit("reproduce", workshop.run().name)


@pytest.mark.parametrize("name", ["../../etc", "/etc", "source/tiny", "recipe.yaml", ".."])
def test_a_record_that_names_a_recipe_elsewhere_is_refused(workshop, name):
    stored = runs.read(workshop.run(files={"source/tiny/recipe.yaml": b"name: tiny\n"}))
    altered = replace(stored, record=stored.record._replace(recipe=name))
    with pytest.raises(ReportError, match="no snapshot"):
        recipe_of(altered)


def test_a_list_imports_neither_the_harness_nor_numpy_nor_the_docker_sdk(workshop):
    workshop.report(workshop.run())
    code = (
        "import sys\nfrom reprokit.cli.commands.runs import command\n"
        "command(['list'], standalone_mode=False)\n"
        "print(sorted({'numpy', 'docker', 'pydantic', 'reprokit.harness'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workshop.project.root,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(runs.__file__).parents[2])},
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_verdict_that_does_not_exist_is_refused_with_its_near_miss(reprokit):
    with pytest.raises(click.BadParameter, match=r"'REPRODUCE' is not a verdict: did you mean REPRODUCED\?"):
        reprokit("list", "--verdict", "REPRODUCE")
