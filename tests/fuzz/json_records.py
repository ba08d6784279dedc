"""What reprokit itself wrote and anyone may have changed: reports, goldens, run folders, traces."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from reprokit.core.checklist import Verdict
from reprokit.core.json_values import MISSING, equal, leaves, scalars_equal
from reprokit.diagnosis import traces
from reprokit.golden import folder as golden_folder
from reprokit.golden.promotion import thinned
from reprokit.harness import Project, Request, judge_again
from reprokit.harness.judging.differences.trace_comparison import compare_traces, update_steps
from reprokit.reports import documents
from reprokit.reports.formats import to_json
from reprokit.runs import listing, reading
from support.fake_backend import logging
from support.made_runs import MadeRuns
from support.recorded_progress import RecordedProgress
from support.sample_report import sample_report

from .target import Target, mutated, mutated_json

ROOT = Path(__file__).resolve().parents[2]
_GOLDEN = ROOT / "golden" / "pinpad" / "cpu-x86_64" / "seed-42"


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


@functools.cache
def _reports() -> tuple[Any, ...]:
    found = [json.loads(to_json.to_json(sample_report(verdict))) for verdict in Verdict]
    for report in found:  # most of the text, and little of the format
        for metric, curves in report["curves"].items():
            report["curves"][metric] = [
                {name: value if name == "label" else value[:2] for name, value in curve.items()}
                for curve in curves
            ]
    return tuple(found)


def _check_report(data: bytes, _folder: Path) -> None:
    report = to_json.from_json(data)
    different = [
        (place, before, after)
        for place, before, after in leaves(json.loads(data), json.loads(to_json.to_json(report)))
        if before is not MISSING and not scalars_equal(before, after)  # what may be left out has a default
    ]
    assert not different, f"read as something else: {different[:3]}"
    documents(report)


def _check_provenance(data: bytes, folder: Path) -> None:
    place = folder / "pinpad" / "cpu-x86_64" / "seed-42"
    shutil.copytree(_GOLDEN, place)
    (place / "provenance.json").write_bytes(data)
    golden_folder.list_all(folder)
    golden = golden_folder.load(place)
    assert equal(dict(golden.document), json.loads(data))
    digest = hashlib.sha256((place / "metrics.jsonl").read_bytes()).hexdigest()
    assert json.loads(data)["digests"]["metrics"] == f"sha256:{digest}"


@functools.cache
def _two_runs() -> dict[str, dict[str, bytes]]:
    """Name of each of two run folders → its files."""
    with tempfile.TemporaryDirectory(prefix="reprokit-fuzz-") as folder:
        made = MadeRuns(here=Project.around(Path(folder)), recipe=None, told=RecordedProgress())  # type: ignore[arg-type]
        found = made.of_command(logging(), logging())
        return {
            run.name: {
                file.relative_to(run).as_posix(): file.read_bytes()
                for file in run.rglob("*")
                if file.is_file()
            }
            for run in found
        }


@functools.cache
def _json_files() -> dict[str, Any]:
    """What can be changed in a run folder."""
    files = next(iter(_two_runs().values()))
    return {
        name: json.loads(files[name])
        for name in ("run.json", "environment.json", "COMPLETE")
        if name in files
    }


@st.composite
def _run_folders(draw: st.DrawFn) -> tuple[str, bytes]:
    name = draw(st.sampled_from(["run.json", "run.json", *_json_files()]))
    text = _text(draw(mutated_json((_json_files()[name],))))
    return name, draw(mutated((text,), most=1)) if draw(st.integers(0, 4)) == 0 else text


def _check_run(given: tuple[str, bytes], folder: Path) -> None:
    """One of two runs is changed and closed again, as someone would who wants it to count."""
    name, data = given
    folders = []
    for number, (run, files) in enumerate(_two_runs().items()):
        place = folder / "runs" / "train" / run
        for file, content in files.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_bytes(content)
        if number:
            (place / name).write_bytes(data)
            _close_again(place, name, data)
        folders.append(place)
    listing.summaries(folder / "runs", reports_dir=folder / "reports", now_ns=time.time_ns())
    stored = reading.read(folders[1])
    if stored.complete:
        record = json.loads((folders[1] / "run.json").read_bytes())
        assert (record["outcome"], record["exit_code"]) == ("completed", 0)
        assert equal(stored.document, record)
    report = judge_again(folders, Request(), project=Project.around(folder))
    to_json.from_json(to_json.to_json(report))
    documents(report)
    assert stored.complete or report.exit_code, "a run that is not complete passes"


def _close_again(place: Path, name: str, data: bytes) -> None:
    if name == "COMPLETE":
        return
    marker = json.loads((place / "COMPLETE").read_bytes())
    marker["files"][name] = {"bytes": len(data), "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    (place / "COMPLETE").write_bytes(_text(marker))


_TRACE = b"".join((_GOLDEN / "trace.jsonl").read_bytes().splitlines(keepends=True)[:6])
_TRACES = (_TRACE, b'{"step": 1, "update": 1, "a": {"b": ["x", 1.0]}}\n{"step": 2, "update": 2, "a": NaN}\n')


def _check_trace(pair: tuple[bytes, bytes], folder: Path) -> None:
    left, right = folder / "a.jsonl", folder / "b.jsonl"
    left.write_bytes(pair[0])
    right.write_bytes(pair[1])
    update_steps(left)
    list(thinned(pair[0].splitlines(keepends=True)))
    for is_thinned in (False, True):
        found = compare_traces(left, right, thinned=is_thinned)
        if found.equal and not is_thinned:
            ours, theirs = ([json.loads(line) for line in data.split(b"\n") if line] for data in pair)
            assert equal(ours, theirs), "called equal"


_HOOK_TRACE = {
    "process": "main",
    "facts": {"python": "3.11"},
    "progress": {"updates": 3},
    "sites": {
        "a.py:3": {
            "kind": "clock",
            "file": "a.py",
            "line": 3,
            "function": "f",
            "what": "time.time",
            "first": 0,
        }
        | {"counts": {"": 2}, "values": {"": "00"}}
    },
    "files": {"/tmp/x": {"written": ["a.py", 3, "f"], "read": None, "existed": True, "kept": None}},
}


def _check_hook_trace(data: bytes, folder: Path) -> None:
    (folder / "trace-1.json").write_bytes(data)
    (folder / "trace-2.json").write_bytes(_text(_HOOK_TRACE))
    found = traces.read_trace(folder)
    traces.differing(found, found)
    assert found.processes == 2


def _either(value: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Values changed as values, and some of them as text too."""
    return value.map(_text).flatmap(lambda text: st.just(text) | st.just(text) | mutated((text,), most=2))


TARGETS = (
    Target(name="report", inputs=_either(st.deferred(lambda: mutated_json(_reports()))), check=_check_report),
    Target(
        name="provenance",
        inputs=_either(mutated_json((json.loads((_GOLDEN / "provenance.json").read_bytes()),))),
        check=_check_provenance,
        slice_examples=40,
    ),
    Target(name="run", inputs=st.deferred(_run_folders), check=_check_run, slice_examples=30),
    Target(
        name="trace",
        inputs=mutated(_TRACES).flatmap(lambda data: st.tuples(st.just(data), mutated((data,), most=2))),
        check=_check_trace,
    ),
    Target(name="hook-trace", inputs=_either(mutated_json((_HOOK_TRACE,))), check=_check_hook_trace),
)
